"""CTR: containers beside one another, after one another, and beside what changes around them."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers, lingering
from critests.fixtures.images import Registry
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires


@requirement("CTR-34")
@pytest.mark.parametrize("kind", ["net", "ipc"])
def test_containers_of_a_pod_share_its_namespaces(
    running_container: Container, containers: Containers, kind: str
) -> None:
    """Containers of one sandbox MUST share its network namespace and, where asked for, its IPC namespace.

    Source: NamespaceOption.network and ipc.
    """
    neighbour = containers.running()

    seen = [each.output("readlink", f"/proc/self/ns/{kind}") for each in (running_container, neighbour)]

    assert seen[0] == seen[1]


@requirement("CTR-34")
def test_the_end_of_one_container_leaves_its_neighbour_running(
    runtime: Runtime, running_container: Container, containers: Containers
) -> None:
    """The end of one container MUST NOT affect another one of the same sandbox.

    Source: ContainerStatus.state.
    """
    ending = containers.running()
    started_at = running_container.status().started_at

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=ending.id, timeout=0))

    assert ending.state() == cri.CONTAINER_EXITED
    after = running_container.status()
    assert (after.state, after.started_at) == (cri.CONTAINER_RUNNING, started_at)
    assert running_container.output("echo", "alive") == "alive"


@requirement("CTR-35")
@requires(Capability.SAME_HOST)
def test_a_container_follows_one_that_ran_to_its_end(containers: Containers, host_folder: Path) -> None:
    """A container MUST be able to run after another one in the same sandbox has ended, and see what that one
    left in their mount.

    Source: CreateContainer, ContainerConfig.mounts; it is how init containers work.
    """
    mounts = [cri.Mount(container_path="/shared", host_path=str(host_folder))]
    first = containers.exited(script=lingering("echo prepared > /shared/note"), mounts=mounts)

    second = containers.exited(script=lingering("cat /shared/note"), mounts=mounts)

    assert first.status().exit_code == 0
    assert second.final_log_lines() == ["prepared"]


@requirement("CTR-36")
def test_a_container_outlives_the_name_of_its_image(
    runtime: Runtime, registry: Registry, containers: Containers
) -> None:
    """A container SHOULD keep running, and its status SHOULD keep naming its image, when the image is removed
    under it.

    Source: RemoveImage, ContainerStatus.image_ref. That a runtime refuses to remove an image in use is left
    open.
    """
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
    """A sandbox configuration handed to CreateContainer that differs from the sandbox's own SHOULD NOT be
    applied to the sandbox.

    Source: CreateContainerRequest.sandbox_config, which the CRI calls immutable for the life of the sandbox.
    """
    before = own_sandbox.status()
    request = containers.creation(containers.config(), own_sandbox)
    # the CRI asks for the very configuration of RunPodSandbox; this one differs on purpose
    request.sandbox_config.labels["later"] = "label"
    request.sandbox_config.annotations["later"] = "annotation"

    answer = runtime.stub.CreateContainer(request)

    containers.adopt(answer.container_id, request.config, own_sandbox)
    after = own_sandbox.status()
    assert (after.labels, after.annotations, after.metadata) == (
        before.labels,
        before.annotations,
        before.metadata,
    )
