"""What conditions do between the calls of a test, and which failures they explain."""

import threading
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.catalogue.words import Outcome
from critests.client.call_recording import Recorder
from critests.conditions import killed_monitors
from critests.conditions.killed_monitors import MonitorDraws
from critests.conditions.restarts import RestartDraws
from critests.node.starting.throwaway import RuntimeStartFailed
from critests.record.reasons import Reason, ReasonCode
from critests.run import acting_conditions, after_kills, unmonitored_pods
from critests.run.acting_conditions import ActingConditions
from critests.run.after_kills import BrokenAfterKill
from critests.run.classification import RawOutcome

OURS = "unix:///ours"
FAILED = RawOutcome(
    Outcome.FAILED, Reason(code=ReasonCode.ANSWER, subject="StopContainer"), rpc="StopContainer"
)


class Parts:
    """Stands for the runtime, its watch and the connection, and notes what happens to them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.happened: list[str] = []
        self.stopped_by_test = False
        self.recorder = Recorder()
        self.acted: list[str] = []
        ready = SimpleNamespace(result=lambda _: self.happened.append("ready"))
        monkeypatch.setattr(grpc, "channel_ready_future", lambda _: ready)

    def kill(self) -> None:
        self.happened.append(f"killed, expected: {self.stopped_by_test}")

    def start_again(self) -> None:
        self.happened.append("started")

    def watch_new_process(self) -> None:
        self.happened.append("watched")

    # the parts of its collaborators that it uses
    def acting(self, **more: Any) -> ActingConditions:  # noqa: ANN401 - see above
        containers = [
            cri.Container(id="container", pod_sandbox_id="pod"),
            cri.Container(id="second", pod_sandbox_id="pod"),
            cri.Container(id="another", pod_sandbox_id="shared"),
        ]
        sandboxes = [cri.PodSandbox(id="pod"), cri.PodSandbox(id="shared")]
        connection: Any = SimpleNamespace(
            endpoint=SimpleNamespace(text=OURS),
            channel=None,
            deadlines=SimpleNamespace(scale=1),
            runtime=SimpleNamespace(
                ListContainers=lambda _: cri.ListContainersResponse(containers=containers),
                ListPodSandbox=lambda _: cri.ListPodSandboxResponse(items=sandboxes),
            ),
        )
        this: Any = self
        return ActingConditions(this, self.recorder, lambda: connection, lambda: this, lambda _: None, **more)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return Parts(monkeypatch)


def calls(acting: ActingConditions, endpoint: str = OURS) -> None:
    acting.test_begins("a test")
    for _ in range(100):
        acting.around_call(endpoint, cri.StopContainerRequest(), lambda: (cri.StopContainerResponse(), None))


def test_the_daemon_is_killed_once_and_back_before_the_next_call(parts: Parts) -> None:
    acting = parts.acting(restarts=RestartDraws(7))

    calls(acting)

    assert parts.happened == ["killed, expected: True", "started", "watched", "ready"]
    assert acting.counts == {"restarts": {"SIGKILL": 1}}


def test_a_daemon_that_does_not_come_back_fails_the_test_and_is_watched_again(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise RuntimeStartFailed("no socket")

    monkeypatch.setattr(parts, "start_again", fails)

    with pytest.raises(AssertionError, match="must come back after a restart: no socket"):
        calls(parts.acting(restarts=RestartDraws(7)))

    assert parts.happened == ["killed, expected: True", "watched"]


def test_another_runtime_is_not_restarted_nor_one_with_a_pending_call(parts: Parts) -> None:
    acting = parts.acting(restarts=RestartDraws(7))

    calls(acting, "unix:///own")
    with parts.recorder.under_way.waiting():
        calls(acting)
    thread = threading.Thread(target=calls, args=(acting,))
    thread.start()
    thread.join()

    assert parts.happened == []


def stepping(parts: Parts, *acted: str) -> ActingConditions:
    steps: Any = SimpleNamespace(names=["failing-steps"], acted=lambda: list(acted), end=list)
    return parts.acting(steps=steps)


def test_a_call_that_reports_a_step_that_failed_by_plan_blocks_its_test(parts: Parts) -> None:
    raw = stepping(parts, "kill", "kill").excused(FAILED)

    assert raw is not None
    assert (raw.outcome, raw.why.code) == (Outcome.BLOCKED, ReasonCode.NOT_UNDER_CONDITION)
    assert (raw.why.subject, raw.why.where, raw.why.seen) == ("failing-steps", "step", "kill")
    assert raw.why.parts == [FAILED.why]


def test_a_wait_is_too_short_only_where_steps_take_long(parts: Parts) -> None:
    waited = RawOutcome(Outcome.FAILED, Reason(code=ReasonCode.CONDITION))
    slow: Any = SimpleNamespace(names=["slow-steps"], acted=lambda: ["delete"])

    raw = parts.acting(steps=slow).excused(waited)

    assert raw is not None
    assert raw.outcome is Outcome.BLOCKED
    assert stepping(parts, "delete").excused(waited) is waited


def test_so_does_a_session_that_broke(parts: Parts) -> None:
    raw = stepping(parts, "exec").excused(RawOutcome(Outcome.FAILED, Reason(code=ReasonCode.SESSION)))

    assert raw is not None
    assert raw.outcome is Outcome.BLOCKED


def test_steps_that_acted_are_counted(parts: Parts) -> None:
    acting = stepping(parts, "kill", "kill", "ADD")

    acting.test_ends()

    assert acting.counts == {"failing-steps": {"kill": 2, "ADD": 1}}


def test_without_such_a_step_a_failed_call_stays_a_failure(parts: Parts) -> None:
    assert stepping(parts).excused(FAILED) is FAILED


def test_a_wrong_response_is_not_explained_by_a_failed_step(parts: Parts) -> None:
    wrong = RawOutcome(Outcome.FAILED, Reason(code=ReasonCode.VALUE, subject="state"))

    assert stepping(parts, "kill").excused(wrong) is wrong


STOP_POD = cri.StopPodSandboxRequest(pod_sandbox_id="pod")


def unmonitored(parts: Parts, monkeypatch: pytest.MonkeyPatch, found: int) -> ActingConditions:
    """Return a condition that kills monitors before the first call that ends a pod, if there are any."""
    monkeypatch.setattr(killed_monitors, "CHANCE", 1.0)
    monkeypatch.setattr(killed_monitors, "EARLIER_CHANCE", 1.0)
    monkeypatch.setattr(after_kills, "PAUSE_SECONDS", 0.0)

    def kill(ids: list[str]) -> int:
        parts.happened.append(f"killed those of {', '.join(ids)}")
        return found

    monkeypatch.setattr(acting_conditions, "kill_monitors", kill)
    acting = parts.acting(monitors=MonitorDraws(1))
    acting.test_begins("a test", lambda: ["pod"])
    return acting


def ended(acting: ActingConditions, *failures: grpc.RpcError) -> int:
    """Stop a pod; return the number of calls."""
    left, calls = list(failures), 0

    def call() -> tuple[Message, Any]:
        nonlocal calls
        calls += 1
        if left:
            raise left.pop()
        return cri.StopPodSandboxResponse(), None

    acting.around_call(OURS, STOP_POD, call)
    return calls


def test_monitors_are_killed_once_and_their_pod_must_be_ended(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting = unmonitored(parts, monkeypatch, found=1)

    assert ended(acting, grpc.RpcError(), grpc.RpcError()) == 3
    assert ended(acting, grpc.RpcError()) == 2

    assert parts.happened == ["killed those of pod, container, second"]
    assert acting.counts == {"killed-monitors": {"StopPodSandbox": 1}}


def test_monitors_are_killed_while_the_pod_is_in_use_if_it_is_of_the_test(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting = unmonitored(parts, monkeypatch, found=1)

    for container in ("another", "absent", "", "container"):
        request = cri.ExecSyncRequest(container_id=container)
        acting.around_call(OURS, request, lambda: (cri.ExecSyncResponse(), None))
    assert ended(acting, grpc.RpcError()) == 2

    assert parts.happened == ["killed those of pod, container"]
    assert acting.counts == {"killed-monitors": {"ExecSync": 1}}


def test_a_pod_that_is_not_listed_has_no_monitors(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    acting = unmonitored(parts, monkeypatch, found=1)

    for unknown in ("", "p"):
        request = cri.StopPodSandboxRequest(pod_sandbox_id=unknown)
        acting.around_call(OURS, request, lambda: (cri.StopPodSandboxResponse(), None))

    assert parts.happened == []


def test_a_list_must_be_answered_without_monitors(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    acting = unmonitored(parts, monkeypatch, found=1)
    ended(acting)
    raw = RawOutcome(Outcome.FAILED, Reason(code=ReasonCode.ANSWER), rpc="ListContainers")

    assert acting.excused(raw) is raw


def test_a_failure_after_monitors_were_killed_is_blocked(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting = unmonitored(parts, monkeypatch, found=1)
    assert acting.excused(FAILED) is FAILED
    ended(acting)

    raw = acting.excused(FAILED)

    assert raw is not None
    assert (raw.outcome, raw.why.subject, raw.why.where) == (Outcome.BLOCKED, "killed-monitors", "monitor")
    acting.test_begins("another test")
    assert acting.excused(FAILED) is FAILED


def test_a_pod_that_cannot_be_ended_without_its_monitors_is_a_finding(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting = unmonitored(parts, monkeypatch, found=1)
    monkeypatch.setattr(unmonitored_pods, "REMOVAL_SECONDS", 0.0)

    with pytest.raises(BrokenAfterKill):
        ended(acting, grpc.RpcError(), grpc.RpcError())

    raw = acting.excused(RawOutcome(Outcome.ERROR))
    assert raw is not None
    assert (raw.outcome, raw.judged_as) == (Outcome.FAILED, "SBX-40/removed")


def test_a_pod_without_monitors_is_ended_as_usual(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    acting = unmonitored(parts, monkeypatch, found=0)

    with pytest.raises(grpc.RpcError):
        ended(acting, grpc.RpcError())

    assert acting.counts == {}
