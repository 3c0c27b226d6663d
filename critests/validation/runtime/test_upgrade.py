"""RST: objects survive an upgrade of the daemon to a newer release."""

import signal
from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Blocked,
    OwnRuntime,
    Runtime,
    RuntimeSetup,
    disruptive,
    requirement,
    start_configured,
    unsupported,
)
from critests.validation.runtime.survivors import (
    IN_EVERY_STATE,
    Survivors,
    process_start_of,
    survivors_of_restart,
)

pytestmark = disruptive

FIELDS = ("metadata", "state", "created_at", "labels", "annotations", "log_path", "exit_code", "finished_at")
"""Fields of ContainerStatus that every release reports; a newer one may report more."""


@pytest.fixture(scope="module")
def older_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that is started with the binary of an earlier release."""
    before = runtime.context.settings.upgrade_from
    if before is None:
        unsupported("an upgrade: --upgrade-from names no program of an earlier release")
    with start_configured(request, runtime, RuntimeSetup(before=before)) as own:
        yield own


@pytest.fixture(scope="module")
def upgraded(older_runtime: OwnRuntime) -> Iterator[Survivors]:
    """Sandboxes and containers in every state, created by the earlier release and found by the release under
    test.
    """
    with survivors_of_restart(older_runtime, signal.SIGTERM, older_runtime.exchange) as survivors:
        if survivors.failure:
            raise Blocked(survivors.failure, by="RST-01")
        yield survivors


@requirement("RST-19")
def test_running_container_survives_an_upgrade(upgraded: Survivors) -> None:
    """A running container SHOULD keep running as the same process over an upgrade of the daemon, and ExecSync
    SHOULD work in it.

    Source: not stated by the CRI; the kubelet relies on it whenever a runtime is upgraded.
    """
    container = upgraded.container("running")
    request = cri.ContainerStatusRequest(container_id=container.id)

    response = upgraded.runtime.stub.ContainerStatus(request)

    assert response.status.state == cri.CONTAINER_RUNNING
    assert process_start_of(container) == upgraded.process_start


@requirement("RST-19")
@pytest.mark.parametrize("state", IN_EVERY_STATE)
def test_status_of_a_container_is_unchanged_after_an_upgrade(upgraded: Survivors, state: str) -> None:
    """ContainerStatus SHOULD report the same fields of a container after an upgrade of the daemon.

    Source: ContainerStatus, by which the kubelet decides what to do with a pod.
    """
    container = upgraded.container(state)
    request = cri.ContainerStatusRequest(container_id=container.id)

    now = upgraded.runtime.stub.ContainerStatus(request).status

    before = upgraded.statuses[container.id]
    assert {name: getattr(now, name) for name in FIELDS} == {name: getattr(before, name) for name in FIELDS}


@requirement("RST-19")
def test_sandbox_survives_an_upgrade(upgraded: Survivors) -> None:
    """A sandbox SHOULD be READY after an upgrade of the daemon, with the same address, and CreateContainer
    SHOULD work in it with existing images.

    Source: PodSandboxStatus, CreateContainer.
    """
    request = cri.PodSandboxStatusRequest(pod_sandbox_id=upgraded.pod.id)

    now = upgraded.runtime.stub.PodSandboxStatus(request).status

    before = upgraded.statuses[upgraded.pod.id]
    assert isinstance(before, cri.PodSandboxStatus)
    assert now.state == cri.SANDBOX_READY
    assert (now.network, now.labels) == (before.network, before.labels)
    containers = upgraded.runtime.containers
    fresh = containers.attempt(containers.config(), in_sandbox=upgraded.pod)
    assert fresh.state() == cri.CONTAINER_RUNNING


@requirement("RST-19")
def test_container_can_be_removed_after_an_upgrade(upgraded: Survivors) -> None:
    """A running container SHOULD be stopped and removed by StopContainer and RemoveContainer after an upgrade
    of the daemon.

    Source: StopContainer, RemoveContainer.
    """
    container = upgraded.take("to stop")
    stub = upgraded.runtime.stub

    stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))
    stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []
