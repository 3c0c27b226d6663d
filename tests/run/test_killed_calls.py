"""What a client does after the daemon was killed during one of its calls."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.catalogue.words import Outcome
from critests.client.call_recording import Call
from critests.node.starting.throwaway import RuntimeStartFailed
from critests.record.reasons import Reason, ReasonCode
from critests.run import after_kills
from critests.run.after_kills import BrokenAfterKill
from critests.run.classification import RawOutcome
from critests.run.killed_calls import KilledCall, Listed
from critests.run.outcomes import Blocked
from tests.refused import Refused

POD = cri.PodSandboxMetadata(name="pod", uid="1", namespace="here")
RUN = cri.RunPodSandboxRequest(config=cri.PodSandboxConfig(metadata=POD))
CREATE = cri.CreateContainerRequest(
    pod_sandbox_id="old", config=cri.ContainerConfig(metadata=cri.ContainerMetadata(name="container"))
)
START = cri.StartContainerRequest(container_id="c")


class Runtime:
    """Stands for a runtime with one sandbox from before the call, and what the call has half created."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.sandboxes = [cri.PodSandbox(id="old", metadata=POD)]
        self.containers = [cri.Container(id="c", pod_sandbox_id="old")]
        self.state = cri.CONTAINER_CREATED
        self.failures: dict[str, int] = {}
        self.scale = 0.01
        self.created: list[Call] = []

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.failures.get(name):
            self.failures[name] -= 1
            raise Refused

    def again(self) -> tuple[Message, Any]:
        self._call("again")
        return cri.RunPodSandboxResponse(pod_sandbox_id="new"), None

    def killed(self, request: Message) -> KilledCall:
        stub = SimpleNamespace(
            ListPodSandbox=lambda _: cri.ListPodSandboxResponse(items=self.sandboxes),
            ListContainers=lambda _: cri.ListContainersResponse(containers=self.containers),
            ContainerStatus=lambda _: cri.ContainerStatusResponse(
                status=cri.ContainerStatus(state=self.state)
            ),
            StopPodSandbox=lambda request: self._call(f"stop {request.pod_sandbox_id}"),
            RemovePodSandbox=lambda request: self._call(f"remove {request.pod_sandbox_id}"),
            RemoveContainer=lambda request: self._call(f"remove {request.container_id}"),
        )
        # the parts of the connection that it uses
        connection: Any = SimpleNamespace(
            runtime=stub,
            deadlines=SimpleNamespace(scale=self.scale),
            endpoint=SimpleNamespace(text="unix:///ours"),
        )
        return KilledCall(connection, request, self.again, self.created.append, Listed.on(connection))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after_kills, "PAUSE_SECONDS", 0.0)


@pytest.fixture
def runtime() -> Runtime:
    return Runtime()


def resume(killed: KilledCall, restart: Callable[[], None] = lambda: None) -> Message:
    return killed.resumed(restart, None)[0]


def test_half_a_sandbox_is_removed_before_its_creation_is_repeated(runtime: Runtime) -> None:
    killed = runtime.killed(RUN)
    runtime.sandboxes += [cri.PodSandbox(id="half", metadata=POD), cri.PodSandbox(id="other")]

    response = resume(killed)

    assert response == cri.RunPodSandboxResponse(pod_sandbox_id="new")
    assert runtime.calls == ["stop half", "remove half", "again"]
    assert [call.response for call in runtime.created] == [cri.RunPodSandboxResponse(pod_sandbox_id="half")]


def test_half_a_container_is_removed_before_its_creation_is_repeated(runtime: Runtime) -> None:
    killed = runtime.killed(CREATE)
    half = cri.Container(id="half", pod_sandbox_id="old", metadata=CREATE.config.metadata)
    elsewhere = cri.Container(id="elsewhere", pod_sandbox_id="other", metadata=CREATE.config.metadata)
    runtime.containers += [half, elsewhere]

    resume(killed)

    assert runtime.calls == ["remove half", "again"]


def test_what_cannot_be_removed_is_judged_by_the_aspect_of_the_call(runtime: Runtime) -> None:
    killed = runtime.killed(RUN)
    runtime.sandboxes.append(cri.PodSandbox(id="half", metadata=POD))
    runtime.failures["remove half"] = 10**9

    with pytest.raises(BrokenAfterKill, match="cannot be removed"):
        resume(killed)

    raw = killed.judged(RawOutcome(Outcome.ERROR))
    assert (raw.outcome, raw.judged_as) == (Outcome.FAILED, "RST-14")


@pytest.mark.parametrize(
    ("request_", "lost", "aspect"),
    [
        (RUN, "old", "RST-22/lists"),
        (cri.StopContainerRequest(container_id="c"), "c", "RST-22/lists"),
        (cri.RemoveContainerRequest(container_id="c"), "c", ""),
        (cri.RemovePodSandboxRequest(pod_sandbox_id="old"), "old", ""),
        (cri.RemovePodSandboxRequest(pod_sandbox_id="old"), "c", ""),
    ],
)
def test_only_what_the_call_removes_may_be_lost(
    runtime: Runtime, request_: Message, lost: str, aspect: str
) -> None:
    killed = runtime.killed(request_)
    runtime.sandboxes = [each for each in runtime.sandboxes if each.id != lost]
    runtime.containers = [each for each in runtime.containers if each.id != lost]

    if aspect:
        with pytest.raises(BrokenAfterKill, match=f"not listed any more: {lost}"):
            resume(killed)
    else:
        resume(killed)

    assert (killed.broken.aspect if killed.broken is not None else "") == aspect


def test_a_removal_is_repeated_until_it_succeeds(runtime: Runtime) -> None:
    runtime.failures["again"], runtime.scale = 3, 1.0

    resume(runtime.killed(cri.RemoveContainerRequest(container_id="c")))

    assert runtime.calls == ["again"] * 4


def test_a_call_that_fails_again_is_a_finding_if_the_test_fails_with_it(runtime: Runtime) -> None:
    killed = runtime.killed(RUN)
    runtime.failures["again"] = 10**9

    with pytest.raises(Refused):
        resume(killed)

    blocked = killed.judged(RawOutcome(Outcome.BLOCKED, setup_rpc="RunPodSandbox"))
    assert (blocked.outcome, blocked.judged_as) == (Outcome.FAILED, "RST-14")
    other = RawOutcome(Outcome.FAILED, rpc="ExecSync")
    assert killed.judged(other) is other


def test_a_daemon_that_does_not_come_back_is_judged_by_the_aspect_of_the_call(runtime: Runtime) -> None:
    def fails() -> None:
        raise RuntimeStartFailed("no socket")

    killed = runtime.killed(cri.StopPodSandboxRequest(pod_sandbox_id="old"))

    with pytest.raises(BrokenAfterKill, match="no socket"):
        resume(killed, fails)

    assert killed.judged(RawOutcome(Outcome.FAILED)).judged_as == "RST-15"


def test_a_daemon_that_was_killed_after_its_response_makes_no_second_call(runtime: Runtime) -> None:
    result = cri.RunPodSandboxResponse(pod_sandbox_id="first"), None

    assert runtime.killed(RUN).resumed(lambda: None, result) == result
    assert runtime.calls == []


def test_a_container_that_is_still_created_is_started(runtime: Runtime) -> None:
    resume(runtime.killed(START))

    assert runtime.calls == ["again"]


def test_a_container_that_runs_was_started(runtime: Runtime) -> None:
    runtime.state = cri.CONTAINER_RUNNING

    assert resume(runtime.killed(START)) == cri.StartContainerResponse()
    assert runtime.calls == []


def test_a_container_that_has_ended_is_removed_and_blocks_the_test(runtime: Runtime) -> None:
    runtime.state = cri.CONTAINER_EXITED

    with pytest.raises(Blocked) as blocked:
        resume(runtime.killed(START))

    assert runtime.calls == ["remove c"]
    assert blocked.value.why is not None
    assert (blocked.value.why.subject, blocked.value.why.where) == ("kills", "ended")


def test_an_exit_that_the_daemon_could_not_see_need_not_have_its_code(runtime: Runtime) -> None:
    raw = RawOutcome(Outcome.FAILED, Reason(code=ReasonCode.VALUE, subject="exit_code"))
    state = RawOutcome(Outcome.FAILED, Reason(code=ReasonCode.VALUE, subject="state"))
    killed = runtime.killed(START)

    assert killed.judged(raw).judged_as == "RST-06/code"
    assert killed.judged(state) is state
