"""EXS: commands that ExecSync runs in a container, how they end and what they inherit."""

import time

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, may_be_refused, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.process import EXEC, FIRST_PROCESS
from critests.run.marks import requirement, requires, slow
from critests.run.outcomes import blocked

Ended = int | grpc.StatusCode

SMALL = cri.LinuxContainerResources(memory_limit_in_bytes=24 << 20, memory_swap_limit_in_bytes=24 << 20)
FILL_UP = f"head -c {22 << 20} /dev/zero > /dev/shm/full; echo full"
"""Fills all but two mebibytes of that limit; what stands in /dev/shm counts and cannot be written back to a
disk.
"""
ARGUMENTS = {
    "two arguments of 64 KiB": ["a" * 65536, "b" * 65536],
    "not ASCII": ["ä", "文", "🐧", "two  words"],
}


def tried(runtime: Runtime, request: cri.ExecSyncRequest, *allowed: grpc.StatusCode) -> tuple[Ended, float]:
    """Run a command and return its exit code, or the code with which it was refused, and the seconds it took.

    Args:
        runtime: under test.
        request: the command.
        allowed: codes that a call may end with beside refusals.
    """
    begin = time.perf_counter()
    ended: Ended
    try:
        ended = runtime.stub.ExecSync(request).exit_code
    except grpc.RpcError as error:
        ended = refused_with(error, *allowed)
    return ended, time.perf_counter() - begin


def processes(container: Container) -> list[str]:
    """Return the command lines of the processes that live in a container."""
    return container.output("ps", "-o", "args").splitlines()


@requirement("EXS-02")
@pytest.mark.parametrize("code", [0, 1, 126, 255])
def test_exec_sync_returns_the_exit_code(runtime: Runtime, running_container: Container, code: int) -> None:
    """ExecSync MUST return the exit code of the command, whatever it is, and MUST NOT fail for it.

    Source: ExecSyncResponse.exit_code.
    """
    answer = runtime.stub.ExecSync(running_container.script_request(f"exit {code}"))

    assert answer.exit_code == code


@requirement("EXS-03")
def test_exec_sync_of_a_missing_program(
    runtime: Runtime, running_container: Container, observe: Observe
) -> None:
    """ExecSync of a program that is not there MAY fail or return an exit code other than 0; the container
    lives on.

    Source: ExecSync; the CRI does not say which.
    """
    ended, _ = tried(runtime, running_container.exec_request("/no/such/program"))

    observe(f"exit code {ended}" if isinstance(ended, int) else f"fails with {ended.name}")
    assert ended != 0
    assert running_container.state() == cri.CONTAINER_RUNNING
    assert running_container.output("echo", "alive") == "alive"


@requirement("EXS-04")
@pytest.mark.parametrize(("name", "number"), [("TERM", 15), ("KILL", 9)])
def test_exec_sync_reports_death_by_a_signal(
    runtime: Runtime, running_container: Container, name: str, number: int
) -> None:
    """ExecSync of a command that a signal kills SHOULD return 128 plus the number of the signal.

    Source: ExecSyncResponse.exit_code; not stated by the CRI, shells and every OCI runtime count so.
    """
    answer = runtime.stub.ExecSync(running_container.script_request(f"kill -{name} $$"))

    assert answer.exit_code == 128 + number


@requirement("EXS-05")
def test_exec_sync_without_a_command_is_refused(runtime: Runtime, running_container: Container) -> None:
    """ExecSync SHOULD fail for an empty command.

    Source: ExecSyncRequest.cmd.
    """
    runtime.refusal(runtime.stub.ExecSync, running_container.exec_request())

    assert running_container.output("echo", "alive") == "alive"


@slow
@requirement("EXS-06")
def test_exec_sync_without_a_timeout_waits(runtime: Runtime, running_container: Container) -> None:
    """ExecSync with a timeout of 0 MUST wait for the command however long it takes.

    Source: ExecSyncRequest.timeout, whose 0 means none.
    """
    # longer than the time-outs that one would build in without much thought: 10, 20 and 30 seconds
    answer = runtime.stub.ExecSync(running_container.script_request("sleep 31; echo finished", timeout=0))

    assert answer.stdout == b"finished\n"
    assert answer.exit_code == 0


@requirement("EXS-07")
def test_exec_sync_reports_that_the_time_is_over(runtime: Runtime, running_container: Container) -> None:
    """ExecSync whose time-out expires MUST end soon after, with DeadlineExceeded or with an exit code other
    than 0.

    Source: ExecSyncRequest.timeout. The kubelet takes either for a probe that ran out of time, and no other
    error.
    """
    request = running_container.exec_request("sleep", "20", timeout=2)

    ended, seconds = tried(runtime, request, grpc.StatusCode.DEADLINE_EXCEEDED)

    assert ended is grpc.StatusCode.DEADLINE_EXCEEDED or (isinstance(ended, int) and ended != 0), (
        f"ended with {ended}"
    )
    # the time-out is in whole seconds, and who counts their ticks may miss a part of the first
    assert seconds >= 1, f"ended after {seconds:.1f} s, with a time-out of 2 s"
    # a busy machine may take seconds to kill the command and to answer
    assert seconds < 2 + 3 * runtime.scale, f"ended after {seconds:.1f} s, with a time-out of 2 s"


@requirement("EXS-08")
def test_exec_sync_kills_the_command_when_the_time_is_over(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync whose time-out expires MUST kill the command.

    Source: ExecSyncRequest.timeout.
    """
    request = running_container.exec_request("sleep", "4321", timeout=1)

    tried(runtime, request, grpc.StatusCode.DEADLINE_EXCEEDED)

    runtime.eventually(
        "the end of the command",
        lambda: processes(running_container),
        5,
        lambda seen: "sleep 4321" not in seen,
    )


@slow
@requirement("EXS-09")
def test_exec_sync_does_not_wait_for_children_when_the_time_is_over(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync whose time-out expires SHOULD return although a child of the command lives on and holds its
    output.

    Source: ExecSyncRequest.timeout; not stated by the CRI, a probe would hang otherwise.
    """
    # longer than the time-out and the margin below together
    left = f"{6 * runtime.scale:g}"
    request = running_container.script_request(f"sleep {left} & sleep {left}", timeout=1)

    _, seconds = tried(runtime, request, grpc.StatusCode.DEADLINE_EXCEEDED)

    assert seconds < 1 + 3 * runtime.scale, f"ended after {seconds:.1f} s, with a time-out of 1 s"


@requirement("EXS-15/exited")
def test_exec_sync_in_an_ended_container_is_refused(runtime: Runtime, containers: Containers) -> None:
    """ExecSync MUST fail in a container that has ended.

    Source: ExecSync.
    """
    container = containers.exited()

    runtime.refusal(runtime.stub.ExecSync, container.exec_request("echo", "ran"))


@requirement("EXS-15/form")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "ended"])
def test_form_of_exec_sync_in_a_container_that_does_not_run(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState", observe: Observe
) -> None:
    """ExecSync in a container that does not run MAY fail with any code; where a created one takes the
    command, it really runs.

    Source: ExecSync; the CRI does not say.
    """
    container = containers.in_state(state)

    try:
        answer = runtime.stub.ExecSync(container.exec_request("echo", "ran"))
    except grpc.RpcError as error:
        observe(f"fails with {refused_with(error).name}")
        return

    observe("runs the command")
    assert (answer.exit_code, answer.stdout) == (0, b"ran\n")


@requirement("EXS-17")
def test_exec_sync_inherits_environment_and_working_directory(
    runtime: Runtime, containers: Containers
) -> None:
    """A command MUST run with the environment and in the working directory of its container.

    Source: ExecSync, ContainerConfig.envs and working_dir.
    """
    container = containers.running(envs={"GIVEN": "given value"}, working_dir="/home/tester")

    answer = runtime.stub.ExecSync(container.script_request("echo $GIVEN; pwd"))

    assert answer.stdout.decode().splitlines() == ["given value", "/home/tester"]


@requirement("EXS-17")
def test_exec_sync_inherits_user_and_groups(runtime: Runtime, containers: Containers) -> None:
    """A command MUST run as the user and with the groups of its container.

    Source: ExecSync, LinuxContainerSecurityContext.run_as_user, run_as_group and supplemental_groups.
    """
    container = containers.running(
        security_context=cri.LinuxContainerSecurityContext(
            run_as_user=cri.Int64Value(value=1000),
            run_as_group=cri.Int64Value(value=2001),
            supplemental_groups=[3000],
        )
    )
    first = container.process_status(FIRST_PROCESS)

    answer = runtime.stub.ExecSync(container.exec_request("id", "-u"))

    assert answer.stdout == b"1000\n"
    seen = container.process_status(EXEC)
    assert (seen.uids, seen.gids) == ((1000,) * 4, (2001,) * 4)
    assert 3000 in seen.groups
    assert (seen.uids, seen.gids, seen.groups) == (first.uids, first.gids, first.groups)


@requirement("EXS-17")
def test_exec_sync_inherits_capabilities_and_restraints(containers: Containers) -> None:
    """A command MUST have no more capabilities than its container, and the same seccomp mode and
    no_new_privs.

    Source: ExecSync, LinuxContainerSecurityContext.capabilities, seccomp and no_new_privs.
    """
    container = containers.running(
        security_context=cri.LinuxContainerSecurityContext(
            capabilities=cri.Capability(drop_capabilities=["CHOWN"]), no_new_privs=True
        )
    )

    first, seen = container.process_status(FIRST_PROCESS), container.process_status(EXEC)

    assert seen.capabilities == first.capabilities
    assert not [name for name, held in seen.capabilities.items() if "CHOWN" in held]
    assert seen.seccomp_mode == first.seccomp_mode
    if "NoNewPrivs" not in first.fields:
        blocked("the container's kernel does not tell in /proc/PID/status whether a process has no_new_privs")
    assert first.no_new_privs
    assert seen.no_new_privs


@requirement("EXS-17")
def test_exec_sync_is_in_the_namespaces_of_its_container(
    runtime: Runtime, running_container: Container
) -> None:
    """A command MUST run in the namespaces of its container's first process.

    Source: ExecSync, NamespaceOption.
    """
    first, seen = (
        runtime.stub.ExecSync(
            running_container.script_request(
                # kernels do not have all kinds; what the links lead to has an inode per process in some
                f"cd /proc/{process}/ns && for kind in cgroup ipc mnt net pid uts;"
                " do [ ! -e $kind ] || readlink $kind; done"
            )
        )
        for process in ("1", "self")
    )

    assert seen.stdout, seen.stderr
    assert seen.stdout == first.stdout


@requirement("EXS-18")
@requires(Capability.SHARED_KERNEL)
def test_exec_sync_is_bound_by_the_limits_of_its_container(runtime: Runtime, containers: Containers) -> None:
    """A command MUST count against the limits of its container: one that takes more memory than the container
    may is killed.

    Source: ExecSync, LinuxContainerResources.memory_limit_in_bytes.
    """
    container = containers.running(resources=SMALL)

    # `dd` takes a buffer of the size of its block, four times the limit
    answer = runtime.stub.ExecSync(
        container.exec_request("dd", "if=/dev/zero", "of=/dev/null", "bs=96M", "count=1")
    )

    assert answer.exit_code == 128 + 9
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("EXS-24")
def test_exec_sync_fails_cleanly_where_memory_is_short(runtime: Runtime, containers: Containers) -> None:
    """ExecSync in a container at its memory limit SHOULD end soon: with an error, an exit code other than 0,
    or all of the output.

    Source: ExecSync, LinuxContainerResources.memory_limit_in_bytes.
    """
    container = containers.running(first=FILL_UP, resources=SMALL, wait_for_log="full")

    try:
        answer = runtime.stub.ExecSync(container.exec_request("echo", "hello"))
    except grpc.RpcError as error:
        refused_with(error)
    else:
        assert answer.exit_code or answer.stdout == b"hello\n", (
            "the command counts as a success, and its output is not there"
        )


@requirement("EXS-22")
@pytest.mark.parametrize("how", ["stopped", "removed"])
def test_exec_sync_ends_with_its_container(runtime: Runtime, running_container: Container, how: str) -> None:
    """ExecSync MUST end soon, with an error or an exit code other than 0, when its container is stopped or
    removed.

    Source: ExecSync, StopContainer, RemoveContainer.
    """
    call = runtime.stub.ExecSync.future(running_container.script_request("touch /begun; sleep 50", timeout=0))
    runtime.eventually(
        "the command to begin", lambda: running_container.exec("test", "-e", "/begun").exit_code == 0
    )

    if how == "stopped":
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=running_container.id, timeout=0))
    else:
        runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=running_container.id))

    runtime.eventually("the end of the call", call.done, 3)
    ended = call.code() if call.code() is not grpc.StatusCode.OK else call.result().exit_code
    assert ended not in {0, grpc.StatusCode.UNAVAILABLE}


@requirement("EXS-22")
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(cri.POD, id="the pod's", marks=requires(Capability.SHARED_PROCESSES)),
        pytest.param(cri.NODE, id="the host's"),
    ],
)
def test_exec_sync_ends_with_its_container_in_other_pid_namespaces(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, mode: "cri.NamespaceMode"
) -> None:
    """ExecSync MUST end soon, with an error or an exit code other than 0, when its container is stopped, also
    where the kernel does not end it with the container's first process.

    Source: ExecSync, StopContainer, NamespaceOption.pid.
    """
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=mode, ipc=cri.POD))
    container = containers.running(in_sandbox=pod)
    call = runtime.stub.ExecSync.future(container.script_request("touch /begun; sleep 50", timeout=0))
    runtime.eventually("the command to begin", lambda: container.exec("test", "-e", "/begun").exit_code == 0)

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))

    runtime.eventually("the end of the call", call.done, 3)
    ended = call.code() if call.code() is not grpc.StatusCode.OK else call.result().exit_code
    assert ended not in {0, grpc.StatusCode.UNAVAILABLE}


@requirement("EXS-23")
def test_exec_sync_that_the_client_gives_up(
    runtime: Runtime, running_container: Container, observe: Observe
) -> None:
    """A command whose client gives up MAY be ended or run to its end; it is gone in either case.

    Source: ExecSync; the CRI does not say.
    """
    before = runtime.eventually(
        "the container to wait", lambda: processes(running_container), holds=lambda seen: "sleep 3600" in seen
    )
    call = runtime.stub.ExecSync.future(running_container.exec_request("sleep", "3", timeout=20))
    runtime.eventually(
        "the command to begin", lambda: processes(running_container), holds=lambda seen: "sleep 3" in seen
    )
    begin = time.perf_counter()
    call.cancel()

    runtime.eventually(
        "the end of the command",
        lambda: processes(running_container),
        holds=lambda seen: len(seen) == len(before),
    )

    # it had almost three seconds left
    observe("is ended" if time.perf_counter() - begin < 1.5 else "runs to its end")
    assert running_container.state() == cri.CONTAINER_RUNNING


@requirement("EXS-25")
@pytest.mark.parametrize("given", ARGUMENTS)
def test_exec_sync_takes_arguments_as_they_are(
    runtime: Runtime, running_container: Container, given: str
) -> None:
    """ExecSync SHOULD hand over long arguments and such that are not ASCII unchanged.

    Source: ExecSyncRequest.cmd.
    """
    answer = runtime.stub.ExecSync(running_container.exec_request("printf", "%s\\n", *ARGUMENTS[given]))

    assert answer.stdout.decode().splitlines() == ARGUMENTS[given]


@requirement("EXS-25")
def test_exec_sync_reports_arguments_that_are_too_long(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync SHOULD fail or return an exit code other than 0 where the kernel refuses an argument for its
    length, and hand it over whole where the kernel takes it.

    Source: ExecSyncRequest.cmd; execve(2) of Linux takes no argument of more than 32 pages, others may.
    """
    given = "x" * (1 << 20)

    with may_be_refused():
        answer = runtime.stub.ExecSync(running_container.exec_request("echo", given))
        assert answer.exit_code != 0 or answer.stdout.decode() == given + "\n"

    assert running_container.output("echo", "alive") == "alive"
