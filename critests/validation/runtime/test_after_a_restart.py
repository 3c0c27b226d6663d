"""RST: after a restart of the daemon every RPC still works for existing objects, including their removal."""

import pytest

from critests.api import api_pb2 as cri
from critests.node.cgroups import container_cgroup
from critests.testing import (
    Capability,
    CgroupValues,
    Streams,
    blocked,
    disruptive,
    may_be_refused,
    requirement,
    requires,
)
from critests.validation.runtime.survivors import MIB, PORT, STOPPED_CODE, Survivors

pytestmark = disruptive


@requirement("RST-11")
def test_exec_sync_works_after_a_restart(survivors: Survivors) -> None:
    """ExecSync MUST work after a restart of the daemon in an existing container, output and exit code
    included.

    Source: ExecSync, of any running container, whatever daemon created it; probes and hooks go on.
    """
    container = survivors.container("running")

    response = survivors.runtime.stub.ExecSync(container.script_request("echo output; exit 3"))

    assert (response.stdout, response.exit_code) == (b"output\n", 3)


@requirement("RST-11")
def test_exec_works_after_a_restart(survivors: Survivors, sessions: Streams) -> None:
    """Exec MUST work after a restart of the daemon in an existing container, in both directions.

    Source: Exec, of any running container, whatever daemon created it.
    """
    container = survivors.container("running")
    request = cri.ExecRequest(container_id=container.id, cmd=["cat"], stdin=True, stdout=True, stderr=True)

    session = sessions.open(survivors.runtime.stub.Exec, request)

    session.write(b"line\n")
    assert session.stdout_until(b"\n") == b"line\n"


@requirement("RST-11")
def test_attach_works_after_a_restart(survivors: Survivors, sessions: Streams) -> None:
    """Attach MUST stream the output of an existing container after a restart of the daemon.

    Source: Attach, of any running container, whatever daemon created it.
    """
    container = survivors.container("running")
    request = cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)

    session = sessions.open(survivors.runtime.stub.Attach, request)

    session.stdout_until(b"tick\n")


@requirement("RST-11")
def test_port_forward_works_after_a_restart(survivors: Survivors, sessions: Streams) -> None:
    """PortForward MUST reach the ports of an existing sandbox after a restart of the daemon.

    Source: PortForward, of any READY sandbox, whatever daemon created it.
    """
    # the container with the server
    assert survivors.container("running")
    request = cri.PortForwardRequest(pod_sandbox_id=survivors.pod.id, port=[PORT])

    connection = sessions.forward(request).connect(PORT)

    connection.write(b"line\n", sessions.patience)
    assert connection.read_until(b"\n") == b"line\n"


@requirement("RST-11")
def test_stats_are_reported_after_a_restart(survivors: Survivors) -> None:
    """ContainerStats MUST report the CPU time of an existing container after a restart of the daemon.

    Source: ContainerStats, of any container, whatever daemon created it; the kubelet evicts by stats.
    """
    container = survivors.container("running")
    request = cri.ContainerStatsRequest(container_id=container.id)

    stats = survivors.runtime.stub.ContainerStats(request).stats

    assert stats.attributes.id == container.id
    assert stats.cpu.usage_core_nano_seconds.value > 0


@requirement("RST-11")
def test_resources_can_be_updated_after_a_restart(survivors: Survivors) -> None:
    """UpdateContainerResources MUST change the limits of an existing container after a restart of the daemon.

    Source: UpdateContainerResources, of any container, whatever daemon created it.
    """
    container = survivors.take("updated")
    larger = cri.LinuxContainerResources(
        memory_limit_in_bytes=128 * MIB, memory_swap_limit_in_bytes=128 * MIB
    )

    survivors.runtime.stub.UpdateContainerResources(
        cri.UpdateContainerResourcesRequest(container_id=container.id, linux=larger)
    )

    cgroup = CgroupValues.printed(container.output("/bin/sh", "-c", container_cgroup.INSIDE))
    assert cgroup.memory == larger.memory_limit_in_bytes


@requirement("RST-11")
def test_logs_can_be_rotated_after_a_restart(survivors: Survivors) -> None:
    """ReopenContainerLog MUST direct the output of an existing container to a new file after a restart of the
    daemon.

    Source: ReopenContainerLog, of any running container, whatever daemon created it; the kubelet rotates logs
    at any time.
    """
    container = survivors.take("running")
    # the kubelet renames the file, too, before it calls ReopenContainerLog
    container.log_path.rename(f"{container.log_path}.1")

    survivors.runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container.id))

    survivors.runtime.eventually("a new log", container.log_path.exists)
    container.wait_for_log("tick")


@requirement("RST-11")
@requires(Capability.EVENTS)
def test_events_of_containers_are_reported_after_a_restart(survivors: Survivors) -> None:
    """GetContainerEvents MUST report the stop of an existing container after a restart of the daemon.

    Source: GetContainerEvents, of any container, whatever daemon created it.
    """
    container = survivors.take("to watch")
    stub = survivors.runtime.stub
    # with a deadline, as the stream does not end by itself
    events = stub.GetContainerEvents(cri.GetEventsRequest(), timeout=10 * survivors.runtime.scale)

    stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))

    stopped = (container.id, cri.CONTAINER_STOPPED_EVENT)
    assert any((event.container_id, event.container_event_type) == stopped for event in events)
    events.cancel()


@requirement("RST-04/removable")
def test_created_container_can_be_started_or_removed_after_a_restart(survivors: Survivors) -> None:
    """A created container MUST, after a restart of the daemon, either start or be reported as exited and be
    removable.

    Source: StartContainer, RemoveContainer, of any container that is listed; otherwise the pod would hang for
    ever.
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
def test_name_of_a_container_stays_reserved_over_a_restart(survivors: Survivors) -> None:
    """CreateContainer MUST NOT create a second container with the name and attempt of an existing one in its
    sandbox, also after a restart of the daemon.

    Source: ContainerMetadata. Not stated by the CRI for a restart.
    """
    container = survivors.take("exited")
    stub, config = survivors.runtime.stub, container.config

    with may_be_refused():
        stub.CreateContainer(survivors.runtime.containers.creation(config, survivors.pod))

    listed = stub.ListContainers(cri.ListContainersRequest()).containers
    assert [entry.id for entry in listed if entry.metadata.name == config.metadata.name] == [container.id]


@requirement("RST-13")
def test_name_of_a_sandbox_stays_reserved_over_a_restart(survivors: Survivors) -> None:
    """RunPodSandbox MUST NOT create a second sandbox with the name, namespace, uid and attempt of an existing
    one, also after a restart of the daemon.

    Source: PodSandboxMetadata. Not stated by the CRI for a restart.
    """
    pod = survivors.pod
    # the call may create a second sandbox
    survivors.runtime.used_up = True
    stub = survivors.runtime.stub

    with may_be_refused():
        stub.RunPodSandbox(survivors.runtime.sandboxes.creation(pod.config))

    listed = stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    assert [entry.id for entry in listed if entry.metadata.uid == pod.config.metadata.uid] == [pod.id]


@requirement("RST-21")
def test_stop_interrupted_by_a_restart_can_be_repeated(survivors: Survivors) -> None:
    """A container whose StopContainer a restart of the daemon interrupted MUST be RUNNING or EXITED, and a
    second StopContainer MUST stop it.

    Source: StopContainer, which is idempotent; the kubelet calls again.
    """
    container = survivors.take("ignores SIGTERM")
    assert container.state() in {cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED}

    survivors.runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))

    assert container.state() == cri.CONTAINER_EXITED


@requirement("RST-23/stop")
def test_stop_honours_the_grace_period_after_a_restart(survivors: Survivors) -> None:
    """StopContainer MUST let the process of an existing container handle its stop signal after a restart of
    the daemon, and the process's own exit code MUST be reported.

    Source: StopContainerRequest.timeout.
    """
    container = survivors.take("to stop")

    survivors.runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=30))

    status = container.status()
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, STOPPED_CODE)


@requirement("RST-23/removal")
def test_containers_can_be_removed_after_a_restart(survivors: Survivors) -> None:
    """RemoveContainer MUST remove, after a restart of the daemon, a container that exited before it.

    Source: RemoveContainer.
    """
    container = survivors.take("to remove")

    survivors.runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []


@requirement("RST-23/network")
@requires(Capability.POD_NETWORK)
@pytest.mark.parametrize("name", ["sandbox to stop", "without process"], ids=["ready", "without its process"])
def test_address_of_a_sandbox_is_released_after_a_restart(survivors: Survivors, name: str) -> None:
    """StopPodSandbox MUST release the address of an existing sandbox after a restart of the daemon, also if
    the sandbox process died while the daemon was down.

    Source: StopPodSandbox, which reclaims the network resources of the sandbox.
    """
    pod = survivors.take_sandbox(name)
    before = survivors.statuses[pod.id]
    assert isinstance(before, cri.PodSandboxStatus)
    if before.network.ip not in survivors.runtime.daemon.leases:
        blocked(
            f"no lease of the address {before.network.ip!r} was found, so that its release cannot be observed"
        )

    survivors.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert before.network.ip not in survivors.runtime.daemon.leases


@requirement("RST-03")
@pytest.mark.parametrize(
    "name", ["stopped", "sandbox to stop", "without process"], ids=["stopped", "ready", "without its process"]
)
def test_sandboxes_can_be_removed_after_a_restart(survivors: Survivors, name: str) -> None:
    """StopPodSandbox and RemovePodSandbox MUST remove an existing sandbox and its containers after a restart
    of the daemon.

    Source: StopPodSandbox, RemovePodSandbox. Not stated by the CRI for a restart.
    """
    pod = survivors.take_sandbox(name)
    stub = survivors.runtime.stub

    stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))

    listed = stub.ListContainers(cri.ListContainersRequest()).containers
    assert pod.entries() == []
    assert [entry.id for entry in listed if entry.pod_sandbox_id == pod.id] == []
