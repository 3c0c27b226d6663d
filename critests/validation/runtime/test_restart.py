"""RST: state that a restart of the daemon must not change, and events that happen while it is down."""

import time

import pytest

from critests.api import api_pb2 as cri
from critests.node.cgroups import container_cgroup
from critests.testing import (
    CLOCKS_DIFFER_NS,
    Capability,
    CgroupValues,
    Container,
    RecordVariant,
    disruptive,
    requirement,
    requires,
)
from critests.validation.runtime.survivors import (
    EXITED_CODE,
    EXITED_MEANWHILE_CODE,
    IN_EVERY_STATE,
    UPDATED_RESOURCES,
    Survivors,
    differences,
    process_start_of,
)

pytestmark = disruptive

in_every_state = pytest.mark.parametrize("state", IN_EVERY_STATE)


def status_of(survivors: Survivors, container: Container) -> cri.ContainerStatus:
    """Return the restarted daemon's ContainerStatus of an existing container."""
    request = cri.ContainerStatusRequest(container_id=container.id)
    return survivors.runtime.stub.ContainerStatus(request).status


@requirement("RST-01")
def test_running_container_survives_a_restart(restarted: Survivors) -> None:
    """A running container MUST keep running over a restart of the daemon, as the same process.

    Source: StopContainer and StopPodSandbox: apart from them only its own process ends a container. The
    kubelet relies on it whenever a runtime is upgraded.
    """
    assert not restarted.failure
    container = restarted.container("running")

    response = status_of(restarted, container)

    assert cri.ContainerState.Name(response.state) == "CONTAINER_RUNNING"
    assert process_start_of(container) == restarted.process_start, (
        "its first process is not the same one after the restart"
    )


@requirement("RST-02")
def test_ready_sandbox_survives_a_restart(survivors: Survivors) -> None:
    """A READY sandbox MUST stay READY over a restart of the daemon, and PodSandboxStatus MUST report the same
    as before.

    Source: PodSandboxStatus; StopPodSandbox, without which a sandbox stays READY. The kubelet creates a new
    pod if the status differs.
    """
    pod = survivors.pod

    response = survivors.runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id))

    assert cri.PodSandboxState.Name(response.status.state) == "SANDBOX_READY"
    assert differences(survivors.statuses[pod.id], response.status) == {}


@requirement("RST-03")
def test_stopped_sandbox_survives_a_restart(survivors: Survivors) -> None:
    """A stopped sandbox MUST still be listed as NOTREADY after a restart of the daemon.

    Source: PodSandboxState. Not stated by the CRI; the kubelet removes old pods later.
    """
    pod = survivors.sandbox("stopped")
    only = cri.PodSandboxFilter(id=pod.id)

    items = survivors.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest(filter=only)).items

    assert [item.state for item in items] == [cri.SANDBOX_NOTREADY]


@requirement("RST-04/form")
def test_state_of_a_created_container_after_a_restart(
    survivors: Survivors, record_variant: RecordVariant
) -> None:
    """A created container MAY be reported as CREATED, EXITED or UNKNOWN after a restart of the daemon.

    Source: ContainerState; the CRI does not say which.
    """
    state = cri.ContainerState.Name(status_of(survivors, survivors.container("created")).state)

    record_variant(state)
    assert state in {"CONTAINER_CREATED", "CONTAINER_EXITED", "CONTAINER_UNKNOWN"}


@requirement("RST-05")
def test_exit_of_a_container_is_retained_over_a_restart(survivors: Survivors) -> None:
    """An exited container MUST retain its exit code, reason and finished_at over a restart of the daemon.

    Source: ContainerStatus.exit_code, reason and finished_at of an exited container, whatever daemon created
    it. The kubelet decides by them whether to start it again.
    """
    container = survivors.container("exited")
    before = survivors.statuses[container.id]
    assert isinstance(before, cri.ContainerStatus)

    response = status_of(survivors, container)

    assert cri.ContainerState.Name(response.state) == "CONTAINER_EXITED"
    assert (response.exit_code, response.reason, response.finished_at) == (
        EXITED_CODE,
        before.reason,
        before.finished_at,
    )


@requirement("RST-06/state")
def test_exit_without_a_daemon_is_reported(survivors: Survivors) -> None:
    """A container that exits while the daemon is down MUST be reported as EXITED after the restart, with a
    finished_at in that time.

    Source: ContainerStatus.state and finished_at; otherwise the kubelet would wait for ever. The margin of
    half a second is for clocks with different resolutions.
    """
    container = survivors.container("exited meanwhile")

    response = survivors.runtime.eventually(
        "the container to be EXITED",
        lambda: status_of(survivors, container),
        holds=lambda status: status.state == cri.CONTAINER_EXITED,
    )

    finished_at = response.finished_at
    assert survivors.opened_ns - CLOCKS_DIFFER_NS <= finished_at <= time.time_ns() + CLOCKS_DIFFER_NS


@requirement("RST-06/code")
def test_exit_code_without_a_daemon_is_reported(survivors: Survivors) -> None:
    """A container that exits while the daemon is down SHOULD be reported with its own exit code.

    Source: ContainerStatus.exit_code. Not stated by the CRI; the kubelet decides by it whether a job is
    complete.
    """
    container = survivors.container("exited meanwhile")

    response = survivors.runtime.eventually(
        "the container to be EXITED",
        lambda: status_of(survivors, container),
        holds=lambda status: status.state == cri.CONTAINER_EXITED,
    )

    assert response.exit_code == EXITED_MEANWHILE_CODE


@requirement("RST-07")
def test_oom_kill_without_a_daemon_is_reported(survivors: Survivors) -> None:
    """A container that is OOM-killed while the daemon is down SHOULD be reported with the reason OOMKilled.

    Source: ContainerStatus.reason, for which the CRI defines this text.
    """
    container = survivors.container("OOM-killed")

    survivors.runtime.eventually(
        "the reason OOMKilled",
        lambda: status_of(survivors, container),
        holds=lambda status: status.reason == "OOMKilled",
    )


@requirement("RST-08")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_sandbox_whose_process_died_without_a_daemon_is_not_ready(survivors: Survivors) -> None:
    """A sandbox whose process dies while the daemon is down MUST be reported as NOTREADY after the restart.

    Source: PodSandboxStatus.state; otherwise the kubelet would go on using it.
    """
    pod = survivors.sandbox("without process")
    request = cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id)

    survivors.runtime.eventually(
        "the sandbox without its process to be NOTREADY",
        lambda: survivors.runtime.stub.PodSandboxStatus(request).status.state,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )


@requirement("RST-09")
def test_images_survive_a_restart(survivors: Survivors) -> None:
    """ListImages MUST return the same images after a restart of the daemon, with the same tags and digests.

    Source: ListImages. Not stated by the CRI; the kubelet does not pull an image again that is on the node.
    """
    response = survivors.runtime.images.ListImages(cri.ListImagesRequest())

    names = {image.id: (sorted(image.repo_tags), sorted(image.repo_digests)) for image in response.images}
    assert names == {
        image.id: (sorted(image.repo_tags), sorted(image.repo_digests)) for image in survivors.images.values()
    }
    assert names, "there was no image before the restart"


@requirement("RST-12/cgroup")
def test_updated_limits_stay_in_force_over_a_restart(survivors: Survivors) -> None:
    """Updated limits MUST still be those of the container's cgroup after a restart of the daemon.

    Source: UpdateContainerResources. Not stated by the CRI for a restart; the kubelet does not update again.
    """
    container = survivors.container("updated")

    cgroup = CgroupValues.printed(container.output("/bin/sh", "-c", container_cgroup.INSIDE))

    assert cgroup.memory == UPDATED_RESOURCES.memory_limit_in_bytes
    assert cgroup.has_shares(UPDATED_RESOURCES.cpu_shares)


@requirement("RST-12/status")
def test_updated_limits_are_reported_after_a_restart(survivors: Survivors) -> None:
    """ContainerStatus SHOULD report the same resources after a restart of the daemon as before, including
    updated ones.

    Source: ContainerStatus.resources. The kubelet resizes a pod again if they differ from its own.
    """
    container = survivors.container("updated")
    before = survivors.statuses[container.id]
    assert isinstance(before, cri.ContainerStatus)

    response = status_of(survivors, container)

    assert response.resources == before.resources


@requirement("RST-22/containers")
@in_every_state
def test_status_of_a_container_is_unchanged_after_a_restart(survivors: Survivors, state: str) -> None:
    """ContainerStatus MUST report all fields of a container unchanged after a restart of the daemon.

    Source: ContainerStatus. Not stated by the CRI; to a client a changed status looks like another container.
    """
    container = survivors.container(state)

    assert differences(survivors.statuses[container.id], status_of(survivors, container)) == {}


@requirement("RST-22/sandboxes")
def test_status_of_a_stopped_sandbox_is_unchanged_after_a_restart(survivors: Survivors) -> None:
    """PodSandboxStatus MUST report all fields of a stopped sandbox unchanged after a restart of the daemon,
    except for the network, which it no longer has.

    Source: PodSandboxStatus. Not stated by the CRI; to a client a changed status looks like another pod.
    """
    pod = survivors.sandbox("stopped")

    response = survivors.runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id))

    assert differences(survivors.statuses[pod.id], response.status).keys() <= {"network"}


@requirement("RST-22/lists")
def test_entries_of_containers_are_unchanged_after_a_restart(survivors: Survivors) -> None:
    """ListContainers MUST list each existing container once after a restart of the daemon, with all fields
    unchanged, and MUST NOT list an entry without id, name and time.

    Source: Container. Not stated by the CRI; the kubelet knows its containers by the list.
    """
    unchanged = {survivors.container(state).id for state in IN_EVERY_STATE}

    listed = survivors.runtime.stub.ListContainers(cri.ListContainersRequest()).containers

    assert [entry for entry in listed if not (entry.id and entry.metadata.name and entry.created_at)] == []
    assert len({entry.id for entry in listed}) == len(listed)
    entries = [entry for entry in listed if entry.id in unchanged]
    assert sorted(entry.id for entry in entries) == sorted(unchanged)
    assert [changed for entry in entries if (changed := differences(survivors.listed[entry.id], entry))] == []


@requirement("RST-22/lists")
def test_entries_of_sandboxes_are_unchanged_after_a_restart(survivors: Survivors) -> None:
    """ListPodSandbox MUST list each existing sandbox once after a restart of the daemon, with all fields
    unchanged, and MUST NOT list an entry without id, name and time.

    Source: PodSandbox. Not stated by the CRI; the kubelet knows its pods by the list.
    """
    unchanged = {survivors.pod.id, survivors.sandbox("stopped").id}

    listed = survivors.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items

    assert [entry for entry in listed if not (entry.id and entry.metadata.name and entry.created_at)] == []
    assert len({entry.id for entry in listed}) == len(listed)
    entries = [entry for entry in listed if entry.id in unchanged]
    assert sorted(entry.id for entry in entries) == sorted(unchanged)
    assert [changed for entry in entries if (changed := differences(survivors.listed[entry.id], entry))] == []


@requirement("RT-21/restart")
def test_features_are_the_same_after_a_restart(survivors: Survivors) -> None:
    """Status SHOULD report the same features and handlers after a restart of the daemon with an unchanged
    configuration.

    Source: StatusResponse.features, StatusResponse.runtime_handlers.
    """

    def features(response: cri.StatusResponse) -> tuple[str, list[tuple[str, str]]]:
        return str(response.features), sorted(
            (handler.name, str(handler.features)) for handler in response.runtime_handlers
        )

    response = survivors.runtime.stub.Status(cri.StatusRequest())

    assert features(response) == features(survivors.status)
