"""RST: daemons that are killed in the middle of a call, and what the next one makes of the halves."""

import signal
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.own_runtime import OwnRuntime
from critests.lifecycle.sandboxes import Sandbox
from critests.lifecycle.told import the_one
from critests.node.wrappers.hanging import FOR_EVER, cut_off, held
from critests.node.wrappers.stand_in import Wrapper
from critests.run.marks import disruptive, requirement, requires
from critests.run.outcomes import blocked

pytestmark = disruptive

AGAIN_SECONDS = 10.0
"""For a call that is repeated: the next daemon may have to clear up first."""

Call = Callable[[], "grpc.Future[Any]"]


class Midway:
    """A runtime whose daemon can be killed in the middle of a call.

    Args:
        runtime: of the test's own, with wrappers.
    """

    def __init__(self, runtime: OwnRuntime) -> None:
        self.runtime = runtime
        self.oci: Wrapper = runtime.oci
        self.cni: Wrapper = runtime.cni

    def kill(self, wrapper: Wrapper, operation: str, *calls: Call) -> None:
        """Make calls, one after the other, until one comes to an operation of the OCI runtime or of a CNI
        plugin; kill the daemon there, with what it has called, and start it again.
        """
        wrapper.plan({operation: [FOR_EVER]})
        for call in calls:
            if self._comes_to(wrapper, call()):
                break
        else:
            blocked(f"no call came to {operation}")
        stuck = held(wrapper)
        with self.runtime.down(signal.SIGKILL):
            # a shim ends its command, though not what that has started, when its daemon is gone
            cut_off(stuck)
            wrapper.plan({})

    def _comes_to(self, wrapper: Wrapper, call: "grpc.Future[Any]") -> bool:
        self.runtime.eventually(
            "the call to be held, or to end", lambda: bool(held(wrapper)) or call.done(), seconds=30
        )
        return not call.done()

    def again(self, what: str, call: Callable[[], object]) -> None:
        """Make a call that must succeed in the end, as the kubelet does."""
        self.runtime.until_answered(what, call, AGAIN_SECONDS)

    def stop(self, sandbox_id: str) -> None:
        """Stop a sandbox."""
        stub, request = self.runtime.stub, cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        self.again("StopPodSandbox after a restart", lambda: stub.StopPodSandbox(request))

    def remove(self, sandbox_id: str) -> None:
        """Stop and remove a sandbox."""
        stub = self.runtime.stub
        self.stop(sandbox_id)
        remove = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        self.again("RemovePodSandbox after a restart", lambda: stub.RemovePodSandbox(remove))


@pytest.fixture
def midway(wrapped_runtime: OwnRuntime) -> Midway:
    """A runtime of the test's own whose daemon can be killed in the middle of a call."""
    return Midway(wrapped_runtime)


@pytest.fixture
def pod(midway: Midway) -> Sandbox:
    """A READY sandbox on it."""
    return midway.runtime.sandbox()


@requirement("RST-14")
@requires(Capability.POD_NETWORK)
def test_half_a_sandbox_is_not_in_the_way_after_a_restart(midway: Midway) -> None:
    """A sandbox that was being made when the daemon was killed MUST be gone afterwards, or listed and
    removable; the same pod can then be made.

    Source: ListPodSandbox, RemovePodSandbox, which removes whatever is listed, and PodSandboxMetadata. A pod
    that can be neither made nor removed needs a person.
    """
    stub, sandboxes = midway.runtime.stub, midway.runtime.sandboxes
    config = sandboxes.marked_config()
    midway.kill(midway.cni, "ADD", lambda: stub.RunPodSandbox.future(sandboxes.creation(config)))

    for half in sandboxes.made_from(config):
        midway.remove(half.id)
    assert sandboxes.made_from(config) == []
    midway.again("RunPodSandbox of the same pod", lambda: stub.RunPodSandbox(sandboxes.creation(config)))

    assert [entry.state for entry in sandboxes.made_from(config)] == [cri.SANDBOX_READY]


@requirement("RST-23/half")
@requires(Capability.POD_NETWORK)
def test_address_of_half_a_sandbox_is_given_back_after_a_restart(midway: Midway) -> None:
    """The address that a sandbox had got when the daemon was killed in the middle of making it MUST be free
    once what is listed of it is stopped.

    Source: StopPodSandbox, which reclaims what the sandbox has of the network. Not stated by the CRI for a
    restart; a node runs out of addresses.
    """
    stub, sandboxes = midway.runtime.stub, midway.runtime.sandboxes
    config = sandboxes.marked_config()
    # the plugin after the one that gives the address
    midway.kill(midway.cni, "portmap/ADD", lambda: stub.RunPodSandbox.future(sandboxes.creation(config)))

    for half in sandboxes.made_from(config):
        midway.stop(half.id)

    midway.runtime.eventually(
        "the address of half a sandbox to be given back",
        lambda: midway.runtime.daemon.leases,
        AGAIN_SECONDS,
        holds=lambda leases: not leases,
    )


@requirement("RST-14")
def test_half_a_container_is_not_in_the_way_after_a_restart(midway: Midway, pod: Sandbox) -> None:
    """A container that was being made or started when the daemon was killed MUST be gone afterwards, or
    listed and removable; the same container can then be made and started.

    Source: ListContainers, RemoveContainer, which removes whatever is listed, and ContainerMetadata. A pod
    would hang until it is deleted.
    """
    stub, containers = midway.runtime.stub, midway.runtime.containers
    config = containers.config()
    request = containers.creation(config, pod)

    def entries() -> list[cri.Container]:
        listed = stub.ListContainers(cri.ListContainersRequest()).containers
        return [entry for entry in listed if entry.metadata.name == config.metadata.name]

    midway.kill(
        midway.oci,
        "create",
        lambda: stub.CreateContainer.future(request),
        lambda: stub.StartContainer.future(
            cri.StartContainerRequest(container_id=the_one("the half", entries()).id)
        ),
    )

    for half in entries():
        removal = cri.RemoveContainerRequest(container_id=half.id)
        midway.again("RemoveContainer of the half", lambda removal=removal: stub.RemoveContainer(removal))  # type: ignore[misc]  # mypy cannot type a lambda's default
    assert entries() == []
    midway.again("CreateContainer of the same container", lambda: stub.CreateContainer(request))
    made = the_one("the container", entries()).id
    stub.StartContainer(cri.StartContainerRequest(container_id=made))

    assert [(entry.id, entry.state) for entry in entries()] == [(made, cri.CONTAINER_RUNNING)]


@requirement("RST-15")
def test_stop_of_a_container_that_was_cut_off_completes(midway: Midway, pod: Sandbox) -> None:
    """A container that was being stopped when the daemon was killed MUST be ended by a second StopContainer,
    and removed by RemoveContainer.

    Source: StopContainer, RemoveContainer, which may be repeated; the kubelet calls again.
    """
    container = midway.runtime.container(pod)
    stub = midway.runtime.stub
    stop = cri.StopContainerRequest(container_id=container.id, timeout=0)
    midway.kill(midway.oci, "kill", lambda: stub.StopContainer.future(stop))

    midway.again("StopContainer after a restart", lambda: stub.StopContainer(stop))
    assert container.state() == cri.CONTAINER_EXITED
    removal = cri.RemoveContainerRequest(container_id=container.id)
    midway.again("RemoveContainer after a restart", lambda: stub.RemoveContainer(removal))

    assert container.entries() == []


@requirement("RST-15")
@requires(Capability.POD_NETWORK)
def test_stop_of_a_sandbox_that_was_cut_off_completes(midway: Midway, pod: Sandbox) -> None:
    """A sandbox that was being stopped when the daemon was killed MUST be stopped and removed by the same
    calls again, and its address given back.

    Source: StopPodSandbox, which reclaims what the sandbox has of the network, RemovePodSandbox.
    """
    stub = midway.runtime.stub
    address = pod.status().network.ip
    stop = cri.StopPodSandboxRequest(pod_sandbox_id=pod.id)
    midway.kill(midway.cni, "DEL", lambda: stub.StopPodSandbox.future(stop))

    midway.remove(pod.id)

    assert pod.entries() == []
    assert address not in midway.runtime.daemon.leases
