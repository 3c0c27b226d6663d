"""CNC: reads of an object while a call changes it."""

import math

from critests.api import api_pb2 as cri
from critests.node.wrappers.actions import Delay
from critests.node.wrappers.hanging import sleeping
from critests.testing import (
    Container,
    Containers,
    FaultKind,
    Images,
    OwnRuntime,
    Registry,
    RegistryFault,
    Runtime,
    Scope,
    configured,
    disruptive,
    requirement,
    slow,
)
from critests.validation.runtime.concurrent_calls import READ_SECONDS, late_reads, settled

GRACE_SECONDS = 60
"""Grace period of a stop that is in progress during the reads, before scaling."""
STEP_SECONDS = 12.5
"""Duration of a step of the OCI runtime, before scaling: longer than `READ_SECONDS`, so that a read
that waits for it is late, and longer than the ten seconds after which a daemon may give the step up.
"""


def long_stop(runtime: Runtime, container: Container) -> cri.StopContainerRequest:
    """Return the request of a stop that lasts longer than the reads of the container."""
    seconds = math.ceil(GRACE_SECONDS * runtime.scale)
    return cri.StopContainerRequest(container_id=container.id, timeout=seconds)


def slow_step(runtime: Runtime) -> list[Delay]:
    """Return the action that makes a step of the OCI runtime slow."""
    return [Delay(STEP_SECONDS * runtime.scale)]


@requirement("CNC-16/stop")
@disruptive
def test_reads_of_a_container_return_while_it_is_stopped(own_runtime: OwnRuntime) -> None:
    """Status, statistics and lists of a container and its pod MUST be returned while a StopContainer of it is
    in progress.

    Source: StopContainerRequest.timeout. Not stated by the CRI; the kubelet reads the state of a pod while it
    terminates.
    """
    container = own_runtime.container(on_term="")
    stop = own_runtime.stub.StopContainer.future(long_stop(own_runtime, container))

    late = late_reads(own_runtime, container, stop)

    # the stop itself is not judged; clean-up kills the container
    stop.cancel()
    assert late == []


@requirement("CNC-16/stop")
def test_exec_sync_returns_while_its_container_is_being_stopped(
    runtime: Runtime, containers: Containers
) -> None:
    """ExecSync MUST return while a StopContainer of its container is in progress.

    Source: StopContainerRequest.timeout, ExecSync. Not stated by the CRI; probes go on during a stop.
    """
    container = containers.running(on_term="")
    stop = runtime.stub.StopContainer.future(long_stop(runtime, container))

    command = runtime.stub.ExecSync.future(
        container.exec_request("true"), timeout=2 * READ_SECONDS * runtime.scale
    )

    command.exception()
    stop.cancel()
    # an error counts as a response
    settled([command])


@requirement("CNC-16/start")
@disruptive
@configured(wrapped=True)
@slow
def test_reads_of_a_container_return_while_it_starts(own_runtime: OwnRuntime) -> None:
    """Status, statistics and lists of a container and its pod MUST be returned while a slow StartContainer is
    in progress.

    Source: StartContainer. Not stated by the CRI; the kubelet lists all the time.
    """
    container = own_runtime.containers.created()

    with own_runtime.oci.planned({"start": slow_step(own_runtime)}):
        start = own_runtime.stub.StartContainer.future(cri.StartContainerRequest(container_id=container.id))
        late = late_reads(own_runtime, container, start, until_it_ends=True)
        start.result()

    assert late == []
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("CNC-16/start")
@disruptive
@configured(wrapped=True)
@slow
def test_lists_return_while_a_sandbox_is_created(own_runtime: OwnRuntime) -> None:
    """Lists and Status MUST be returned while a slow RunPodSandbox is in progress.

    Source: RunPodSandbox. Not stated by the CRI; the kubelet lists all the time.
    """
    container, config = own_runtime.container(), own_runtime.sandboxes.config()

    with own_runtime.oci.planned({"create": slow_step(own_runtime)}):
        run = own_runtime.stub.RunPodSandbox.future(own_runtime.sandboxes.creation(config))
        late = late_reads(own_runtime, container, run, until_it_ends=True)
        response = run.result()

    own_runtime.sandboxes.adopt(response.pod_sandbox_id, config)
    assert late == []


@requirement("CNC-16/removal")
@disruptive
@configured(wrapped=True)
@slow
def test_reads_of_a_container_return_while_it_is_removed(own_runtime: OwnRuntime) -> None:
    """Status, statistics and lists of a container and its pod MUST be returned while a slow RemoveContainer
    is in progress, for as long as it takes.

    Source: RemoveContainer. Not stated by the CRI; the kubelet lists all the time.
    """
    container = own_runtime.container()
    (delay,) = slow_step(own_runtime)

    with own_runtime.oci.planned({"delete": [delay]}):
        removal = own_runtime.stub.RemoveContainer.future(
            cri.RemoveContainerRequest(container_id=container.id)
        )
        # only the first deletion is slow: a daemon may give it up and try again
        own_runtime.eventually("the deletion to begin", lambda: sleeping(delay) or removal.done())
    late = late_reads(own_runtime, container, removal, until_it_ends=True)

    settled([removal])
    assert late == []


@requirement("CNC-16/pull")
def test_reads_of_images_return_while_one_is_pulled(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """ImageStatus of an image, ListImages and ImageFsInfo MUST return while that image is being pulled.

    Source: PullImage. Not stated by the CRI; the kubelet calls ImageStatus for each container that it starts.
    """
    minted = registry.mint()
    registry.fault(minted, RegistryFault(kind=FaultKind.STALL, scope=Scope.LAYER))
    pull = runtime.images.PullImage.future(images.pull_request(minted.reference))
    runtime.eventually(
        "a stalled request for a layer", lambda: [each for each in registry.requests(minted) if each.fault]
    )

    status = images.look_up(minted.reference)
    runtime.images.ListImages(cri.ListImagesRequest())
    runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())

    assert status is None
    assert not pull.done()
    registry.clear_faults(minted)
    pull.result()
