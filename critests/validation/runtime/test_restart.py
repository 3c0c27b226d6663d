"""RST: what must be the same after the daemon was restarted, and what is told of what happened meanwhile."""

import time

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.session import Observe
from critests.lifecycle.clocks import CLOCKS_DIFFER_NS
from critests.lifecycle.containers import Container
from critests.node import container_cgroup
from critests.node.container_cgroup import CgroupValues
from critests.run.marks import disruptive, requirement, requires
from critests.validation.runtime.survivors import (
    ENDED_MEANWHILE_WITH,
    ENDED_WITH,
    IN_EVERY_STATE,
    UPDATED,
    Survivors,
    birth,
    changed,
)

pytestmark = disruptive

in_every_state = pytest.mark.parametrize("state", IN_EVERY_STATE)


def status_of(survivors: Survivors, container: Container) -> cri.ContainerStatus:
    """Ask the daemon that was started again for the status of a container of before."""
    request = cri.ContainerStatusRequest(container_id=container.id)
    return survivors.runtime.stub.ContainerStatus(request).status


@requirement("RST-01")
def test_running_container_survives_a_restart(restarted: Survivors) -> None:
    """A running container MUST keep running over a restart of the daemon, as the same process.

    Source: StopContainer and StopPodSandbox, without which nothing but its own process ends a container. The
    kubelet relies on it whenever a runtime is upgraded.
    """
    assert not restarted.failure
    container = restarted.container("running")

    answer = status_of(restarted, container)

    assert cri.ContainerState.Name(answer.state) == "CONTAINER_RUNNING"
    assert birth(container) == restarted.born, "its first process is another one after the restart"


@requirement("RST-02")
def test_ready_sandbox_survives_a_restart(survivors: Survivors) -> None:
    """A READY sandbox MUST stay READY over a restart of the daemon, and all that is reported of it the same.

    Source: PodSandboxStatus; StopPodSandbox, without which a sandbox stays READY. The kubelet makes a new pod
    where it finds another.
    """
    pod = survivors.pod

    answer = survivors.runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id))

    assert cri.PodSandboxState.Name(answer.status.state) == "SANDBOX_READY"
    assert changed(survivors.said[pod.id], answer.status) == {}


@requirement("RST-03")
def test_stopped_sandbox_survives_a_restart(survivors: Survivors) -> None:
    """A stopped sandbox MUST be NOTREADY after a restart of the daemon too.

    Source: PodSandboxState. Not stated by the CRI; the kubelet removes old pods at its leisure.
    """
    pod = survivors.sandbox("stopped")
    wanted = cri.PodSandboxFilter(id=pod.id)

    items = survivors.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest(filter=wanted)).items

    assert [item.state for item in items] == [cri.SANDBOX_NOTREADY]


@requirement("RST-04/form")
def test_form_in_which_a_created_container_survives_a_restart(survivors: Survivors, observe: Observe) -> None:
    """A container that was not started MAY be as it was after a restart, or be told as EXITED or UNKNOWN.

    Source: ContainerState; the CRI does not say which.
    """
    state = cri.ContainerState.Name(status_of(survivors, survivors.container("created")).state)

    observe(state)
    assert state in {"CONTAINER_CREATED", "CONTAINER_EXITED", "CONTAINER_UNKNOWN"}


@requirement("RST-05")
def test_end_of_a_container_is_remembered_over_a_restart(survivors: Survivors) -> None:
    """A container that has ended MUST keep its exit code, its reason and the time of its end over a restart
    of the daemon.

    Source: ContainerStatus.exit_code, reason and finished_at, which are told of what has ended, however old
    the daemon is. The kubelet decides by them whether to start it again.
    """
    container = survivors.container("exited")
    before = survivors.said[container.id]
    assert isinstance(before, cri.ContainerStatus)

    answer = status_of(survivors, container)

    assert cri.ContainerState.Name(answer.state) == "CONTAINER_EXITED"
    assert (answer.exit_code, answer.reason, answer.finished_at) == (
        ENDED_WITH,
        before.reason,
        before.finished_at,
    )


@requirement("RST-06/state")
def test_end_while_there_was_no_daemon_is_told(survivors: Survivors) -> None:
    """A container that ended while the daemon was down MUST be told as EXITED by the next one, with a time of
    its end that lies in between.

    Source: ContainerStatus.state and finished_at, which tell what is so; the kubelet would wait for ever.
    Half a second is left for clocks of another resolution.
    """
    container = survivors.container("ended meanwhile")

    answer = survivors.runtime.eventually(
        "the container that ended meanwhile to be EXITED",
        lambda: status_of(survivors, container),
        holds=lambda status: status.state == cri.CONTAINER_EXITED,
    )

    finished_at = answer.finished_at
    assert survivors.opened_ns - CLOCKS_DIFFER_NS <= finished_at <= time.time_ns() + CLOCKS_DIFFER_NS


@requirement("RST-06/code")
def test_exit_code_of_while_there_was_no_daemon_is_told(survivors: Survivors) -> None:
    """A container that ended while the daemon was down SHOULD be told with its own exit code.

    Source: ContainerStatus.exit_code. Not stated by the CRI; by it the kubelet decides whether a job is done.
    """
    container = survivors.container("ended meanwhile")

    answer = survivors.runtime.eventually(
        "the container that ended meanwhile to be EXITED",
        lambda: status_of(survivors, container),
        holds=lambda status: status.state == cri.CONTAINER_EXITED,
    )

    assert answer.exit_code == ENDED_MEANWHILE_WITH


@requirement("RST-07")
def test_kill_for_memory_while_there_was_no_daemon_is_told(survivors: Survivors) -> None:
    """A container that the kernel killed for its memory while the daemon was down SHOULD be told with the
    reason OOMKilled.

    Source: ContainerStatus.reason, whose text for this case the CRI fixes.
    """
    container = survivors.container("killed for its memory")

    survivors.runtime.eventually(
        "the reason OOMKilled",
        lambda: status_of(survivors, container),
        holds=lambda status: status.reason == "OOMKilled",
    )


@requirement("RST-08")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_sandbox_that_lost_its_process_meanwhile_is_not_ready(survivors: Survivors) -> None:
    """A sandbox whose process died while the daemon was down MUST be told as NOTREADY by the next one.

    Source: PodSandboxStatus.state: READY is what is ready; the kubelet would go on using it.
    """
    pod = survivors.sandbox("orphaned")
    request = cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id)

    survivors.runtime.eventually(
        "the sandbox without its process to be NOTREADY",
        lambda: survivors.runtime.stub.PodSandboxStatus(request).status.state,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )


@requirement("RST-09")
def test_images_survive_a_restart(survivors: Survivors) -> None:
    """Images MUST be there after a restart of the daemon, with the same tags and digests.

    Source: ListImages. Not stated by the CRI; the kubelet does not pull again what a node holds.
    """
    answer = survivors.runtime.images.ListImages(cri.ListImagesRequest())

    names = {image.id: (sorted(image.repo_tags), sorted(image.repo_digests)) for image in answer.images}
    assert names == {
        image.id: (sorted(image.repo_tags), sorted(image.repo_digests)) for image in survivors.images.values()
    }
    assert names, "there was no image to begin with"


@requirement("RST-12/cgroup")
def test_updated_limits_stay_in_force_over_a_restart(survivors: Survivors) -> None:
    """Limits that were updated MUST still be those of the container's cgroup after a restart of the daemon.

    Source: UpdateContainerResources. Not stated by the CRI for a restart; the kubelet does not update again.
    """
    container = survivors.container("updated")

    cgroup = CgroupValues.printed(container.output("/bin/sh", "-c", container_cgroup.INSIDE))

    assert cgroup.memory == UPDATED.memory_limit_in_bytes
    assert cgroup.has_shares(UPDATED.cpu_shares)


@requirement("RST-12/status")
def test_updated_limits_are_told_after_a_restart(survivors: Survivors) -> None:
    """ContainerStatus SHOULD tell the same limits after a restart of the daemon as before it, also updated
    ones.

    Source: ContainerStatus.resources. The kubelet resizes a pod again where they differ from what it wants.
    """
    container = survivors.container("updated")
    before = survivors.said[container.id]
    assert isinstance(before, cri.ContainerStatus)

    answer = status_of(survivors, container)

    assert answer.resources == before.resources


@requirement("RST-22/containers")
@in_every_state
def test_status_of_a_container_is_whole_after_a_restart(survivors: Survivors, state: str) -> None:
    """Everything that ContainerStatus says of a container MUST be the same after a restart of the daemon.

    Source: ContainerStatus. Not stated by the CRI; what changes looks to a client like another container.
    """
    container = survivors.container(state)

    assert changed(survivors.said[container.id], status_of(survivors, container)) == {}


@requirement("RST-22/sandboxes")
def test_status_of_a_stopped_sandbox_is_whole_after_a_restart(survivors: Survivors) -> None:
    """Everything that PodSandboxStatus says of a stopped sandbox MUST be the same after a restart of the
    daemon, but for the network that it has no more.

    Source: PodSandboxStatus. Not stated by the CRI; what changes looks to a client like another pod.
    """
    pod = survivors.sandbox("stopped")

    answer = survivors.runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id))

    assert changed(survivors.said[pod.id], answer.status).keys() <= {"network"}


@requirement("RST-22/lists")
def test_entries_of_containers_are_whole_after_a_restart(survivors: Survivors) -> None:
    """ListContainers MUST list the containers of before a restart of the daemon, each once and with
    everything as it was.

    Source: Container. Not stated by the CRI; the kubelet knows its containers by what is listed.
    """
    unchanged = {survivors.container(state).id for state in IN_EVERY_STATE}

    listed = survivors.runtime.stub.ListContainers(cri.ListContainersRequest()).containers

    found = [entry for entry in listed if entry.id in unchanged]
    assert sorted(entry.id for entry in found) == sorted(unchanged)
    assert [differs for entry in found if (differs := changed(survivors.listed[entry.id], entry))] == []


@requirement("RST-22/lists")
def test_entries_of_sandboxes_are_whole_after_a_restart(survivors: Survivors) -> None:
    """ListPodSandbox MUST list the sandboxes of before a restart of the daemon, each once and with everything
    as it was.

    Source: PodSandbox. Not stated by the CRI; the kubelet knows its pods by what is listed.
    """
    unchanged = {survivors.pod.id, survivors.sandbox("stopped").id}

    listed = survivors.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items

    found = [entry for entry in listed if entry.id in unchanged]
    assert sorted(entry.id for entry in found) == sorted(unchanged)
    assert [differs for entry in found if (differs := changed(survivors.listed[entry.id], entry))] == []


@requirement("RT-21/restart")
def test_features_are_the_same_after_a_restart(survivors: Survivors) -> None:
    """Status SHOULD name the same features and handlers after a restart of the daemon without a change of its
    configuration.

    Source: StatusResponse.features, StatusResponse.runtime_handlers.
    """

    def features(answer: cri.StatusResponse) -> tuple[str, list[tuple[str, str]]]:
        return str(answer.features), sorted(
            (handler.name, str(handler.features)) for handler in answer.runtime_handlers
        )

    answer = survivors.runtime.stub.Status(cri.StatusRequest())

    assert features(answer) == features(survivors.status)
