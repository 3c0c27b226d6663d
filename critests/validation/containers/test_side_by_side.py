"""CTR: several containers of a pod, and containers whose image or sandbox configuration changes."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    Registry,
    Runtime,
    Sandbox,
    lingering,
    may_be_refused,
    requirement,
    requires,
)


@requirement("CTR-34")
@pytest.mark.parametrize("kind", ["net", "ipc"])
def test_containers_of_a_pod_share_its_namespaces(
    running_container: Container, containers: Containers, kind: str
) -> None:
    """Containers of one sandbox MUST share its network namespace and, if requested, its IPC namespace.

    Source: NamespaceOption.network and ipc.
    """
    neighbour = containers.running()

    # the text of the link has the inode of the namespace, which identifies it
    namespaces = [each.output("readlink", f"/proc/self/ns/{kind}") for each in (running_container, neighbour)]

    assert namespaces[0] == namespaces[1]


@requirement("CTR-34")
def test_the_exit_of_one_container_leaves_the_others_running(
    runtime: Runtime, running_container: Container, containers: Containers
) -> None:
    """A container MUST NOT be affected by the exit of another one in the same sandbox.

    Source: ContainerStatus.state.
    """
    exiting = containers.running()
    started_at = running_container.status().started_at

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=exiting.id, timeout=0))

    assert exiting.state() == cri.CONTAINER_EXITED
    after = running_container.status()
    assert (after.state, after.started_at) == (cri.CONTAINER_RUNNING, started_at)
    assert running_container.output("echo", "alive") == "alive"


@requirement("CTR-35")
@requires(Capability.SAME_HOST)
def test_a_container_runs_after_one_that_completed(containers: Containers, host_folder: Path) -> None:
    """A container MUST run after another one in the same sandbox has exited, and see the files that it has
    written to a common mount.

    Source: CreateContainer, ContainerConfig.mounts; init containers rely on it.
    """
    mounts = [cri.Mount(container_path="/shared", host_path=str(host_folder))]
    first = containers.exited(script=lingering("echo prepared > /shared/note"), mounts=mounts)

    second = containers.exited(script=lingering("cat /shared/note"), mounts=mounts)

    assert first.status().exit_code == 0
    assert second.final_log_lines() == ["prepared"]


@requirement("CTR-36")
def test_a_container_continues_when_its_image_is_removed(
    runtime: Runtime, registry: Registry, containers: Containers
) -> None:
    """A container SHOULD continue to run when its image is removed, and ContainerStatus SHOULD still report
    the image.

    Source: RemoveImage, ContainerStatus.image_ref. A runtime may reject the removal of an image in use.
    """
    # an image of this test alone, which no other test needs
    name = registry.pull(registry.mint())
    container = containers.running(image=name)

    with may_be_refused():
        runtime.images.RemoveImage(cri.RemoveImageRequest(image=cri.ImageSpec(image=name.written)))

    status = container.status()
    assert status.state == cri.CONTAINER_RUNNING
    assert status.image_ref
    assert container.output("echo", "alive") == "alive"


@requirement("CTR-38")
def test_create_container_does_not_change_its_sandbox(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """CreateContainer SHOULD NOT apply a `sandbox_config` that differs from the sandbox's own to the sandbox.

    Source: CreateContainerRequest.sandbox_config, which the CRI calls immutable for the lifetime of the
    sandbox.
    """
    before = own_sandbox.status()
    request = containers.creation(containers.config(), own_sandbox)
    # the CRI requires the configuration of RunPodSandbox; this one differs on purpose
    request.sandbox_config.labels["later"] = "label"
    request.sandbox_config.annotations["later"] = "annotation"

    response = runtime.stub.CreateContainer(request)

    containers.adopt(response.container_id, request.config, own_sandbox)
    after = own_sandbox.status()
    assert (after.labels, after.annotations, after.metadata) == (
        before.labels,
        before.annotations,
        before.metadata,
    )
