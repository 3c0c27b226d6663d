"""RST: what outlives that the daemon's program is exchanged for that of a newer release."""

import signal
from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.own_runtime import OwnRuntime, shaped_for_module
from critests.fixtures.runtime import Runtime
from critests.run.context import Shape
from critests.run.marks import disruptive, requirement
from critests.run.outcomes import Blocked, unsupported
from critests.validation.runtime.survivors import IN_EVERY_STATE, Survivors, birth, surviving

pytestmark = disruptive

KEPT = ("metadata", "state", "created_at", "labels", "annotations", "log_path", "exit_code", "finished_at")
"""What is told of a container by every release; a newer one may tell more."""


@pytest.fixture(scope="module")
def older_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that is started with the program of an earlier release."""
    before = runtime.context.settings.upgrade_from
    if before is None:
        unsupported("an upgrade: --upgrade-from names no program of an earlier release")
    with shaped_for_module(request, runtime, Shape(before=before)) as own:
        yield own


@pytest.fixture(scope="module")
def upgraded(older_runtime: OwnRuntime) -> Iterator[Survivors]:
    """Sandboxes and containers in every state that the earlier release made, and the release under test
    found.
    """
    with surviving(older_runtime, signal.SIGTERM, older_runtime.exchange) as found:
        if found.failure:
            raise Blocked(found.failure, by="RST-01")
        yield found


@requirement("RST-19")
def test_a_running_container_outlives_an_upgrade(upgraded: Survivors) -> None:
    """A running container SHOULD go on as the same process when the daemon is followed by one of a newer
    release, and commands can be run in it.

    Source: not stated by the CRI; the kubelet relies on it whenever a runtime is upgraded.
    """
    container = upgraded.container("running")
    request = cri.ContainerStatusRequest(container_id=container.id)

    answer = upgraded.runtime.stub.ContainerStatus(request)

    assert answer.status.state == cri.CONTAINER_RUNNING
    assert birth(container) == upgraded.born


@requirement("RST-19")
@pytest.mark.parametrize("state", IN_EVERY_STATE)
def test_what_is_told_of_a_container_outlives_an_upgrade(upgraded: Survivors, state: str) -> None:
    """What was told of a container SHOULD be told by a newer release too.

    Source: ContainerStatus; the kubelet decides by it what to do with a pod.
    """
    container = upgraded.container(state)
    request = cri.ContainerStatusRequest(container_id=container.id)

    now = upgraded.runtime.stub.ContainerStatus(request).status

    before = upgraded.said[container.id]
    assert {name: getattr(now, name) for name in KEPT} == {name: getattr(before, name) for name in KEPT}


@requirement("RST-19")
def test_a_sandbox_outlives_an_upgrade(upgraded: Survivors) -> None:
    """A sandbox SHOULD be READY under a newer release too with the address that it had, and take new
    containers, made of the images that are there.

    Source: PodSandboxStatus, CreateContainer.
    """
    request = cri.PodSandboxStatusRequest(pod_sandbox_id=upgraded.pod.id)

    now = upgraded.runtime.stub.PodSandboxStatus(request).status

    before = upgraded.said[upgraded.pod.id]
    assert isinstance(before, cri.PodSandboxStatus)
    assert now.state == cri.SANDBOX_READY
    assert (now.network, now.labels) == (before.network, before.labels)
    containers = upgraded.runtime.containers
    fresh = containers.attempt(containers.config(), in_sandbox=upgraded.pod)
    assert fresh.state() == cri.CONTAINER_RUNNING


@requirement("RST-19")
def test_a_container_of_before_an_upgrade_can_be_removed(upgraded: Survivors) -> None:
    """A container that runs SHOULD be stopped and removed by a newer release, and then be gone.

    Source: StopContainer, RemoveContainer.
    """
    container = upgraded.take("to stop")
    stub = upgraded.runtime.stub

    stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))
    stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []
