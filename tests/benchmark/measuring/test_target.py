"""A side outside the timed windows: retries, checks, and removal without waiting for a stalled runtime."""

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring import target as target_module
from critests.benchmark.measuring.meter import CallFailed, NotDone
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios import event_latency
from critests.benchmark.scenarios.event_latency import Subscriber
from critests.benchmark.scenarios.workloads import check_exited, check_removed, check_running
from critests.client.deadlines import Deadlines
from tests.refused import Refused

STALLS = Refused(grpc.StatusCode.DEADLINE_EXCEEDED)
GONE = Refused(grpc.StatusCode.NOT_FOUND)


class Stub:
    """RPCs that return configured responses and note the deadlines of their calls."""

    def __init__(self, **answers: Any) -> None:  # noqa: ANN401 - answers, or what is raised
        self.calls: list[tuple[str, float]] = []
        self._answers = answers

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(_request: object, timeout: float = 0.0) -> Any:  # noqa: ANN401 - of whatever RPC it is
            self.calls.append((name, timeout))
            answer = self._answers.get(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def side(**answers: Any) -> Target:  # noqa: ANN401 - as for Stub
    plain = SimpleNamespace(runtime=Stub(**answers))
    connection = SimpleNamespace(deadlines=Deadlines())
    nothing = cast("Any", None)
    return Target("", nothing, "", cast("Any", connection), cast("Any", plain), nothing, nothing, nothing)


def in_state(state: "cri.ContainerState") -> cri.ContainerStatusResponse:
    return cri.ContainerStatusResponse(status=cri.ContainerStatus(state=state))


def test_a_preparation_is_tried_three_times() -> None:
    made, tries = side(), iter([Refused(), Refused(), None])

    def prepare() -> str:
        error = next(tries)
        if error:
            raise error
        return "made"

    assert made.retry(prepare) == "made"
    assert len(made.retried) == 2


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED])
def test_unavailable_and_deadline_exceeded_are_not_retried(code: grpc.StatusCode) -> None:
    calls: list[int] = []

    def prepare() -> None:
        calls.append(1)
        raise Refused(code)

    with pytest.raises(grpc.RpcError):
        side().retry(prepare)
    assert len(calls) == 1


def test_removal_waits_for_a_stalled_runtime_once() -> None:
    made = side(StopContainer=STALLS, StopPodSandbox=STALLS, RemovePodSandbox=STALLS)
    made.discard("sandbox", ["one", "two"])
    assert [timeout for _, timeout in cast("Stub", made.plain.runtime).calls] == [15.0, 1.0, 1.0, 1.0]


def test_an_unknown_container_is_gone() -> None:
    made = side(ContainerStatus=GONE)
    assert made.container_status("one") is None
    check_removed(made, "one")
    check_exited(made, "one")
    with pytest.raises(NotDone, match="the container is gone"):
        check_running(made, "one")


def test_a_false_report_of_success_is_detected() -> None:
    made = side(ContainerStatus=in_state(cri.CONTAINER_RUNNING))
    check_running(made, "one")
    with pytest.raises(NotDone, match="StopContainer returned, and the container is CONTAINER_RUNNING"):
        check_exited(made, "one")
    with pytest.raises(NotDone, match="RemoveContainer returned"):
        check_removed(made, "one")


def test_another_error_is_no_answer() -> None:
    with pytest.raises(grpc.RpcError):
        side(ContainerStatus=Refused()).container_status("one")


def test_the_cgroups_of_removed_pods_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "CGROUP_MOUNT", tmp_path)
    for place in ("cpu/critests/run/pod1", "memory/critests/run/pod1", "cpu/critests/run/pod2/container"):
        (tmp_path / place).mkdir(parents=True)
    made = side()
    made._parents += ["/critests/run/pod1", "/critests/run/pod2", "/critests/run/pod3"]
    made.remove_pod_cgroups()
    assert not (tmp_path / "cpu/critests/run/pod1").exists()
    assert not (tmp_path / "memory/critests/run/pod1").exists()
    assert made._parents == ["/critests/run/pod2"]


class Stream:
    """A stream of events."""

    def __init__(self, events: "list[cri.ContainerEventResponse | Exception]") -> None:
        self._events = events
        self.cancelled = False

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> cri.ContainerEventResponse:
        if not self._events:
            time.sleep(0.05)
            raise Refused(grpc.StatusCode.CANCELLED)
        event = self._events.pop(0)
        if isinstance(event, Exception):
            raise event
        return event

    def cancel(self) -> None:
        self.cancelled = True


def subscriber(*events: "cri.ContainerEventResponse | Exception") -> Subscriber:
    # the names are those of a stub's call
    subscribe = lambda _request, timeout: Stream(list(events))  # noqa: ARG005, E731 - see above
    made = SimpleNamespace(name="", runtime=SimpleNamespace(GetContainerEvents=subscribe))
    return Subscriber(cast("Target", made))


def event(container_id: str, kind: "cri.ContainerEventType") -> cri.ContainerEventResponse:
    return cri.ContainerEventResponse(container_id=container_id, container_event_type=kind)


def test_a_subscriber_hears_of_the_end_that_is_meant() -> None:
    received = subscriber(
        event("other", cri.CONTAINER_STOPPED_EVENT),
        event("one", cri.CONTAINER_STARTED_EVENT),
        event("one", cri.CONTAINER_STOPPED_EVENT),
    )
    assert received.wait_for_stopped("one") == pytest.approx(time.time(), abs=5)
    received.close()


def test_a_subscriber_that_is_refused_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_latency, "EVENT_SECONDS", 36_000)
    with pytest.raises(CallFailed, match="UNIMPLEMENTED"):
        subscriber(Refused(grpc.StatusCode.UNIMPLEMENTED)).wait_for_stopped("one")
