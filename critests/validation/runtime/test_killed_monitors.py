"""SBX-40: the process between daemon and container (a shim or monitor) is killed."""

import contextlib
import os
import secrets
import signal
from dataclasses import dataclass

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Fail,
    FaultyRuntime,
    Sandbox,
    disruptive,
    first_process,
    host_processes,
    requirement,
    requires,
    stat_of,
    unsupported,
)

pytestmark = [requires(Capability.SHARED_KERNEL, Capability.ROOT), disruptive]


@dataclass(frozen=True)
class Monitored:
    """A container with a process between it and the daemon.

    Attributes:
        pod: its sandbox.
        container: it.
        mark: in the command lines of its processes.
        process: its first one.
        monitor: the parent of that process.
    """

    pod: Sandbox
    container: Container
    mark: str
    process: int
    monitor: int


@pytest.fixture
def monitored(faulty_runtime: FaultyRuntime) -> Monitored:
    """A running container whose parent process on this machine is not the daemon."""
    pod, mark = faulty_runtime.runtime.sandbox(), f"orphan-{secrets.token_hex(8)}"
    config = faulty_runtime.runtime.containers.config()
    config.args.append(mark)
    container = faulty_runtime.runtime.containers.running(config, in_sandbox=pod)
    # a container may be reported as RUNNING a moment before its process executes its program
    faulty_runtime.runtime.eventually("the process of the container", lambda: host_processes(mark))
    process = first_process(mark)
    # the daemon or init as parent: the runtime has no process in between that could be killed
    parent = int(stat_of(process)[1])  # state and parent are the first fields after the name, proc(5)
    if parent in {1, faulty_runtime.runtime.daemon.pid}:
        unsupported("a process between daemon and container: there is none")
    return Monitored(pod, container, mark, process, parent)


@pytest.fixture
def orphan(monitored: Monitored) -> Monitored:
    """A running container whose parent process on this machine was killed."""
    os.kill(monitored.monitor, signal.SIGKILL)
    return monitored


@requirement("SBX-40/state")
def test_exit_of_a_container_whose_monitor_was_killed_is_reported(
    faulty_runtime: FaultyRuntime, orphan: Monitored
) -> None:
    """A container whose shim or monitor is killed, and then its own process, SHOULD NOT be reported as
    RUNNING for long.

    Source: ContainerState. Not stated by the CRI, which does not mention the processes of a runtime; the
    kubelet would not start the container again.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(orphan.process, signal.SIGKILL)

    faulty_runtime.runtime.eventually(
        "the container not to be RUNNING",
        orphan.container.state,
        holds=lambda state: state != cri.CONTAINER_RUNNING,
    )


@requirement("SBX-40/removed")
def test_pod_whose_monitor_was_killed_can_be_removed(
    faulty_runtime: FaultyRuntime, orphan: Monitored
) -> None:
    """StopPodSandbox and RemovePodSandbox MUST remove a pod whose shim or monitor was killed.

    Source: StopPodSandbox, RemovePodSandbox. Not stated by the CRI for this case; otherwise the pod hangs
    until it is repaired manually.
    """
    faulty_runtime.remove(orphan.pod.id)

    assert orphan.pod.entries() == []


@requirement("SBX-40/removed")
def test_pod_whose_monitor_was_killed_between_two_daemons_can_be_removed(
    faulty_runtime: FaultyRuntime, monitored: Monitored
) -> None:
    """A daemon MUST start although a shim or monitor was killed meanwhile and its program cannot clean up,
    and StopPodSandbox and RemovePodSandbox MUST remove the pod.

    Source: StopPodSandbox, RemovePodSandbox. Not stated by the CRI for this case; otherwise one pod takes
    the node down.
    """
    with faulty_runtime.monitor.planned({"delete": [Fail(1, "no memory")]}):
        with faulty_runtime.runtime.down(signal.SIGKILL):
            os.kill(monitored.monitor, signal.SIGKILL)

        faulty_runtime.remove(monitored.pod.id)

    assert monitored.pod.entries() == []


@requirement("SBX-40/ended")
def test_no_process_outlives_its_pod_without_a_monitor(
    faulty_runtime: FaultyRuntime, orphan: Monitored
) -> None:
    """StopPodSandbox and RemovePodSandbox MUST leave no process of a pod, also if its shim or monitor was
    killed before.

    Source: StopPodSandbox and RemovePodSandbox, which terminate every process of the sandbox by force.
    """
    faulty_runtime.remove(orphan.pod.id)

    faulty_runtime.runtime.eventually(
        "the processes of the pod to exit", lambda: host_processes(orphan.mark), holds=lambda left: not left
    )
