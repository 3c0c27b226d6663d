"""RST: that a daemon which was restarted still does everything with what stood before, to its removal."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.runtime import may_be_refused
from critests.fixtures.streaming import Streams
from critests.node import container_cgroup
from critests.node.container_cgroup import CgroupValues
from critests.run.marks import disruptive, requirement, requires
from critests.run.outcomes import blocked
from critests.validation.runtime.survivors import MIB, PORT, STOPPED_WITH, Survivors

pytestmark = disruptive


@requirement("RST-11")
def test_exec_sync_works_after_a_restart(survivors: Survivors) -> None:
    """ExecSync MUST work in a container of before a restart of the daemon, output and exit code included.

    Source: ExecSync, of any container that runs, however old the daemon is; probes and hooks go on.
    """
    container = survivors.container("running")

    answer = survivors.runtime.stub.ExecSync(container.script_request("echo said; exit 3"))

    assert (answer.stdout, answer.exit_code) == (b"said\n", 3)


@requirement("RST-11")
def test_exec_works_after_a_restart(survivors: Survivors, sessions: Streams) -> None:
    """Exec MUST work in a container of before a restart of the daemon, both ways.

    Source: Exec, of any container that runs, however old the daemon is.
    """
    container = survivors.container("running")
    request = cri.ExecRequest(container_id=container.id, cmd=["cat"], stdin=True, stdout=True, stderr=True)

    session = sessions.open(survivors.runtime.stub.Exec, request)

    session.write(b"line\n")
    assert session.stdout_until(b"\n") == b"line\n"


@requirement("RST-11")
def test_attach_works_after_a_restart(survivors: Survivors, sessions: Streams) -> None:
    """Attach MUST show what the process of a container of before a restart of the daemon prints.

    Source: Attach, of any container that runs, however old the daemon is.
    """
    container = survivors.container("running")
    request = cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)

    session = sessions.open(survivors.runtime.stub.Attach, request)

    session.stdout_until(b"tick\n")


@requirement("RST-11")
def test_port_forward_works_after_a_restart(survivors: Survivors, sessions: Streams) -> None:
    """PortForward MUST reach the ports of a sandbox of before a restart of the daemon.

    Source: PortForward, of any sandbox that is ready, however old the daemon is.
    """
    assert survivors.container("running")
    request = cri.PortForwardRequest(pod_sandbox_id=survivors.pod.id, port=[PORT])

    connection = sessions.forward(request).connect(PORT)

    connection.write(b"line\n", sessions.patience)
    assert connection.read_until(b"\n") == b"line\n"


@requirement("RST-11")
def test_stats_are_told_after_a_restart(survivors: Survivors) -> None:
    """ContainerStats MUST tell the processor time of a container of before a restart of the daemon.

    Source: ContainerStats, of any container, however old the daemon is; eviction goes by stats.
    """
    container = survivors.container("running")
    request = cri.ContainerStatsRequest(container_id=container.id)

    stats = survivors.runtime.stub.ContainerStats(request).stats

    assert stats.attributes.id == container.id
    assert stats.cpu.usage_core_nano_seconds.value > 0


@requirement("RST-11")
def test_resources_can_be_updated_after_a_restart(survivors: Survivors) -> None:
    """UpdateContainerResources MUST change the limits of a container of before a restart of the daemon.

    Source: UpdateContainerResources, of any container, however old the daemon is.
    """
    container = survivors.take("updated")
    wanted = cri.LinuxContainerResources(
        memory_limit_in_bytes=128 * MIB, memory_swap_limit_in_bytes=128 * MIB
    )

    survivors.runtime.stub.UpdateContainerResources(
        cri.UpdateContainerResourcesRequest(container_id=container.id, linux=wanted)
    )

    cgroup = CgroupValues.printed(container.output("/bin/sh", "-c", container_cgroup.INSIDE))
    assert cgroup.memory == wanted.memory_limit_in_bytes


@requirement("RST-11")
def test_logs_can_be_rotated_after_a_restart(survivors: Survivors) -> None:
    """ReopenContainerLog MUST let the output of a container of before a restart of the daemon go to a new
    file.

    Source: ReopenContainerLog, of any container that runs, however old the daemon is; the kubelet rotates
    logs at any time.
    """
    container = survivors.take("running")
    container.log_path.rename(f"{container.log_path}.1")

    survivors.runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container.id))

    survivors.runtime.eventually("a new log", container.log_path.exists)
    container.wait_for_log("tick")


@requirement("RST-11")
@requires(Capability.EVENTS)
def test_events_of_containers_come_after_a_restart(survivors: Survivors) -> None:
    """GetContainerEvents MUST tell that a container of before a restart of the daemon was stopped.

    Source: GetContainerEvents, of any container, however old the daemon is.
    """
    container = survivors.take("to hear of")
    stub = survivors.runtime.stub
    events = stub.GetContainerEvents(cri.GetEventsRequest(), timeout=10 * survivors.runtime.scale)

    stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))

    stopped = (container.id, cri.CONTAINER_STOPPED_EVENT)
    assert any((event.container_id, event.container_event_type) == stopped for event in events)
    events.cancel()


@requirement("RST-04/removable")
def test_created_container_can_be_started_or_removed_after_a_restart(survivors: Survivors) -> None:
    """A container that was made before a restart of the daemon MUST either start after it or, told as ended,
    be removable.

    Source: StartContainer, RemoveContainer, of any container that is listed; a pod would hang for ever.
    """
    container = survivors.take("to start")
    stub = survivors.runtime.stub

    if container.state() == cri.CONTAINER_CREATED:
        stub.StartContainer(cri.StartContainerRequest(container_id=container.id))
        assert container.state() == cri.CONTAINER_RUNNING
        return

    stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
    assert container.entries() == []


@requirement("RST-13")
def test_name_of_a_container_stays_taken_over_a_restart(survivors: Survivors) -> None:
    """A container's name and attempt MUST NOT be there twice in a sandbox, also where the first is of before
    a restart of the daemon.

    Source: ContainerMetadata. Not stated by the CRI for a restart.
    """
    container = survivors.take("exited")
    stub, config = survivors.runtime.stub, container.config

    with may_be_refused():
        stub.CreateContainer(survivors.runtime.containers.creation(config, survivors.pod))

    listed = stub.ListContainers(cri.ListContainersRequest()).containers
    assert [entry.id for entry in listed if entry.metadata.name == config.metadata.name] == [container.id]


@requirement("RST-13")
def test_name_of_a_sandbox_stays_taken_over_a_restart(survivors: Survivors) -> None:
    """A sandbox's name, namespace, uid and attempt MUST NOT be there twice, also where the first is of before
    a restart of the daemon.

    Source: PodSandboxMetadata. Not stated by the CRI for a restart.
    """
    pod = survivors.pod
    survivors.runtime.used_up = True
    stub = survivors.runtime.stub

    with may_be_refused():
        stub.RunPodSandbox(survivors.runtime.sandboxes.creation(pod.config))

    listed = stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    assert [entry.id for entry in listed if entry.metadata.uid == pod.config.metadata.uid] == [pod.id]


@requirement("RST-21")
def test_stop_that_a_restart_cut_off_can_be_repeated(survivors: Survivors) -> None:
    """A container whose StopContainer was under way when the daemon ended MUST be RUNNING or EXITED, and a
    second StopContainer MUST end it.

    Source: StopContainer, which may be repeated; the kubelet calls again.
    """
    container = survivors.take("stubborn")
    assert container.state() in {cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED}

    survivors.runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))

    assert container.state() == cri.CONTAINER_EXITED


@requirement("RST-23/stop")
def test_stop_gives_time_after_a_restart(survivors: Survivors) -> None:
    """StopContainer MUST let a process of before a restart of the daemon handle its stop signal, and its own
    exit code MUST be told.

    Source: StopContainerRequest.timeout.
    """
    container = survivors.take("to stop")

    survivors.runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=30))

    status = container.status()
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, STOPPED_WITH)


@requirement("RST-23/removal")
def test_containers_can_be_removed_after_a_restart(survivors: Survivors) -> None:
    """RemoveContainer MUST remove a container that ended before a restart of the daemon.

    Source: RemoveContainer.
    """
    container = survivors.take("to remove")

    survivors.runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []


@requirement("RST-23/network")
@requires(Capability.POD_NETWORK)
@pytest.mark.parametrize("name", ["leaving", "orphaned"], ids=["ready", "without its process"])
def test_address_of_a_sandbox_is_given_back_after_a_restart(survivors: Survivors, name: str) -> None:
    """StopPodSandbox MUST give back the address of a sandbox of before a restart of the daemon, also where
    the sandbox has lost its process meanwhile.

    Source: StopPodSandbox, which reclaims what the sandbox has of the network.
    """
    pod = survivors.take_sandbox(name)
    before = survivors.said[pod.id]
    assert isinstance(before, cri.PodSandboxStatus)
    if before.network.ip not in survivors.runtime.daemon.leases:
        blocked(f"no lease of the address {before.network.ip!r} was found, by which a release is seen")

    survivors.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert before.network.ip not in survivors.runtime.daemon.leases


@requirement("RST-03")
@pytest.mark.parametrize(
    "name", ["stopped", "leaving", "orphaned"], ids=["stopped", "ready", "without its process"]
)
def test_sandboxes_can_be_removed_after_a_restart(survivors: Survivors, name: str) -> None:
    """A sandbox of before a restart of the daemon MUST be removable with all that is in it, once it is
    stopped.

    Source: StopPodSandbox, RemovePodSandbox. Not stated by the CRI for a restart.
    """
    pod = survivors.take_sandbox(name)
    stub = survivors.runtime.stub

    stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))

    listed = stub.ListContainers(cri.ListContainersRequest()).containers
    assert pod.entries() == []
    assert [entry.id for entry in listed if entry.pod_sandbox_id == pod.id] == []
