"""RST-18: what a runtime makes of its objects when the machine was switched off and on: no process, mount or
link of before is left, and nothing of what lies in /run.
"""

from dataclasses import dataclass

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.own_runtime import OwnRuntime
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import disruptive, requirement, requires
from critests.run.outcomes import Blocked, setting_up

pytestmark = disruptive

CLEARED_SECONDS = 20.0
"""For a runtime that clears up after it has become ready."""


@dataclass(frozen=True)
class Rebooted:
    """A runtime whose machine was switched off and on.

    Attributes:
        runtime: as it came back.
        pod: of before; it had a container in every state.
        address: of the pod.
        images: what ListImages said before.
        failure: why it did not come back; empty where it did.
    """

    runtime: OwnRuntime
    pod: Sandbox
    address: str
    images: dict[str, list[str]]
    failure: str

    def sandboxes(self) -> list[cri.PodSandbox]:
        """Return what is listed of the pod."""
        listed = self.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
        return [entry for entry in listed if entry.id == self.pod.id]

    def containers(self) -> list[cri.Container]:
        """Return what is listed of its containers."""
        listed = self.runtime.stub.ListContainers(cri.ListContainersRequest()).containers
        return [entry for entry in listed if entry.pod_sandbox_id == self.pod.id]


def images_of(runtime: OwnRuntime) -> dict[str, list[str]]:
    """Return the names of every image by its id."""
    listed = runtime.images.ListImages(cri.ListImagesRequest()).images
    return {image.id: sorted((*image.repo_tags, *image.repo_digests)) for image in listed}


@pytest.fixture(scope="module")
def switched(module_runtime: OwnRuntime) -> Rebooted:
    """A runtime that had a pod with containers in every state before its machine was switched off and on,
    whether it came back or not.
    """
    pod = module_runtime.sandbox()
    for state in (cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED):
        module_runtime.containers.in_state(state, in_sandbox=pod)
    with setting_up():
        address = pod.status().network.ip
        images = images_of(module_runtime)
    failure = ""
    try:
        module_runtime.reboot()
    except AssertionError as error:
        failure = str(error)
    return Rebooted(module_runtime, pod, address, images, failure)


@pytest.fixture
def rebooted(switched: Rebooted) -> Rebooted:
    """A runtime that had a pod with containers in every state before its machine was switched off and on."""
    if switched.failure:
        raise Blocked(switched.failure, by="RST-18")
    return switched


@requirement("RST-18")
def test_no_sandbox_is_ready_after_a_reboot(switched: Rebooted) -> None:
    """A sandbox of before a reboot of the machine MUST be told as NOTREADY, or not at all.

    Source: PodSandboxState: READY is what is ready. The kubelet would not make the pod again.
    """
    assert not switched.failure

    switched.runtime.eventually(
        "the sandbox to be NOTREADY or gone",
        lambda: [entry.state for entry in switched.sandboxes()],
        CLEARED_SECONDS,
        holds=lambda states: states in ([], [cri.SANDBOX_NOTREADY]),
    )


@requirement("RST-18")
def test_no_container_runs_after_a_reboot(rebooted: Rebooted) -> None:
    """A container of before a reboot of the machine MUST NOT be told as RUNNING.

    Source: ContainerState: RUNNING is what runs. The kubelet would not start it again.
    """
    rebooted.runtime.eventually(
        "no container to be RUNNING",
        lambda: [entry.state for entry in rebooted.containers()],
        CLEARED_SECONDS,
        holds=lambda states: cri.CONTAINER_RUNNING not in states,
    )


@requirement("RST-18")
def test_images_survive_a_reboot(rebooted: Rebooted) -> None:
    """Images MUST be there after a reboot of the machine, with their names.

    Source: ListImages; RemoveImage, without which no image goes. A node without a network could start
    nothing.
    """
    assert images_of(rebooted.runtime) == rebooted.images
    assert rebooted.images, "there was no image to begin with"


@requirement("RST-18")
@requires(Capability.POD_NETWORK)
def test_what_a_reboot_left_can_be_removed(rebooted: Rebooted) -> None:
    """What is listed of a pod of before a reboot of the machine MUST be removable, and its address MUST be
    free then.

    Source: StopPodSandbox, which reclaims what the sandbox has of the network, RemovePodSandbox. A runtime
    that lists nothing any more has done both itself.
    """
    runtime, stub = rebooted.runtime, rebooted.runtime.stub
    runtime.used_up = True

    for entry in rebooted.sandboxes():
        stop = cri.StopPodSandboxRequest(pod_sandbox_id=entry.id)
        runtime.until_answered("StopPodSandbox after a reboot", lambda stop=stop: stub.StopPodSandbox(stop))  # type: ignore[misc]  # mypy cannot type a lambda's default
        stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=entry.id))

    assert rebooted.sandboxes() == []
    assert rebooted.containers() == []
    runtime.eventually(
        "the address of the pod to be given back",
        lambda: runtime.daemon.leases,
        holds=lambda leases: rebooted.address not in leases,
    )


@requirement("RST-18")
def test_pod_can_be_made_again_after_a_reboot(rebooted: Rebooted) -> None:
    """After a reboot of the machine the same pod MUST be made again, as its next attempt.

    Source: PodSandboxMetadata.attempt, which tells the sandboxes of one pod apart; it is what the kubelet
    does.
    """
    runtime = rebooted.runtime
    config = cri.PodSandboxConfig()
    config.CopyFrom(rebooted.pod.config)
    config.metadata.attempt += 1
    runtime.used_up = True

    answer = runtime.stub.RunPodSandbox(runtime.sandboxes.creation(config))

    again = runtime.sandboxes.adopt(answer.pod_sandbox_id, config)
    assert again.state() == cri.SANDBOX_READY
    assert runtime.container(again).state() == cri.CONTAINER_RUNNING
