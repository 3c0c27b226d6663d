"""CTR: steps of the OCI runtime, or of a CNI plugin, that hang, and whose client cancels the call."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    FaultyRuntime,
    RecordVariant,
    Sandbox,
    disruptive,
    must_be_refused,
    refused_with,
    remains_of,
    requirement,
    requires,
    single,
    slow,
    unsupported,
)
from critests.validation.runtime.concurrent_calls import late_reads

pytestmark = disruptive

Call = Callable[..., Any]
"""Begins a call, with an optional `timeout`, and returns grpcio's future of it."""

STEPS = ("create", "start", "exec", "kill", "delete")
ENDS = ("killed", "late")  # of the step that hangs: it is killed, or completes after its client has cancelled
COMMAND_SECONDS = 2  # timeout of ExecSync, which has whole seconds
TRY_SECONDS = 3.0  # of one of several attempts: some block until their client cancels
GIVEN_UP_SECONDS = 150.0
"""For what no client requests again: a runtime may retain it for a minute or two, for a repeated call."""
REMOVAL_SECONDS = 20.0  # for a daemon that removes mounts and cgroups in the background


class Hanging:
    """A pod, and calls that hang in a step of its OCI runtime until their client cancels them.

    Args:
        steps: of the runtime, whose OCI runtime can hang.

    Attributes:
        pod: a READY one.
        runtime: of the pod.
    """

    def __init__(self, faulty_runtime: FaultyRuntime) -> None:
        self.faulty_runtime, self.runtime = faulty_runtime, faulty_runtime.runtime
        self.pod: Sandbox = faulty_runtime.runtime.sandbox()

    def entries(self) -> list[cri.Container]:
        """Return the entries of the pod in ListContainers."""
        only = cri.ContainerFilter(pod_sandbox_id=self.pod.id)
        return list(self.runtime.stub.ListContainers(cri.ListContainersRequest(filter=only)).containers)

    def states(self) -> list[int]:
        """Return the states of those entries."""
        return [entry.state for entry in self.entries()]

    def calls_reaching(self, step: str) -> list[Call]:
        """Return calls, one of which reaches a step of the OCI runtime; runtimes differ in which one."""
        stub, containers = self.runtime.stub, self.runtime.containers
        if step == "create":
            return self.calls_creating(containers.config())
        if step == "start":
            start = cri.StartContainerRequest(container_id=containers.created(in_sandbox=self.pod).id)
            return [partial(stub.StartContainer.future, start)]
        container = containers.running(in_sandbox=self.pod)
        if step == "exec":
            return [partial(stub.ExecSync.future, container.exec_request("true"))]
        stop = cri.StopContainerRequest(container_id=container.id, timeout=0)
        removal = cri.RemoveContainerRequest(container_id=container.id)
        return [partial(stub.StopContainer.future, stop), partial(stub.RemoveContainer.future, removal)]

    def calls_creating(self, config: cri.ContainerConfig) -> list[Call]:
        """Return the calls that create a container in the pod and start it."""
        creation = self.runtime.containers.creation(config, self.pod)
        return [partial(self.runtime.stub.CreateContainer.future, creation), self._start_created]

    def _start_created(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - grpcio's future
        created = single("the created container", self.entries())
        start = cri.StartContainerRequest(container_id=created.id)
        return self.runtime.stub.StartContainer.future(start, timeout=timeout)

    def until_one_hangs(self, calls: list[Call]) -> Any:  # noqa: ANN401 - grpcio's future
        """Make calls, one after the other, until one hangs in the OCI runtime, and return it."""
        for begin in calls:
            if self.faulty_runtime.hangs(self.faulty_runtime.oci, call := begin()):
                return call
        return unsupported("a step of the OCI runtime of this name: no call reaches it")

    def cancel_in(self, step: str, end: str, calls: list[Call] | None = None) -> list[Call]:
        """Make calls until one reaches a step that hangs, cancel it there, let the step end, and return the
        calls.

        Args:
            step: of the OCI runtime.
            end: one of `ENDS`.
            calls: by default those that lead to the step.
        """
        calls = calls or self.calls_reaching(step)
        hold = {"killed": self.faulty_runtime.hanging, "late": self.faulty_runtime.delayed}[end]
        with hold(self.faulty_runtime.oci, step):
            self.until_one_hangs(calls).cancel()
        return calls

    def id_of_given_up(self, calls: list[Call]) -> str:
        """Make calls until one reaches the OCI runtime's create, cancel it there, let the step complete, and
        return the id that the OCI runtime got.
        """
        with self.faulty_runtime.delayed(self.faulty_runtime.oci, "create"):
            call = self.until_one_hangs(calls)
            process = Path(f"/proc/{self.faulty_runtime.hung[0]}")
            # the last argument of the command, each ends with a zero byte
            given_up = (process / "cmdline").read_text(encoding="utf-8").split("\0")[-2]
            call.cancel()
        self.runtime.eventually("the step to complete", lambda: not process.exists())
        return given_up

    def remove(self, pod_id: str = "") -> None:
        """Stop and remove a pod, this one by default, as the kubelet does."""
        self.faulty_runtime.remove(pod_id or self.pod.id)

    @property
    def one_try(self) -> float:
        """Deadline in seconds of a call that may wait for a step that is still in progress."""
        return TRY_SECONDS * self.runtime.scale


@pytest.fixture
def hanging(faulty_runtime: FaultyRuntime) -> Hanging:
    """A pod, and calls that hang in a step of its OCI runtime."""
    return Hanging(faulty_runtime)


@requirement("CTR-41/removed")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("step", STEPS)
def test_pod_can_be_removed_after_a_hanging_step(hanging: Hanging, step: str, end: str) -> None:
    """StopPodSandbox and RemovePodSandbox MUST remove a pod after a step of its OCI runtime hung until the
    client cancelled, whether the step was then killed or completed.

    Source: StopPodSandbox, RemovePodSandbox. Not stated by the CRI for this case; the kubelet repeats both
    until they succeed.
    """
    hanging.cancel_in(step, end)

    hanging.remove()

    assert hanging.pod.entries() == []
    assert hanging.entries() == []


@requirement("CTR-41/left")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("step", STEPS)
def test_removed_pod_leaves_nothing_after_a_hanging_step(hanging: Hanging, step: str, end: str) -> None:
    """RemovePodSandbox SHOULD leave no process, mount or cgroup of a pod, also after a step of its OCI
    runtime hung until the client cancelled.

    Source: RemovePodSandbox. Not stated by the CRI for this case.
    """
    hanging.cancel_in(step, end)
    ids = [hanging.pod.id, *(entry.id for entry in hanging.entries())]

    hanging.remove()

    hanging.runtime.eventually(
        "the remains of the pod to go",
        lambda: remains_of(*ids),
        REMOVAL_SECONDS,
        lambda left: not left,
    )


@requirement("CTR-41/again")
@pytest.mark.parametrize("end", ENDS)
def test_container_whose_creation_hung_can_be_created_again(hanging: Hanging, end: str) -> None:
    """A container whose creation hung in the OCI runtime until the client cancelled MUST be gone or
    removable, and the same container MUST run when it is created again.

    Source: CreateContainer, StartContainer, ContainerMetadata. Not stated by the CRI for this case; the
    kubelet calls again.
    """
    stub = hanging.runtime.stub
    calls = hanging.cancel_in("create", end)

    def remove_and_create() -> None:
        for left in hanging.entries():
            stub.RemoveContainer(cri.RemoveContainerRequest(container_id=left.id), timeout=hanging.one_try)
        for begin in calls:
            begin(timeout=hanging.one_try).result()

    # the cancelled call may still be in progress, and blocks the new one until it ends
    hanging.runtime.retry_until_ok("the same calls once more", remove_and_create)
    assert hanging.states() == [cri.CONTAINER_RUNNING]


@requirement("CTR-41/again")
@pytest.mark.parametrize("end", ENDS)
def test_exec_sync_works_after_an_exec_that_hung(hanging: Hanging, end: str) -> None:
    """A container MUST keep running and accept the next ExecSync after an exec hung in the OCI runtime until
    the client cancelled.

    Source: ExecSync. Not stated by the CRI for this case; a probe comes every few seconds.
    """
    hanging.cancel_in("exec", end)

    entry = single("the container", hanging.entries())
    echo = cri.ExecSyncRequest(container_id=entry.id, cmd=["echo", "output"], timeout=COMMAND_SECONDS)
    assert hanging.runtime.stub.ExecSync(echo).stdout == b"output\n"
    assert entry.state == cri.CONTAINER_RUNNING


@requirement("CTR-41/again")
@pytest.mark.parametrize("end", ENDS)
def test_stop_that_hung_can_be_repeated(hanging: Hanging, end: str) -> None:
    """StopContainer MUST stop a container after a first StopContainer hung in the OCI runtime's kill until
    the client cancelled.

    Source: StopContainer. Not stated by the CRI for this case; the kubelet calls again.
    """
    calls = hanging.cancel_in("kill", end)

    hanging.runtime.retry_until_ok(
        "StopContainer once more", lambda: calls[0](timeout=hanging.runtime.one_try).result()
    )

    # other tests judge how soon a list reports the exit after the response: here the kill comes late
    hanging.runtime.eventually(
        "the container to be listed as exited",
        hanging.states,
        holds=lambda states: states == [cri.CONTAINER_EXITED],
    )


@requirement("CTR-41/again")
@pytest.mark.parametrize("end", ENDS)
def test_pod_whose_creation_hung_can_be_created_again(hanging: Hanging, end: str) -> None:
    """A pod whose sandbox creation hung in the OCI runtime until the client cancelled MUST be gone or
    removable, and the same pod MUST be READY when it is created again.

    Source: RunPodSandbox, PodSandboxMetadata. Not stated by the CRI for this case; the kubelet calls again.
    """
    sandboxes = hanging.runtime.sandboxes
    config = sandboxes.marked_config()
    call = partial(hanging.runtime.stub.RunPodSandbox.future, sandboxes.creation(config))
    hanging.cancel_in("create", end, [call])

    def remove_and_create() -> Sandbox:
        for left in sandboxes.created_from(config):
            hanging.remove(left.id)
        return sandboxes.attempt(config, timeout=hanging.one_try)

    again = hanging.runtime.retry_until_ok("RunPodSandbox once more", remove_and_create)
    assert again.state() == cri.SANDBOX_READY


@requirement("CTR-41/others")
def test_other_containers_are_usable_while_the_oci_runtime_hangs(hanging: Hanging) -> None:
    """Reads and ExecSync of another container MUST return while the OCI runtime hangs in the creation of a
    container.

    Source: not stated by the CRI; the kubelet would consider the whole node unhealthy.
    """
    other, calls = hanging.runtime.container(), hanging.calls_reaching("create")

    with hanging.faulty_runtime.hanging(hanging.faulty_runtime.oci, "create"):
        call = hanging.until_one_hangs(calls)
        late = late_reads(hanging.runtime, other, call)
        stdout = hanging.runtime.stub.ExecSync(other.exec_request("echo", "output")).stdout
        call.cancel()

    assert late == []
    assert stdout == b"output\n"


@requirement("CTR-41/time")
def test_form_of_an_exec_sync_that_cannot_start_its_command(
    hanging: Hanging, record_variant: RecordVariant
) -> None:
    """ExecSync MAY end with its timeout or wait until its client cancels while the OCI runtime hangs at the
    start of the command; it MUST NOT report success.

    Source: ExecSyncRequest.timeout, which applies to the command; runtimes differ.
    """
    request = hanging.runtime.container(hanging.pod).exec_request("true")
    request.timeout = COMMAND_SECONDS
    # long after the timeout of the command, which is what may end the call
    patience = 5 * COMMAND_SECONDS * hanging.runtime.scale
    begin, succeeded = time.monotonic(), False

    with hanging.faulty_runtime.hanging(hanging.faulty_runtime.oci, "exec"):
        call = hanging.runtime.stub.ExecSync.future(request, timeout=patience)
        try:
            succeeded = call.result().exit_code == 0
        except grpc.RpcError as error:
            refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED)
        seconds = time.monotonic() - begin

    # a call that lasts until about the client's deadline was ended by it
    record_variant("with its time-out" if seconds < patience - 1 else "when its client leaves")
    assert not succeeded


def given_up_pod(faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig) -> str:
    """Cancel RunPodSandbox while a CNI plugin hangs, which completes then, and return the id that the plugin
    got. Not every runtime runs a process for a sandbox, so the OCI runtime may not be called.
    """
    runtime = faulty_runtime.runtime
    call = runtime.stub.RunPodSandbox.future(runtime.sandboxes.creation(config))
    # portmap is the plugin after the one that assigns the address
    with faulty_runtime.delayed(faulty_runtime.cni, "portmap/ADD"):
        faulty_runtime.until_held(faulty_runtime.cni)
        environment = Path(f"/proc/{faulty_runtime.hung[0]}/environ").read_text(encoding="utf-8")
        call.cancel()
    variables = dict(each.partition("=")[::2] for each in environment.split("\0"))
    return variables["CNI_CONTAINERID"]


@requirement("CTR-41/given-up")
@requires(Capability.POD_NETWORK)
@slow
def test_what_its_client_gave_up_goes_by_itself(faulty_runtime: FaultyRuntime) -> None:
    """A pod or a container whose creation hung until the client cancelled MUST leave nothing on the node
    within minutes if it is not listed, whether the client requests the next attempt or none.

    Source: RunPodSandbox, CreateContainer, whose object does not exist for the client. Not stated by the CRI
    for this case; nobody else can remove it.
    """
    runtime, stub = faulty_runtime.runtime, faulty_runtime.runtime.stub
    pods = [runtime.sandboxes.marked_config() for _ in range(2)]
    homes = [Hanging(faulty_runtime) for _ in range(2)]
    configs = [runtime.containers.config() for _ in homes]
    # what the first container of a runtime creates stays
    runtime.container(command=["sleep", "3600"])
    before = runtime.daemon.objects(*pods)

    for pod in pods:
        given_up_pod(faulty_runtime, pod)
        for left in runtime.sandboxes.created_from(pod):
            faulty_runtime.remove(left.id)
    for home, config in zip(homes, configs, strict=True):
        home.cancel_in("create", "late", home.calls_creating(config))
        for listed in home.entries():
            removal = cri.RemoveContainerRequest(container_id=listed.id)
            runtime.retry_until_ok("RemoveContainer", partial(stub.RemoveContainer, removal))
    pods[0].metadata.attempt += 1
    configs[0].metadata.attempt += 1
    faulty_runtime.remove(runtime.sandboxes.attempt(pods[0]).id)
    again = runtime.containers.attempt(configs[0], in_sandbox=homes[0].pod)
    stub.RemoveContainer(cri.RemoveContainerRequest(container_id=again.id))

    runtime.eventually(
        "what the client gave up to go",
        lambda: runtime.daemon.objects(*pods) - before,
        GIVEN_UP_SECONDS,
        lambda left: not left,
    )


@requirement("CTR-41/unknown-id")
@requires(Capability.POD_NETWORK)
def test_id_of_a_pod_that_its_client_gave_up_is_unknown(faulty_runtime: FaultyRuntime) -> None:
    """PodSandboxStatus and CreateContainer MUST be rejected for the id of a pod that is not listed, because
    its client cancelled its creation.

    Source: PodSandboxStatus, CreateContainer. Not stated by the CRI for this case; to lists and to the client
    that requested it, the pod does not exist.
    """
    runtime, stub = faulty_runtime.runtime, faulty_runtime.runtime.stub
    config = runtime.sandboxes.marked_config()

    given_up = given_up_pod(faulty_runtime, config)
    if runtime.sandboxes.created_from(config):
        unsupported("a pod without an entry in lists: what its client gave up is listed")
    pod = Sandbox(runtime.connection, given_up, config)

    with must_be_refused():
        pod.status()
    with must_be_refused():
        stub.CreateContainer(runtime.containers.creation(runtime.containers.config(), pod))


@requirement("CTR-41/unknown-id")
def test_id_of_a_container_that_its_client_gave_up_is_unknown(hanging: Hanging) -> None:
    """ContainerStatus, StartContainer and ExecSync MUST be rejected for the id of a container that is not
    listed, because its client cancelled its creation in the OCI runtime.

    Source: ContainerStatus, StartContainer, ExecSync. Not stated by the CRI for this case; to lists and to
    the client that requested it, the container does not exist.
    """
    stub = hanging.runtime.stub
    config = hanging.runtime.containers.config()

    given_up = hanging.id_of_given_up(hanging.calls_creating(config))
    if hanging.entries():
        unsupported("a container without an entry in lists: what its client gave up is listed")
    container = Container(hanging.runtime.connection, given_up, hanging.pod, config)

    with must_be_refused():
        container.status()
    with must_be_refused():
        container.start()
    with must_be_refused():
        stub.ExecSync(container.exec_request("true"))
