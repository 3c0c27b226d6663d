"""RST: the daemon is killed in the middle of a call, and the next daemon finds an object that is half
created, stopped or removed.
"""

import signal
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.node.wrappers.hanging import FOR_EVER, cut_off, held
from critests.node.wrappers.stand_in import Wrapper
from critests.testing import (
    Capability,
    OwnRuntime,
    Sandbox,
    blocked,
    configured,
    disruptive,
    requirement,
    requires,
    single,
)

pytestmark = [disruptive, configured(wrapped=True)]

RETRY_SECONDS = 10.0
"""For a repeated call: the next daemon may have to clean up first."""

Call = Callable[[], "grpc.Future[Any]"]


class Killable:
    """A runtime whose daemon can be killed in the middle of a call.

    Args:
        runtime: of the test's own, with wrappers.
    """

    def __init__(self, runtime: OwnRuntime) -> None:
        self.runtime = runtime
        self.oci: Wrapper = runtime.oci
        self.cni: Wrapper = runtime.cni

    def kill(self, wrapper: Wrapper, operation: str, *calls: Call) -> None:
        """Make calls, one after the other, until one reaches an operation of the OCI runtime or of a CNI
        plugin; kill the daemon there, with the processes that it started, and start it again.
        """
        wrapper.plan({operation: [FOR_EVER]})
        for call in calls:
            if self._reaches(wrapper, call()):
                break
        else:
            blocked(f"no call reached {operation}")
        stuck = held(wrapper)
        with self.runtime.down(signal.SIGKILL):
            # when its daemon is gone, a shim kills its command, but not the children of that command
            cut_off(stuck)
            wrapper.plan({})

    def _reaches(self, wrapper: Wrapper, call: "grpc.Future[Any]") -> bool:
        self.runtime.eventually(
            "the call to be held, or to return", lambda: bool(held(wrapper)) or call.done(), seconds=30
        )
        return not call.done()

    def retry(self, what: str, call: Callable[[], object]) -> None:
        """Repeat a call until it succeeds, as the kubelet does."""
        self.runtime.retry_until_ok(what, call, RETRY_SECONDS)

    def stop(self, sandbox_id: str) -> None:
        """Stop a sandbox."""
        stub, request = self.runtime.stub, cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        self.retry("StopPodSandbox after a restart", lambda: stub.StopPodSandbox(request))

    def remove(self, sandbox_id: str) -> None:
        """Stop and remove a sandbox."""
        stub = self.runtime.stub
        self.stop(sandbox_id)
        remove = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        self.retry("RemovePodSandbox after a restart", lambda: stub.RemovePodSandbox(remove))


@pytest.fixture
def target(own_runtime: OwnRuntime) -> Killable:
    """A runtime of the test's own whose daemon can be killed in the middle of a call."""
    return Killable(own_runtime)


@pytest.fixture
def pod(target: Killable) -> Sandbox:
    """A READY sandbox on that runtime."""
    return target.runtime.sandbox()


@requirement("RST-14")
@requires(Capability.POD_NETWORK)
def test_incomplete_sandbox_can_be_created_again_after_a_restart(target: Killable) -> None:
    """A sandbox whose RunPodSandbox was interrupted by a kill of the daemon MUST be gone afterwards, or be
    listed and removable; RunPodSandbox of the same pod MUST then succeed.

    Source: ListPodSandbox, RemovePodSandbox, which removes any listed sandbox, and PodSandboxMetadata. A pod
    that can be neither created nor removed needs manual repair.
    """
    stub, sandboxes = target.runtime.stub, target.runtime.sandboxes
    config = sandboxes.marked_config()
    target.kill(target.cni, "ADD", lambda: stub.RunPodSandbox.future(sandboxes.creation(config)))

    for leftover in sandboxes.created_from(config):
        target.remove(leftover.id)
    assert sandboxes.created_from(config) == []
    target.retry("RunPodSandbox of the same pod", lambda: stub.RunPodSandbox(sandboxes.creation(config)))

    assert [entry.state for entry in sandboxes.created_from(config)] == [cri.SANDBOX_READY]


@requirement("RST-23/half")
@requires(Capability.POD_NETWORK)
def test_address_of_an_incomplete_sandbox_is_released_after_a_restart(target: Killable) -> None:
    """The address of a sandbox whose RunPodSandbox was interrupted by a kill of the daemon MUST be released
    once the listed sandbox is stopped.

    Source: StopPodSandbox, which reclaims the network resources of the sandbox. Not stated by the CRI for a
    restart; the node would run out of addresses.
    """
    stub, sandboxes = target.runtime.stub, target.runtime.sandboxes
    config = sandboxes.marked_config()
    # portmap is the plugin after the one that assigns the address
    target.kill(target.cni, "portmap/ADD", lambda: stub.RunPodSandbox.future(sandboxes.creation(config)))

    for leftover in sandboxes.created_from(config):
        target.stop(leftover.id)

    target.runtime.eventually(
        "the address of the sandbox to be released",
        lambda: target.runtime.daemon.leases,
        RETRY_SECONDS,
        holds=lambda leases: not leases,
    )


@requirement("RST-14")
def test_incomplete_container_can_be_created_again_after_a_restart(target: Killable, pod: Sandbox) -> None:
    """A container whose CreateContainer or StartContainer was interrupted by a kill of the daemon MUST be
    gone afterwards, or be listed and removable; the same container MUST then be created and started.

    Source: ListContainers, RemoveContainer, which removes any listed container, and ContainerMetadata.
    Otherwise the pod would hang until it is deleted.
    """
    stub, containers = target.runtime.stub, target.runtime.containers
    config = containers.config()
    request = containers.creation(config, pod)

    def entries() -> list[cri.Container]:
        listed = stub.ListContainers(cri.ListContainersRequest()).containers
        return [entry for entry in listed if entry.metadata.name == config.metadata.name]

    target.kill(
        target.oci,
        "create",
        lambda: stub.CreateContainer.future(request),
        lambda: stub.StartContainer.future(
            cri.StartContainerRequest(container_id=single("the container", entries()).id)
        ),
    )

    for leftover in entries():
        removal = cri.RemoveContainerRequest(container_id=leftover.id)
        target.retry("RemoveContainer of what is left", lambda removal=removal: stub.RemoveContainer(removal))  # type: ignore[misc]  # mypy cannot type a lambda's default
    assert entries() == []
    target.retry("CreateContainer of the same container", lambda: stub.CreateContainer(request))
    container_id = single("the container", entries()).id
    stub.StartContainer(cri.StartContainerRequest(container_id=container_id))

    assert [(entry.id, entry.state) for entry in entries()] == [(container_id, cri.CONTAINER_RUNNING)]


@requirement("RST-15")
def test_interrupted_stop_of_a_container_completes(target: Killable, pod: Sandbox) -> None:
    """A container whose StopContainer was interrupted by a kill of the daemon MUST be stopped by a second
    StopContainer, and removed by RemoveContainer.

    Source: StopContainer, RemoveContainer, which are idempotent; the kubelet calls again.
    """
    container = target.runtime.container(pod)
    stub = target.runtime.stub
    stop = cri.StopContainerRequest(container_id=container.id, timeout=0)
    target.kill(target.oci, "kill", lambda: stub.StopContainer.future(stop))

    target.retry("StopContainer after a restart", lambda: stub.StopContainer(stop))
    assert container.state() == cri.CONTAINER_EXITED
    removal = cri.RemoveContainerRequest(container_id=container.id)
    target.retry("RemoveContainer after a restart", lambda: stub.RemoveContainer(removal))

    assert container.entries() == []


@requirement("RST-15")
@requires(Capability.POD_NETWORK)
def test_interrupted_stop_of_a_sandbox_completes(target: Killable, pod: Sandbox) -> None:
    """A sandbox whose StopPodSandbox was interrupted by a kill of the daemon MUST be stopped and removed by
    the same calls again, and its address MUST be released.

    Source: StopPodSandbox, which reclaims the network resources of the sandbox, RemovePodSandbox.
    """
    stub = target.runtime.stub
    address = pod.status().network.ip
    stop = cri.StopPodSandboxRequest(pod_sandbox_id=pod.id)
    target.kill(target.cni, "DEL", lambda: stub.StopPodSandbox.future(stop))

    target.remove(pod.id)

    assert pod.entries() == []
    assert address not in target.runtime.daemon.leases
