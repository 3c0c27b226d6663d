"""RST: objects survive an upgrade of the daemon to a newer release."""

import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Blocked,
    Capability,
    OwnRuntime,
    Runtime,
    RuntimeSetup,
    disruptive,
    remains_of,
    requirement,
    requires,
    start_configured,
    unsupported,
)
from critests.validation.runtime import test_after_a_restart as after
from critests.validation.runtime import test_restart as over
from critests.validation.runtime.survivors import IN_EVERY_STATE, Survivors, survivors_of_restart

pytestmark = disruptive

PROMISES = [
    pytest.param(over.test_running_container_survives_a_restart, id="running container"),
    pytest.param(over.test_stopped_sandbox_survives_a_restart, id="stopped sandbox"),
    pytest.param(over.test_exit_of_a_container_is_retained_over_a_restart, id="exit"),
    pytest.param(over.test_exit_without_a_daemon_is_reported, id="exit without a daemon"),
    pytest.param(
        over.test_sandbox_whose_process_died_without_a_daemon_is_not_ready,
        marks=requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT),
        id="sandbox without its process",
    ),
    pytest.param(over.test_images_survive_a_restart, id="images"),
    pytest.param(over.test_updated_limits_stay_in_force_over_a_restart, id="limits"),
    pytest.param(after.test_exec_sync_works_after_a_restart, id="ExecSync"),
    pytest.param(after.test_stats_are_reported_after_a_restart, id="stats"),
    pytest.param(after.test_resources_can_be_updated_after_a_restart, id="update"),
    pytest.param(after.test_logs_can_be_rotated_after_a_restart, id="log"),
    pytest.param(after.test_created_container_can_be_started_or_removed_after_a_restart, id="start"),
    pytest.param(after.test_name_of_a_container_stays_reserved_over_a_restart, id="name"),
    pytest.param(after.test_stop_interrupted_by_a_restart_can_be_repeated, id="interrupted stop"),
    pytest.param(after.test_stop_honours_the_grace_period_after_a_restart, id="stop"),
    pytest.param(after.test_containers_can_be_removed_after_a_restart, id="removal"),
    pytest.param(
        partial(after.test_address_of_a_sandbox_is_released_after_a_restart, name="without process"),
        marks=requires(Capability.POD_NETWORK),
        id="address",
    ),
]
"""Tests of a restart that hold for objects of an earlier release, too."""
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
@pytest.mark.parametrize("promise", PROMISES)
def test_promise_of_a_restart_holds_over_an_upgrade(
    upgraded: Survivors, promise: Callable[[Survivors], None]
) -> None:
    """What holds over a restart of the daemon SHOULD hold over an upgrade, too: containers run on, and exits,
    images and limits are retained; ExecSync, ContainerStats, UpdateContainerResources, ReopenContainerLog,
    StartContainer, StopContainer and RemoveContainer work; addresses are released.

    Source: the promises are those of RST-01 to RST-23. Not stated by the CRI for an upgrade; the kubelet
    relies on it.
    """
    promise(upgraded)


@requirement("RST-19")
@requires(Capability.SHARED_KERNEL)
def test_pod_leaves_nothing_when_it_is_removed_after_an_upgrade(upgraded: Survivors) -> None:
    """StopPodSandbox and RemovePodSandbox SHOULD leave no process, mount and cgroup of a pod that an earlier
    release created, its shim or monitor included.

    Source: StopPodSandbox, RemovePodSandbox.
    """
    pod, container = upgraded.take_sandbox("sandbox to stop"), upgraded.take("in the sandbox to stop")
    stub = upgraded.runtime.stub

    stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))

    assert (pod.entries(), container.entries()) == ([], [])
    upgraded.runtime.eventually(
        "the traces of the pod to go",
        lambda: remains_of(pod.id, container.id),
        holds=lambda left: not left,
    )
