"""RST-18: a reboot of the machine: processes, mounts, network interfaces and the contents of /run are gone,
and the runtime must update its objects.
"""

from dataclasses import dataclass

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Blocked,
    Capability,
    OwnRuntime,
    Sandbox,
    disruptive,
    requirement,
    requires,
    setting_up,
)

pytestmark = disruptive

UPDATE_SECONDS = 20.0
"""For a runtime that updates its state only after it has become ready."""


@dataclass(frozen=True)
class Rebooted:
    """A runtime whose machine was rebooted.

    Attributes:
        runtime: as it came back.
        pod: from before the reboot; it had a container in every state.
        running: id of the container in it that was running.
        address: of the pod.
        images: ListImages before the reboot.
        failure: why it did not come back; empty if it did.
    """

    runtime: OwnRuntime
    pod: Sandbox
    running: str
    address: str
    images: dict[str, list[str]]
    failure: str

    def sandboxes(self) -> list[cri.PodSandbox]:
        """Return the entries of the pod in ListPodSandbox."""
        listed = self.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
        return [entry for entry in listed if entry.id == self.pod.id]

    def containers(self) -> list[cri.Container]:
        """Return the entries of its containers in ListContainers."""
        listed = self.runtime.stub.ListContainers(cri.ListContainersRequest()).containers
        return [entry for entry in listed if entry.pod_sandbox_id == self.pod.id]


def images_of(runtime: OwnRuntime) -> dict[str, list[str]]:
    """Return the names of every image by its id."""
    listed = runtime.images.ListImages(cri.ListImagesRequest()).images
    return {image.id: sorted((*image.repo_tags, *image.repo_digests)) for image in listed}


@pytest.fixture(scope="module")
def restarted_machine(module_runtime: OwnRuntime) -> Rebooted:
    """A runtime that had a pod with containers in every state before a reboot of its machine, whether it came
    back or not.
    """
    pod = module_runtime.sandbox()
    states = (cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED)
    _, running, _ = (module_runtime.containers.in_state(state, in_sandbox=pod) for state in states)
    with setting_up():
        address = pod.status().network.ip
        images = images_of(module_runtime)
    failure = ""
    try:
        module_runtime.reboot()
    except AssertionError as error:
        failure = str(error)
    return Rebooted(module_runtime, pod, running.id, address, images, failure)


@pytest.fixture
def rebooted(restarted_machine: Rebooted) -> Rebooted:
    """A runtime that had a pod with containers in every state before a reboot of its machine."""
    if restarted_machine.failure:
        raise Blocked(restarted_machine.failure, by="RST-18")
    return restarted_machine


@requirement("RST-18")
def test_no_sandbox_is_ready_after_a_reboot(restarted_machine: Rebooted) -> None:
    """A sandbox from before a reboot MUST be listed as NOTREADY, or not at all.

    Source: PodSandboxState. The kubelet would not create a pod again that is listed as READY.
    """
    assert not restarted_machine.failure

    restarted_machine.runtime.eventually(
        "the sandbox to be NOTREADY or gone",
        lambda: [entry.state for entry in restarted_machine.sandboxes()],
        UPDATE_SECONDS,
        holds=lambda states: states in ([], [cri.SANDBOX_NOTREADY]),
    )


@requirement("RST-18")
def test_no_container_runs_after_a_reboot(rebooted: Rebooted) -> None:
    """A container from before a reboot MUST NOT be listed as RUNNING.

    Source: ContainerState. The kubelet would not start it again.
    """
    rebooted.runtime.eventually(
        "no container to be RUNNING",
        lambda: [entry.state for entry in rebooted.containers()],
        UPDATE_SECONDS,
        holds=lambda states: cri.CONTAINER_RUNNING not in states,
    )


@requirement("RST-18")
def test_a_container_that_a_reboot_ended_has_not_succeeded(rebooted: Rebooted) -> None:
    """A container that was running before a reboot and is listed as EXITED MUST NOT have the exit code 0 in
    ContainerStatus.

    Source: ContainerStatus.exit_code. The kubelet would take the work of the container as done.
    """
    rebooted.runtime.eventually(
        "no container to be RUNNING",
        lambda: [entry.state for entry in rebooted.containers()],
        UPDATE_SECONDS,
        holds=lambda states: cri.CONTAINER_RUNNING not in states,
    )

    request = cri.ListContainersRequest(filter=cri.ContainerFilter(id=rebooted.running))
    codes = [
        rebooted.runtime.stub.ContainerStatus(
            cri.ContainerStatusRequest(container_id=entry.id)
        ).status.exit_code
        for entry in rebooted.runtime.stub.ListContainers(request).containers
        if entry.state == cri.CONTAINER_EXITED
    ]
    assert 0 not in codes


@requirement("RST-18")
def test_images_survive_a_reboot(rebooted: Rebooted) -> None:
    """ListImages MUST return the same images after a reboot, with their names.

    Source: ListImages; RemoveImage, the only call that removes images. A node without a network could start
    nothing.
    """
    assert images_of(rebooted.runtime) == rebooted.images
    assert rebooted.images, "there was no image before the reboot"


@requirement("RST-18")
@requires(Capability.POD_NETWORK)
def test_pod_can_be_removed_after_a_reboot(rebooted: Rebooted) -> None:
    """StopPodSandbox and RemovePodSandbox MUST remove a pod that is still listed after a reboot, and its
    address MUST be released.

    Source: StopPodSandbox, which reclaims the network resources of the sandbox, RemovePodSandbox. A runtime
    that no longer lists the pod has done both itself.
    """
    runtime, stub = rebooted.runtime, rebooted.runtime.stub
    runtime.used_up = True

    for entry in rebooted.sandboxes():
        stop = cri.StopPodSandboxRequest(pod_sandbox_id=entry.id)
        runtime.retry_until_ok("StopPodSandbox after a reboot", lambda stop=stop: stub.StopPodSandbox(stop))  # type: ignore[misc]  # mypy cannot type a lambda's default
        stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=entry.id))

    assert rebooted.sandboxes() == []
    assert rebooted.containers() == []
    runtime.eventually(
        "the address of the pod to be released",
        lambda: runtime.daemon.leases,
        holds=lambda leases: rebooted.address not in leases,
    )


@requirement("RST-18")
def test_pod_can_be_created_again_after_a_reboot(rebooted: Rebooted) -> None:
    """RunPodSandbox MUST succeed after a reboot for the next attempt of the same pod.

    Source: PodSandboxMetadata.attempt, which distinguishes the sandboxes of one pod; the kubelet does so.
    """
    runtime = rebooted.runtime
    config = cri.PodSandboxConfig()
    config.CopyFrom(rebooted.pod.config)
    # as the kubelet does: the sandbox from before the reboot may still be listed
    config.metadata.attempt += 1
    runtime.used_up = True

    response = runtime.stub.RunPodSandbox(runtime.sandboxes.creation(config))

    again = runtime.sandboxes.adopt(response.pod_sandbox_id, config)
    assert again.state() == cri.SANDBOX_READY
    assert runtime.container(again).state() == cri.CONTAINER_RUNNING
