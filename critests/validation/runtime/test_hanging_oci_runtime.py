"""CTR: steps of the OCI runtime that hang, the client that leaves meanwhile, and what comes of it."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.failing_steps import FailingSteps
from critests.fixtures.runtime import refused_with
from critests.fixtures.session import Observe
from critests.lifecycle.sandboxes import Sandbox
from critests.lifecycle.told import the_one
from critests.node.object_remains import remains_of
from critests.run.marks import disruptive, requirement
from critests.run.outcomes import unsupported
from critests.validation.runtime.calls import unanswered

pytestmark = disruptive

Call = Callable[..., Any]
"""Begins a call, with a `timeout` where it is to have one, and returns grpcio's future of it."""

STEPS = ("create", "start", "exec", "kill", "delete")
ENDS = ("killed", "late")
COMMAND_SECONDS = 2
TRY_SECONDS = 3.0
TRACES_SECONDS = 20.0


class Hanging:
    """A pod, and calls that hang in a step of its OCI runtime until their client leaves.

    Args:
        steps: of the runtime, whose OCI runtime can hang.

    Attributes:
        pod: a READY one.
        runtime: on which it is.
    """

    def __init__(self, steps: FailingSteps) -> None:
        self.steps, self.runtime = steps, steps.runtime
        self.pod: Sandbox = steps.runtime.sandbox()

    def entries(self) -> list[cri.Container]:
        """Return what is listed of the containers of the pod."""
        only = cri.ContainerFilter(pod_sandbox_id=self.pod.id)
        return list(self.runtime.stub.ListContainers(cri.ListContainersRequest(filter=only)).containers)

    def states(self) -> list[int]:
        """Return the states in which they are listed."""
        return [entry.state for entry in self.entries()]

    def leading_to(self, step: str) -> list[Call]:
        """Return the calls of which one comes to a step of the OCI runtime; runtimes differ in which."""
        stub, containers = self.runtime.stub, self.runtime.containers
        if step == "create":
            creation = containers.creation(containers.config(), self.pod)
            return [partial(stub.CreateContainer.future, creation), self._start_what_was_made]
        if step == "start":
            start = cri.StartContainerRequest(container_id=containers.created(in_sandbox=self.pod).id)
            return [partial(stub.StartContainer.future, start)]
        container = containers.running(in_sandbox=self.pod)
        if step == "exec":
            return [partial(stub.ExecSync.future, container.exec_request("true"))]
        stop = cri.StopContainerRequest(container_id=container.id, timeout=0)
        removal = cri.RemoveContainerRequest(container_id=container.id)
        return [partial(stub.StopContainer.future, stop), partial(stub.RemoveContainer.future, removal)]

    def _start_what_was_made(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - grpcio's future
        made = cri.StartContainerRequest(container_id=the_one("the half", self.entries()).id)
        return self.runtime.stub.StartContainer.future(made, timeout=timeout)

    def until_one_hangs(self, calls: list[Call]) -> Any:  # noqa: ANN401 - grpcio's future
        """Make calls, one after the other, until one hangs in the OCI runtime, and return that one."""
        for begin in calls:
            if self.steps.hangs(self.steps.oci, call := begin()):
                return call
        return unsupported("a step of the OCI runtime of this name: no call comes to it")

    def leave(self, step: str, end: str, calls: list[Call] | None = None) -> list[Call]:
        """Make calls until one comes to a step that hangs, leave there, let the step end, and return those
        calls.

        Args:
            step: of the OCI runtime.
            end: one of `ENDS`.
            calls: those that lead there by default.
        """
        calls = calls or self.leading_to(step)
        hold = {"killed": self.steps.hanging, "late": self.steps.held_up}[end]
        with hold(self.steps.oci, step):
            self.until_one_hangs(calls).cancel()
        return calls

    def remove(self, pod_id: str = "") -> None:
        """Stop and remove a pod, this one by default, as the kubelet does."""
        self.steps.remove(pod_id or self.pod.id)

    @property
    def one_try(self) -> float:
        """Deadline in seconds of a call that may wait for what is still under way."""
        return TRY_SECONDS * self.runtime.scale


@pytest.fixture
def hanging(steps: FailingSteps) -> Hanging:
    """A pod, and calls that hang in a step of its OCI runtime."""
    return Hanging(steps)


@requirement("CTR-41/removed")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("step", STEPS)
def test_pod_can_be_removed_after_a_step_that_hung(hanging: Hanging, step: str, end: str) -> None:
    """A pod MUST be removable by the usual calls when a step of its OCI runtime hung until its client left,
    whether that step was killed then or came to its end.

    Source: StopPodSandbox, RemovePodSandbox. Not stated by the CRI for this case; the kubelet calls until it
    is done.
    """
    hanging.leave(step, end)

    hanging.remove()

    assert hanging.pod.entries() == []
    assert hanging.entries() == []


@requirement("CTR-41/left")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("step", STEPS)
def test_nothing_is_left_of_a_pod_after_a_step_that_hung(hanging: Hanging, step: str, end: str) -> None:
    """Of a pod that was removed no process, mount or cgroup SHOULD be left, also when a step of its OCI
    runtime hung until its client left.

    Source: RemovePodSandbox. Not stated by the CRI for this case.
    """
    hanging.leave(step, end)
    ids = [hanging.pod.id, *(entry.id for entry in hanging.entries())]

    hanging.remove()

    hanging.runtime.eventually(
        "the traces of the pod to go", lambda: remains_of(*ids), TRACES_SECONDS, lambda left: not left
    )


@requirement("CTR-41/again")
@pytest.mark.parametrize("end", ENDS)
def test_container_whose_making_hung_can_be_made_again(hanging: Hanging, end: str) -> None:
    """A container whose client left while the OCI runtime hung in making it MUST be gone or removable, and
    the same one MUST run when it is made again.

    Source: CreateContainer, StartContainer, ContainerMetadata. Not stated by the CRI for this case; the
    kubelet calls again.
    """
    stub = hanging.runtime.stub
    calls = hanging.leave("create", end)

    def clear_and_make() -> None:
        for half in hanging.entries():
            stub.RemoveContainer(cri.RemoveContainerRequest(container_id=half.id), timeout=hanging.one_try)
        for begin in calls:
            begin(timeout=hanging.one_try).result()

    # what is under way may still come to its end, and is in the way so long
    hanging.runtime.until_answered("the same calls once more", clear_and_make)
    assert hanging.states() == [cri.CONTAINER_RUNNING]


@requirement("CTR-41/again")
@pytest.mark.parametrize("end", ENDS)
def test_container_takes_commands_after_one_that_hung(hanging: Hanging, end: str) -> None:
    """A container MUST run on and take the next command when the OCI runtime hung at an exec until its client
    left.

    Source: ExecSync. Not stated by the CRI for this case; a probe comes every few seconds.
    """
    hanging.leave("exec", end)

    entry = the_one("the container", hanging.entries())
    said = cri.ExecSyncRequest(container_id=entry.id, cmd=["echo", "said"], timeout=COMMAND_SECONDS)
    assert hanging.runtime.stub.ExecSync(said).stdout == b"said\n"
    assert entry.state == cri.CONTAINER_RUNNING


@requirement("CTR-41/again")
@pytest.mark.parametrize("end", ENDS)
def test_stop_that_hung_can_be_repeated(hanging: Hanging, end: str) -> None:
    """A container MUST be ended by a second StopContainer when the OCI runtime hung at its kill until the
    client of the first one left.

    Source: StopContainer. Not stated by the CRI for this case; the kubelet calls again.
    """
    calls = hanging.leave("kill", end)

    hanging.runtime.until_answered(
        "StopContainer once more", lambda: calls[0](timeout=hanging.runtime.one_try).result()
    )

    # how soon after an answer lists tell the end is judged elsewhere: here the kill comes late and by itself
    hanging.runtime.eventually(
        "the container to be listed as exited",
        hanging.states,
        holds=lambda states: states == [cri.CONTAINER_EXITED],
    )


@requirement("CTR-41/again")
@pytest.mark.parametrize("end", ENDS)
def test_pod_whose_making_hung_can_be_made_again(hanging: Hanging, end: str) -> None:
    """A pod whose client left while the OCI runtime hung in making its sandbox MUST be gone or removable, and
    the same one MUST be READY when it is made again.

    Source: RunPodSandbox, PodSandboxMetadata. Not stated by the CRI for this case; the kubelet calls again.
    """
    sandboxes = hanging.runtime.sandboxes
    config = sandboxes.marked_config()
    call = partial(hanging.runtime.stub.RunPodSandbox.future, sandboxes.creation(config))
    hanging.leave("create", end, [call])

    def clear_and_make() -> Sandbox:
        for half in sandboxes.made_from(config):
            hanging.remove(half.id)
        return sandboxes.attempt(config, timeout=hanging.one_try)

    again = hanging.runtime.until_answered("RunPodSandbox once more", clear_and_make)
    assert again.state() == cri.SANDBOX_READY


@requirement("CTR-41/others")
def test_others_are_served_while_the_oci_runtime_hangs(hanging: Hanging) -> None:
    """While the OCI runtime hangs in making a container, everything MUST be answered that is asked of
    another one, and its commands MUST run.

    Source: not stated by the CRI; the kubelet would take the whole node for dead.
    """
    other, calls = hanging.runtime.container(), hanging.leading_to("create")

    with hanging.steps.hanging(hanging.steps.oci, "create"):
        call = hanging.until_one_hangs(calls)
        late = unanswered(hanging.runtime, other, call)
        said = hanging.runtime.stub.ExecSync(other.exec_request("echo", "said")).stdout
        call.cancel()

    assert late == []
    assert said == b"said\n"


@requirement("CTR-41/time")
def test_form_of_a_command_that_cannot_begin(hanging: Hanging, observe: Observe) -> None:
    """Where the OCI runtime hangs at the beginning of a command, ExecSync MAY end with its time-out or wait
    until its client leaves; it MUST NOT tell success.

    Source: ExecSyncRequest.timeout, which is for the command; runtimes differ.
    """
    request = hanging.runtime.container(hanging.pod).exec_request("true")
    request.timeout = COMMAND_SECONDS
    patience = 5 * COMMAND_SECONDS * hanging.runtime.scale
    begin, succeeded = time.monotonic(), False

    with hanging.steps.hanging(hanging.steps.oci, "exec"):
        call = hanging.runtime.stub.ExecSync.future(request, timeout=patience)
        try:
            succeeded = call.result().exit_code == 0
        except grpc.RpcError as error:
            refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED)
        seconds = time.monotonic() - begin

    observe("with its time-out" if seconds < patience - 1 else "when its client leaves")
    assert not succeeded
