"""RCL, CTR, STP: an OCI runtime that fails at one of its steps, and how the daemon handles it."""

import contextlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.requests import ContainerOptions
from critests.node.wrappers.actions import LATE_FAILURE, Action, Delay
from critests.testing import (
    TERMINALS,
    Capability,
    Container,
    Fail,
    FaultyRuntime,
    Sandbox,
    disruptive,
    may_be_refused,
    must_be_refused,
    open_files,
    refused_with,
    requirement,
    requires,
    slow,
)
from critests.validation.runtime.concurrent_calls import reads_about, settled

pytestmark = disruptive

BROKEN = [Fail(1, "the runtime has broken down")]
FAILURES = 20
"""Number of failed starts, which together leave fewer open files than this."""
PATIENCE_SECONDS = 5.0
"""Deadline, before scaling, of a call that may wait for the OCI runtime that fails or hangs."""
SLOW_STEP_SECONDS = 12.0
"""Longer than the ten seconds after which known daemons give up a step by themselves."""
CLEANUP_SECONDS = 20.0
"""For a daemon that removes mounts, cgroups and snapshots in the background."""
NO_PROGRAM = ["/bin/critests-no-such-program"]
TERMINAL = pytest.mark.parametrize("tty", [False, True], ids=["pipes", "terminal"])


class LateFailure(NamedTuple):
    """A container whose creation or start fails, in most cases when its root file system and cgroup exist.

    Attributes:
        options: of its configuration.
        plan: actions of the OCI runtime.
    """

    options: ContainerOptions
    plan: Mapping[str, Sequence[Action]] = {}


LATE_FAILURES = {
    "no program": LateFailure({"command": NO_PROGRAM}),
    "working directory is a file": LateFailure({"working_dir": "/etc/passwd"}),
    "mount point below a file": LateFailure(
        {"mounts": [cri.Mount(container_path="/etc/passwd/below", host_path="/etc")]}
    ),
    "hook of the creation": LateFailure({}, {"create": [LATE_FAILURE]}),
    "start": LateFailure({}, {"start": BROKEN}),
}
FAILED_STARTS = pytest.mark.parametrize(
    "failure",
    [
        LateFailure({}, {"create": BROKEN}),
        # fails when the monitor of the container has received the terminal
        LateFailure({"command": NO_PROGRAM, "tty": True, "stdin": True}),
    ],
    ids=["pipes", "terminal"],
)


@pytest.fixture
def pod(faulty_runtime: FaultyRuntime) -> Sandbox:
    """A READY sandbox on a runtime whose OCI runtime can fail."""
    return faulty_runtime.runtime.sandbox()


def fail_to_start(faulty_runtime: FaultyRuntime, pod: Sandbox, failure: LateFailure) -> None:
    """Create a container whose start fails, and remove it if it is listed."""
    stub, containers = faulty_runtime.runtime.stub, faulty_runtime.runtime.containers
    with must_be_refused():
        containers.attempt(containers.config(**failure.options), in_sandbox=pod)
    inside = cri.ContainerFilter(pod_sandbox_id=pod.id)
    # it is listed if StartContainer fails, and not if CreateContainer fails: runtimes differ
    for entry in stub.ListContainers(cri.ListContainersRequest(filter=inside)).containers:
        stub.RemoveContainer(cri.RemoveContainerRequest(container_id=entry.id))


def count_open_files(faulty_runtime: FaultyRuntime, kind: str = "") -> int:
    """Count the open files of the runtime's processes (daemon, shims or monitors, containers), of one kind or
    all.
    """
    count = 0
    for pid in faulty_runtime.runtime.daemon.processes:
        # a process that has exited meanwhile has no open files
        with contextlib.suppress(FileNotFoundError):
            count += sum(file.startswith(kind) for file in open_files(pid))
    return count


@requirement("RCL-06")
def test_nothing_runs_while_the_oci_runtime_is_broken(faulty_runtime: FaultyRuntime) -> None:
    """RunPodSandbox or, without a sandbox process, the start of a container MUST fail while the handler's OCI
    runtime fails, and MUST succeed once it works again.

    Source: RunPodSandbox, StartContainer, whose success means that the sandbox is ready, or that the
    container runs.
    """
    sandboxes, containers = faulty_runtime.runtime.sandboxes, faulty_runtime.runtime.containers
    config = sandboxes.marked_config()

    with faulty_runtime.oci.planned({"create": BROKEN}), must_be_refused():
        containers.attempt(containers.config(), in_sandbox=sandboxes.attempt(config))

    for leftover in sandboxes.created_from(config):
        faulty_runtime.remove(leftover.id)
    pod = sandboxes.attempt(config)
    assert containers.attempt(containers.config(), in_sandbox=pod).state() == cri.CONTAINER_RUNNING


@requirement("CTR-18")
@slow
@FAILED_STARTS
def test_failed_starts_leave_no_files_open(
    faulty_runtime: FaultyRuntime, pod: Sandbox, failure: LateFailure
) -> None:
    """A container whose start fails in the OCI runtime SHOULD leave no files open, neither in the daemon nor
    in its child processes.

    Source: StartContainer. Not stated by the CRI; a crash loop would reach the limit of open files.
    """
    with faulty_runtime.oci.planned(failure.plan):
        # the first failure opens what the daemon opens only once
        fail_to_start(faulty_runtime, pod, failure)
        before = count_open_files(faulty_runtime)
        for _ in range(FAILURES):
            fail_to_start(faulty_runtime, pod, failure)

    faulty_runtime.runtime.eventually(
        f"fewer than {FAILURES} more files to be open than the {before} before {FAILURES} failed starts",
        lambda: count_open_files(faulty_runtime),
        holds=lambda now: now < before + FAILURES,
    )


@requirement("CTR-18")
@FAILED_STARTS
def test_a_failed_start_closes_the_pipes_of_its_container(
    faulty_runtime: FaultyRuntime, pod: Sandbox, failure: LateFailure
) -> None:
    """The pipes or the terminal of a container SHOULD be closed when StartContainer has failed in the OCI
    runtime.

    Source: StartContainer. Not stated by the CRI; a daemon that leaves closing them to its garbage collector
    runs out of descriptors when many containers start at once.
    """
    counts = []
    kind = TERMINALS if failure.options.get("tty") else "pipe:"
    with faulty_runtime.oci.planned(failure.plan):
        for _ in range(FAILURES):
            fail_to_start(faulty_runtime, pod, failure)
            counts.append(count_open_files(faulty_runtime, kind))

    # a program that runs just then has pipes, too, but not at most of the counts: hence the median
    assert statistics.median(counts) == min(counts), counts


@requirement("CTR-42")
@requires(Capability.SHARED_KERNEL)
@TERMINAL
@pytest.mark.parametrize("failure", LATE_FAILURES.values(), ids=LATE_FAILURES)
def test_container_that_failed_late_leaves_no_object(
    faulty_runtime: FaultyRuntime, pod: Sandbox, failure: LateFailure, *, tty: bool
) -> None:
    """A container whose creation or start fails when its root file system and its cgroup exist MUST leave no
    process, mount, cgroup or directory once it is removed, and no log file if CreateContainer failed.

    Source: CreateContainer, StartContainer, RemoveContainer. Not stated by the CRI; a crash loop would fill
    the node.
    """
    runtime, containers = faulty_runtime.runtime, faulty_runtime.runtime.containers
    # what the first container of a pod creates stays
    runtime.container(pod, command=["sleep", "3600"])
    before = runtime.daemon.objects(pod.config)
    config = containers.config(**failure.options)
    config.tty = config.stdin = tty
    created: list[str] = []

    with faulty_runtime.oci.planned(failure.plan), must_be_refused():
        created.append(runtime.stub.CreateContainer(containers.creation(config, pod)).container_id)
        containers.adopt(created[0], config, pod).start()

    if not created:
        assert not (pod.log_directory / config.log_path).exists(), "CreateContainer failed and left a log"
    for container_id in created:
        runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container_id))
    runtime.eventually(
        "everything of the container to go",
        lambda: runtime.daemon.objects(pod.config) - before,
        CLEANUP_SECONDS,
        lambda left: not left,
    )


@requirement("CTR-42")
def test_container_that_failed_late_can_be_created_again(faulty_runtime: FaultyRuntime, pod: Sandbox) -> None:
    """A container whose creation or start failed late MUST run when it is created again, with the same name
    and, if CreateContainer failed, the same attempt.

    Source: ContainerMetadata. Not stated by the CRI; the kubelet would otherwise retry for ever.
    """
    runtime, containers = faulty_runtime.runtime, faulty_runtime.runtime.containers
    config = containers.config()
    request = containers.creation(config, pod)

    with faulty_runtime.oci.planned({"create": [LATE_FAILURE]}), must_be_refused():
        container_id = runtime.stub.CreateContainer(request).container_id
        config.metadata.attempt += 1
        containers.adopt(container_id, config, pod).start()

    assert containers.attempt(config, in_sandbox=pod).state() == cri.CONTAINER_RUNNING


@requirement("RST-01")
@pytest.mark.parametrize("operation", ["state", "ps"])
def test_running_container_survives_a_start_of_the_daemon_in_which_a_step_fails(
    faulty_runtime: FaultyRuntime, pod: Sandbox, operation: str
) -> None:
    """A running container MUST NOT be reported as EXITED after a restart of the daemon, also if a question to
    the OCI runtime about it has failed meanwhile.

    Source: ContainerState, whose UNKNOWN is for what the runtime does not know. The kubelet would start the
    container once more.
    """
    container = faulty_runtime.runtime.container(pod)

    with faulty_runtime.oci.planned({operation: BROKEN}):
        faulty_runtime.runtime.restart()

    assert container.state() in {cri.CONTAINER_RUNNING, cri.CONTAINER_UNKNOWN}


@requirement("CTR-40/start")
def test_container_whose_start_failed_does_not_run_and_can_be_removed(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """StartContainer MUST fail if the OCI runtime fails, the container MUST NOT be RUNNING, and
    RemoveContainer MUST remove it.

    Source: StartContainer, ContainerState, RemoveContainer.
    """
    stub = faulty_runtime.runtime.stub
    container: Container = faulty_runtime.runtime.containers.created(in_sandbox=pod)

    with faulty_runtime.oci.planned({"start": BROKEN}), must_be_refused():
        stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    assert [entry.state for entry in container.entries()] != [cri.CONTAINER_RUNNING]
    stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
    assert container.entries() == []


@requirement("CTR-40/exec")
def test_failed_exec_leaves_the_container_running(faulty_runtime: FaultyRuntime, pod: Sandbox) -> None:
    """ExecSync MUST NOT report success if the OCI runtime fails to exec; the container MUST keep running, and
    the next ExecSync MUST work.

    Source: ExecSyncResponse.exit_code.
    """
    container = faulty_runtime.runtime.container(pod)
    request = container.exec_request("echo", "output")

    exit_code = 1
    with faulty_runtime.oci.planned({"exec": BROKEN}), may_be_refused():
        exit_code = faulty_runtime.runtime.stub.ExecSync(request).exit_code

    assert exit_code != 0
    assert container.state() == cri.CONTAINER_RUNNING
    assert faulty_runtime.runtime.stub.ExecSync(request).stdout == b"output\n"


@requirement("CTR-40/delete")
def test_container_whose_deletion_failed_can_be_removed(faulty_runtime: FaultyRuntime, pod: Sandbox) -> None:
    """StopContainer and RemoveContainer MUST remove a container after the OCI runtime has failed to delete
    it, when they are called again and the OCI runtime works.

    Source: StopContainer, RemoveContainer. Not stated by the CRI; the kubelet calls again.
    """
    runtime, stub = faulty_runtime.runtime, faulty_runtime.runtime.stub
    container = runtime.container(pod)
    stop = cri.StopContainerRequest(container_id=container.id, timeout=0)
    removal = cri.RemoveContainerRequest(container_id=container.id)

    with faulty_runtime.oci.planned({"delete": BROKEN}), may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        stub.StopContainer(stop, timeout=PATIENCE_SECONDS * runtime.scale)
        stub.RemoveContainer(removal, timeout=PATIENCE_SECONDS * runtime.scale)

    runtime.retry_until_ok(
        "StopContainer once more", lambda: stub.StopContainer(stop, timeout=runtime.one_try)
    )
    runtime.retry_until_ok(
        "RemoveContainer once more", lambda: stub.RemoveContainer(removal, timeout=runtime.one_try)
    )
    assert container.entries() == []


@requirement("CTR-40/delete")
@requires(Capability.SHARED_KERNEL)
@slow
@TERMINAL
def test_container_whose_deletion_is_slow_can_be_removed(
    faulty_runtime: FaultyRuntime, pod: Sandbox, *, tty: bool
) -> None:
    """StopContainer and RemoveContainer MUST remove a container with all its objects on the node although the
    OCI runtime needs twelve seconds to delete it; they may be called again.

    Source: StopContainer, RemoveContainer. Not stated by the CRI; a busy disk is as slow, and the kubelet
    calls again.
    """
    runtime, stub = faulty_runtime.runtime, faulty_runtime.runtime.stub
    runtime.container(pod, command=["sleep", "3600"])
    before = runtime.daemon.objects(pod.config)
    container = runtime.container(pod, tty=tty)
    stop = cri.StopContainerRequest(container_id=container.id, timeout=0)
    removal = cri.RemoveContainerRequest(container_id=container.id)
    slow_delete = {"delete": [Delay(SLOW_STEP_SECONDS * runtime.scale)]}

    with faulty_runtime.oci.planned(slow_delete), may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        stub.StopContainer(stop, timeout=2 * SLOW_STEP_SECONDS * runtime.scale)

    runtime.retry_until_ok("StopContainer", lambda: stub.StopContainer(stop, timeout=runtime.one_try))
    runtime.retry_until_ok("RemoveContainer", lambda: stub.RemoveContainer(removal, timeout=runtime.one_try))
    assert container.entries() == []
    runtime.eventually(
        "everything of the container to go",
        lambda: runtime.daemon.objects(pod.config) - before,
        CLEANUP_SECONDS,
        lambda left: not left,
    )


@requirement("STP-22")
def test_stop_whose_kill_fails_can_be_repeated(faulty_runtime: FaultyRuntime, pod: Sandbox) -> None:
    """StopContainer SHOULD NOT succeed while the OCI runtime fails to kill and the container runs; it SHOULD
    stop the container when it is called again and the OCI runtime works.

    Source: StopContainer. Not stated by the CRI; the kubelet calls again after an error.
    """
    runtime, stub = faulty_runtime.runtime, faulty_runtime.runtime.stub
    container = runtime.container(pod)
    stop = cri.StopContainerRequest(container_id=container.id, timeout=0)

    answered = False
    with faulty_runtime.oci.planned({"kill": BROKEN}), may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        stub.StopContainer(stop, timeout=PATIENCE_SECONDS * runtime.scale)
        answered = True

    assert not answered or container.state() == cri.CONTAINER_EXITED
    runtime.retry_until_ok(
        "StopContainer once more", lambda: stub.StopContainer(stop, timeout=runtime.one_try)
    )
    assert container.state() == cri.CONTAINER_EXITED


@requirement("STP-22")
@slow
def test_many_cancelled_stops_leave_the_container_manageable(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """StopContainer SHOULD leave the container listed and its status readable when it is called and cancelled
    a dozen times while the OCI runtime fails to kill; it SHOULD stop the container when the OCI runtime works
    again.

    Source: StopContainer. Not stated by the CRI; the kubelet repeats the call while a process cannot be
    killed.
    """
    runtime, stub = faulty_runtime.runtime, faulty_runtime.runtime.stub
    container = runtime.container(pod)
    stop = cri.StopContainerRequest(container_id=container.id, timeout=0)

    with faulty_runtime.oci.planned({"kill": BROKEN}):
        # several, as cancelled calls may queue up behind the lock of the first one
        for _ in range(12):
            with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
                stub.StopContainer(stop, timeout=0.5)
        assert len(container.entries()) == 1
        assert container.status().id == container.id

    runtime.retry_until_ok(
        "StopContainer once more", lambda: stub.StopContainer(stop, timeout=runtime.one_try)
    )
    assert container.state() == cri.CONTAINER_EXITED


@requirement("CNC-16/neighbour")
def test_container_is_usable_while_another_of_its_pod_is_created(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """Reads and ExecSync of a container MUST return while the OCI runtime hangs in the creation of another
    container of the same pod.

    Source: CreateContainer, StartContainer. Not stated by the CRI; a slow hook of one container would fail
    the probes of the others.
    """
    runtime, containers = faulty_runtime.runtime, faulty_runtime.runtime.containers
    used = runtime.container(pod)
    command: list[tuple[str, Callable[..., Any], Any]] = [
        ("ExecSync", runtime.stub.ExecSync, used.exec_request("true"))
    ]
    late = []

    with ThreadPoolExecutor(1) as thread, faulty_runtime.hanging(faulty_runtime.oci, "create"):
        creation = thread.submit(containers.attempt, containers.config(), in_sandbox=pod)
        faulty_runtime.until_held(faulty_runtime.oci)
        for name, call, request in (*command, *reads_about(runtime, used)):
            if creation.done():
                break
            try:
                call(request, timeout=PATIENCE_SECONDS * runtime.scale)
            except grpc.RpcError as error:
                code = refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED)
                late += [name] * (code is grpc.StatusCode.DEADLINE_EXCEEDED)

    assert late == []


@requirement("CNC-16/elsewhere")
def test_container_is_removed_while_stats_wait_for_another(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """RemoveContainer of a container in another pod MUST return in time while the OCI runtime hangs in the
    start of a container and a ListContainerStats is in progress.

    Source: RemoveContainer, StartContainer, ListContainerStats. Not stated by the CRI; the kubelet reads
    statistics all the time, and one container would block the whole node.
    """
    runtime = faulty_runtime.runtime
    elsewhere = runtime.container()
    starting = runtime.containers.created(in_sandbox=pod)
    removal = cri.RemoveContainerRequest(container_id=elsewhere.id)

    with faulty_runtime.hanging(faulty_runtime.oci, "start"):
        start = runtime.stub.StartContainer.future(cri.StartContainerRequest(container_id=starting.id))
        faulty_runtime.until_held(faulty_runtime.oci)
        stats = runtime.stub.ListContainerStats.future(cri.ListContainerStatsRequest())
        runtime.stub.RemoveContainer(removal, timeout=PATIENCE_SECONDS * runtime.scale)
        assert not start.done()

    settled([stats, start])
    assert elsewhere.entries() == []
