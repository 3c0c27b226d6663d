"""CTR: the exit code, the reason and the times of an exited container."""

import os
import signal
from collections import Counter

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    ProcessTree,
    RecordVariant,
    Runtime,
    Sandboxes,
    first_process,
    requirement,
    requires,
)

# without a limit for memory and swap together, the kernel would swap instead of killing
SMALL = cri.LinuxContainerResources(memory_limit_in_bytes=24 << 20, memory_swap_limit_in_bytes=24 << 20)

MANY = 12
"""Enough containers to hit a race that is lost now and then."""


@pytest.fixture
def container_with_killed_child(containers: Containers) -> Container:
    """A container whose first process continues to run after the kernel has OOM-killed its child."""
    return containers.running(
        # `dd` allocates a buffer of one block, four times the limit
        first="dd if=/dev/zero of=/dev/null bs=96M count=1; echo child ended with $?",
        resources=SMALL,
        # 128 + SIGKILL
        wait_for_log="child ended with 137",
    )


@requirement("CTR-21")
# the limits of the range, which has 8 bits, and two codes between them
@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_the_exit_code_is_reported_exactly(containers: Containers, code: int) -> None:
    """ContainerStatus MUST report EXITED and the exit code when the process exits by itself.

    Source: ContainerStatus.state and exit_code.
    """
    status = containers.exited(script=f"exit {code}").status()

    assert status.state == cri.CONTAINER_EXITED
    assert status.exit_code == code


@requirement("CTR-21")
def test_the_finish_time_is_not_before_the_start_time(containers: Containers) -> None:
    """`finished_at` MUST NOT be before `started_at` when the process exits by itself.

    Source: ContainerStatus.started_at and finished_at. The process runs longer than the runtime needs to
    record its start.
    """
    status = containers.exited(script="sleep 0.3").status()

    started_at, finished_at = status.started_at, status.finished_at
    assert started_at > 0
    assert finished_at >= started_at


@requirement("CTR-22")
@pytest.mark.parametrize(("code", "reason"), [(0, "Completed"), (3, "Error")], ids=["success", "failure"])
def test_the_reason_distinguishes_success_from_failure(
    containers: Containers, code: int, reason: str
) -> None:
    """`reason` of an exited container SHOULD be Completed for the exit code 0 and Error for any other.

    Source: ContainerStatus.reason. The CRI states only its form; every runtime does so, and the kubelet shows
    the reason.
    """
    status = containers.exited(script=f"exit {code}").status()

    assert status.reason == reason


@requirement("CTR-23/code")
@requires(Capability.SHARED_PROCESSES)
@pytest.mark.parametrize(
    ("name", "number"), [("HUP", 1), ("SEGV", 11), ("KILL", 9)], ids=["hang-up", "segmentation fault", "kill"]
)
def test_exit_code_after_a_signal_is_128_plus_its_number(
    sandboxes: Sandboxes, containers: Containers, name: str, number: int
) -> None:
    """`exit_code` MUST be 128 plus the number of the signal when a signal kills the process.

    Source: ContainerStatus.exit_code. The PID namespace is the pod's, because the kernel does not deliver
    such a signal to the first process of a PID namespace from within.
    """
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=cri.POD, ipc=cri.POD))

    container = containers.running(script=f"kill -{name} $$", in_sandbox=pod)

    assert container.exited().exit_code == 128 + number


@requirement("CTR-24")
@requires(Capability.SHARED_KERNEL)
def test_an_oom_killed_container_has_the_reason_oomkilled(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus MUST report the reason OOMKilled and the exit code 137 when the kernel OOM-kills the
    first process.

    Source: ContainerStatus.reason, whose value for this case the CRI defines.
    """
    container = containers.running(
        # a buffer of four times the limit
        command=["/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=96M"],
        resources=SMALL,
    )

    # 128 + SIGKILL
    assert container.exited().exit_code == 137
    # the kernel's notification of the OOM kill may reach the daemon after the exit of the process
    runtime.eventually(
        "the reason OOMKilled", container.status, 10, lambda status: status.reason == "OOMKilled"
    )


@requirement("CTR-25/running")
def test_a_container_outlives_an_oom_killed_child(
    runtime: Runtime, container_with_killed_child: Container
) -> None:
    """A container MUST continue to run when the kernel OOM-kills a child of its first process, and
    StopContainer MUST stop it.

    Source: ContainerStatus.state, StopContainer.
    """
    assert container_with_killed_child.state() == cri.CONTAINER_RUNNING

    runtime.stub.StopContainer(
        cri.StopContainerRequest(container_id=container_with_killed_child.id, timeout=10)
    )

    assert container_with_killed_child.state() == cri.CONTAINER_EXITED


@requirement("CTR-25/reason")
def test_reason_after_a_child_was_oom_killed(
    runtime: Runtime, container_with_killed_child: Container, record_variant: RecordVariant
) -> None:
    """`reason` MAY be OOMKilled, before the container exits or after, if the kernel OOM-killed a child of the
    first process.

    Source: ContainerStatus.reason; the CRI defines it for the container, not for one process.
    """
    before = container_with_killed_child.status().reason

    runtime.stub.StopContainer(
        cri.StopContainerRequest(container_id=container_with_killed_child.id, timeout=10)
    )

    after = container_with_killed_child.status()
    record_variant(f"running: {before or 'no reason'}; ended: {after.reason or 'no reason'}")
    assert after.state == cri.CONTAINER_EXITED


@requirement("CTR-27")
def test_the_exit_of_an_instant_process_is_reported(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus MUST report EXITED and the exit code of a process that exits at once, even if it exited
    before StartContainer returned.

    Source: StartContainer, ContainerStatus.
    """
    # several, because a lost exit is a race
    instant = [containers.created(command=["/bin/false"]) for _ in range(4)]

    for container in instant:
        runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    ended = [container.exited() for container in instant]
    assert [status.exit_code for status in ended] == [1, 1, 1, 1]
    assert min(status.finished_at for status in ended) > 0


@requirement("CTR-26")
@requires(Capability.SHARED_KERNEL)
def test_each_of_many_oom_killed_containers_has_the_reason(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus SHOULD report the reason OOMKilled for each of many containers whose first processes
    the kernel OOM-kills at about the same time.

    Source: ContainerStatus.reason. The notification of the OOM kill races with that of the exit.
    """
    # four times the limit of 24 MiB
    allocate_96_mib = ["/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=96M"]
    killed = [containers.created(command=allocate_96_mib, resources=SMALL) for _ in range(MANY)]

    for container in killed:
        runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    for container in killed:
        container.exited()
    runtime.eventually(
        f"the reason OOMKilled for all {MANY}",
        lambda: Counter(container.status().reason for container in killed),
        10,
        lambda reasons: reasons == {"OOMKilled": MANY},
    )


@requirement("CTR-23/children")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_children_do_not_outlive_a_killed_first_process(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """When the first process of a container in the node's PID namespace is killed, its other processes SHOULD
    exit too, and the exit code MUST be 137.

    Source: ContainerStatus.exit_code; NamespaceOption.pid. Not stated by the CRI for other processes; the
    kubelet starts the container again, next to what is left of it.
    """
    tree = ProcessTree()
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=cri.NODE, ipc=cri.POD))
    container = containers.running(script=tree.script, in_sandbox=pod, wait_for_log="ready")
    runtime.eventually(
        "three processes in the host's process table",
        tree.alive,
        holds=lambda found: len(found) >= tree.SIZE,
    )

    os.kill(first_process(tree.mark), signal.SIGKILL)

    assert container.exited().exit_code == 137
    runtime.eventually("no process of the container", tree.alive, holds=lambda found: not found)
