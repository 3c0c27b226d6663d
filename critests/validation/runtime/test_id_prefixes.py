"""GEN: ids that are not complete."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    INSIDE,
    Capability,
    CgroupValues,
    Container,
    Containers,
    ImageName,
    Runtime,
    Sandbox,
    Sandboxes,
    SharedContainers,
    refused_with,
    requirement,
    requires,
    unsupported,
)

SHORT = 12
"""Digits of the short form of an id, as `docker ps` and `crictl ps` print it."""
SAME_START = 17
"""So many ids have at least two that begin with the same hexadecimal digit."""
MARKED = 'echo "$MARK"'
SHARES = cri.LinuxContainerResources(cpu_shares=777)


@dataclass(frozen=True)
class AboutAnObject:
    """An RPC about one sandbox or container.

    Attributes:
        request: its request, for an id.
        done: whether the call had its effect on an object, from the object and the response.
        state: of a container before the call.
    """

    request: Callable[[str], Any]
    done: Callable[[Any, Any], bool]
    state: "cri.ContainerState" = cri.CONTAINER_RUNNING


def _shares(container: Container) -> bool:
    return CgroupValues.printed(container.output("/bin/sh", "-c", INSIDE)).has_shares(SHARES.cpu_shares)


def _mark(container: Container) -> bytes:
    # values of variables are bytes in the suite's messages
    return {each.key: each.value for each in container.config.envs}["MARK"]


CONTAINERS: dict[str, AboutAnObject] = {
    "ContainerStatus": AboutAnObject(
        lambda name: cri.ContainerStatusRequest(container_id=name),
        lambda container, response: response.status.id == container.id,
    ),
    "ContainerStats": AboutAnObject(
        lambda name: cri.ContainerStatsRequest(container_id=name),
        lambda container, response: response.stats.attributes.id == container.id,
    ),
    "ListContainers": AboutAnObject(
        lambda name: cri.ListContainersRequest(filter=cri.ContainerFilter(id=name)),
        lambda container, response: [each.id for each in response.containers] == [container.id],
    ),
    "ListContainerStats": AboutAnObject(
        lambda name: cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(id=name)),
        lambda container, response: [each.attributes.id for each in response.stats] == [container.id],
    ),
    "ExecSync": AboutAnObject(
        lambda name: cri.ExecSyncRequest(container_id=name, cmd=["/bin/sh", "-c", MARKED], timeout=20),
        lambda container, response: response.stdout.strip() == _mark(container),
    ),
    "UpdateContainerResources": AboutAnObject(
        lambda name: cri.UpdateContainerResourcesRequest(container_id=name, linux=SHARES),
        lambda container, _: _shares(container),
    ),
    "StartContainer": AboutAnObject(
        lambda name: cri.StartContainerRequest(container_id=name),
        lambda container, _: container.state() == cri.CONTAINER_RUNNING,
        cri.CONTAINER_CREATED,
    ),
    "StopContainer": AboutAnObject(
        lambda name: cri.StopContainerRequest(container_id=name, timeout=10),
        lambda container, _: container.state() == cri.CONTAINER_EXITED,
    ),
    "RemoveContainer": AboutAnObject(
        lambda name: cri.RemoveContainerRequest(container_id=name),
        lambda container, _: not container.entries(),
        cri.CONTAINER_CREATED,
    ),
}
SANDBOXES: dict[str, AboutAnObject] = {
    "PodSandboxStatus": AboutAnObject(
        lambda name: cri.PodSandboxStatusRequest(pod_sandbox_id=name),
        lambda pod, response: response.status.id == pod.id,
    ),
    "ListPodSandbox": AboutAnObject(
        lambda name: cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=name)),
        lambda pod, response: [each.id for each in response.items] == [pod.id],
    ),
    "StopPodSandbox": AboutAnObject(
        lambda name: cri.StopPodSandboxRequest(pod_sandbox_id=name),
        lambda pod, _: pod.state() == cri.SANDBOX_NOTREADY,
    ),
    "RemovePodSandbox": AboutAnObject(
        lambda name: cri.RemovePodSandboxRequest(pod_sandbox_id=name),
        lambda pod, _: not pod.entries(),
    ),
}
POD_STATS: dict[str, AboutAnObject] = {
    "PodSandboxStats": AboutAnObject(
        lambda name: cri.PodSandboxStatsRequest(pod_sandbox_id=name),
        lambda pod, response: response.stats.attributes.id == pod.id,
    ),
    "ListPodSandboxStats": AboutAnObject(
        lambda name: cri.ListPodSandboxStatsRequest(filter=cri.PodSandboxStatsFilter(id=name)),
        lambda pod, response: [each.attributes.id for each in response.stats] == [pod.id],
    ),
}
ABOUT_SANDBOXES = [
    *SANDBOXES,
    *(pytest.param(rpc, marks=requires(Capability.POD_STATS)) for rpc in POD_STATS),
]
BY_SANDBOX: dict[str, AboutAnObject] = {
    "ListContainers": AboutAnObject(
        lambda name: cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=name)),
        lambda container, response: [each.id for each in response.containers] == [container.id],
    ),
    "ListContainerStats": AboutAnObject(
        lambda name: cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(pod_sandbox_id=name)),
        lambda container, response: [each.attributes.id for each in response.stats] == [container.id],
    ),
}


def assert_found(
    runtime: Runtime,
    rpc: str,
    about: AboutAnObject,
    name: str,
    each: Any,  # noqa: ANN401 - a sandbox or a container
) -> None:
    """Assert that a call with the prefix of an id has its effect on the object, if the runtime accepts it."""
    try:
        response = getattr(runtime.stub, rpc)(about.request(name))
    except grpc.RpcError as error:
        code = refused_with(error, grpc.StatusCode.UNAVAILABLE)
        unsupported(f"id prefixes: {SHORT} digits are refused with {code.name}")
    done = about.done(each, response)
    # a list is empty then; an unknown object has nothing to stop or to remove
    if not done and response == type(response)():
        unsupported(f"id prefixes: {rpc} finds nothing with {SHORT} digits")
    assert done


def selected(runtime: Runtime, rpc: str, about: AboutAnObject, name: str, objects: list[Any]) -> list[str]:
    """Return the ids of the objects on which a call with a part of an id has its effect."""
    try:
        response = getattr(runtime.stub, rpc)(about.request(name))
    except grpc.RpcError as error:
        refused_with(error, grpc.StatusCode.UNAVAILABLE)
        return []
    return [each.id for each in objects if about.done(each, response)]


@requirement("GEN-10")
@pytest.mark.parametrize("rpc", CONTAINERS)
def test_prefix_of_a_container_id_finds_the_container(
    runtime: Runtime, containers: Containers, rpc: str
) -> None:
    """An RPC about a container MAY accept a unique prefix of its id; if it does, it is about that container.

    Source: ContainerStatusRequest.container_id; the CRI does not mention prefixes.
    """
    about = CONTAINERS[rpc]
    container = containers.in_state(about.state, envs={"MARK": "this one"})

    assert_found(runtime, rpc, about, container.id[:SHORT], container)


@requirement("GEN-10")
@pytest.mark.parametrize("rpc", ABOUT_SANDBOXES)
def test_prefix_of_a_sandbox_id_finds_the_sandbox(runtime: Runtime, sandboxes: Sandboxes, rpc: str) -> None:
    """An RPC about a sandbox MAY accept a unique prefix of its id; if it does, it is about that sandbox.

    Source: PodSandboxStatusRequest.pod_sandbox_id; the CRI does not mention prefixes.
    """
    about = (SANDBOXES | POD_STATS)[rpc]
    pod = sandboxes.in_state(cri.SANDBOX_NOTREADY if rpc == "RemovePodSandbox" else cri.SANDBOX_READY)

    assert_found(runtime, rpc, about, pod.id[:SHORT], pod)


@requirement("GEN-10")
@pytest.mark.parametrize("rpc", BY_SANDBOX)
def test_prefix_of_a_sandbox_id_finds_its_containers(
    runtime: Runtime, containers: Containers, own_sandbox: Sandbox, rpc: str
) -> None:
    """A filter MAY accept a unique prefix of a sandbox's id; if it does, it matches the sandbox's containers.

    Source: ContainerFilter.pod_sandbox_id, ContainerStatsFilter.pod_sandbox_id; the CRI does not mention
    prefixes.
    """
    container = containers.running(in_sandbox=own_sandbox)

    assert_found(runtime, rpc, BY_SANDBOX[rpc], own_sandbox.id[:SHORT], container)


@requirement("GEN-10")
def test_container_is_created_in_the_sandbox_of_a_prefix(
    runtime: Runtime, containers: Containers, own_sandbox: Sandbox
) -> None:
    """CreateContainer MAY accept a unique prefix of a sandbox's id; if it does, the container is in that
    sandbox, and ListContainers reports the whole id.

    Source: CreateContainerRequest.pod_sandbox_id, Container.pod_sandbox_id.
    """
    request = containers.creation(containers.config(), own_sandbox)
    request.pod_sandbox_id = own_sandbox.id[:SHORT]

    try:
        created = runtime.stub.CreateContainer(request).container_id
    except grpc.RpcError as error:
        unsupported(f"id prefixes: {SHORT} digits are refused with {refused_with(error).name}")

    container = containers.adopt(created, request.config, own_sandbox)
    assert container.entry().pod_sandbox_id == own_sandbox.id


@requirement("GEN-10")
def test_prefix_of_an_image_id_finds_the_image(runtime: Runtime, image: ImageName) -> None:
    """ImageStatus MAY accept a unique prefix of an image's id; if it does, it returns that image.

    Source: ImageSpec.image, which is an id or a reference.
    """
    whole = runtime.images.ImageStatus(cri.ImageStatusRequest(image=image.spec())).image.id
    digits = whole.removeprefix("sha256:")[:SHORT]

    response = runtime.images.ImageStatus(cri.ImageStatusRequest(image=cri.ImageSpec(image=digits)))

    if not response.image.id:
        unsupported(f"id prefixes: ImageStatus finds nothing with {SHORT} digits")
    assert response.image.id == whole


@pytest.fixture
def alike_containers(shared_containers: SharedContainers) -> list[Container]:
    """Running containers of which at least two have ids that begin with the same digit."""
    found: dict[str, Container] = {}
    for number in range(SAME_START):
        container = shared_containers.container(envs={"MARK": str(number)})
        other = found.setdefault(container.id[0], container)
        if other is not container:
            return [other, container]
    msg = "the ids of containers are no hexadecimal numbers"
    raise AssertionError(msg)


@pytest.fixture
def alike_sandboxes(shared_containers: SharedContainers) -> list[Sandbox]:
    """READY sandboxes of which at least two have ids that begin with the same digit."""
    found: dict[str, Sandbox] = {}
    for number in range(SAME_START):
        pod = shared_containers.sandbox(annotations={"number": str(number)})
        assert pod.state() == cri.SANDBOX_READY
        other = found.setdefault(pod.id[0], pod)
        if other is not pod:
            return [other, pod]
    msg = "the ids of sandboxes are no hexadecimal numbers"
    raise AssertionError(msg)


@requirement("GEN-11")
@pytest.mark.parametrize("rpc", [rpc for rpc in CONTAINERS if CONTAINERS[rpc].state == cri.CONTAINER_RUNNING])
def test_common_digit_of_containers_selects_none(
    runtime: Runtime, alike_containers: list[Container], rpc: str
) -> None:
    """A digit with which the ids of several containers begin SHOULD NOT select one of them.

    Source: ContainerStatusRequest.container_id: it names no container.
    """
    digit = alike_containers[0].id[0]

    assert selected(runtime, rpc, CONTAINERS[rpc], digit, alike_containers) == []


@requirement("GEN-11")
@pytest.mark.parametrize("rpc", [rpc for rpc in ABOUT_SANDBOXES if rpc != "RemovePodSandbox"])
def test_common_digit_of_sandboxes_selects_none(
    runtime: Runtime, alike_sandboxes: list[Sandbox], rpc: str
) -> None:
    """A digit with which the ids of several sandboxes begin SHOULD NOT select one of them.

    Source: PodSandboxStatusRequest.pod_sandbox_id: it names no sandbox.
    """
    digit = alike_sandboxes[0].id[0]

    assert selected(runtime, rpc, (SANDBOXES | POD_STATS)[rpc], digit, alike_sandboxes) == []
