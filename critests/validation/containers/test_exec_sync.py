"""EXS: ExecSync: exit codes, timeouts, and what a command inherits from its container."""

import time

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EXEC,
    FIRST_PROCESS,
    Capability,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    Sandboxes,
    blocked,
    may_be_refused,
    refused_with,
    requirement,
    requires,
    slow,
)

ExecResult = int | grpc.StatusCode
"""The exit code of the command, or the code of the error."""

SMALL = cri.LinuxContainerResources(memory_limit_in_bytes=24 << 20, memory_swap_limit_in_bytes=24 << 20)
FILL_UP = f"head -c {22 << 20} /dev/zero > /dev/shm/full; echo full"
"""Fills the limit of `SMALL` but for two mebibytes: files in /dev/shm count as memory of the container, and
the kernel cannot write them back to a disk.
"""
ARGUMENTS = {
    # execve(2) accepts 32 pages, 128 KiB, for one argument
    "two arguments of 64 KiB": ["a" * 65536, "b" * 65536],
    "not ASCII": ["ä", "文", "🐧", "two  words"],
}


def attempt(
    runtime: Runtime, request: cri.ExecSyncRequest, *allowed: grpc.StatusCode
) -> tuple[ExecResult, float]:
    """Call ExecSync and return the exit code or the code of the error, and the seconds that the call took.

    Args:
        runtime: the runtime under test.
        request: the request.
        allowed: codes that do not count as a rejection and that the call may still fail with.
    """
    begin = time.perf_counter()
    result: ExecResult
    try:
        result = runtime.stub.ExecSync(request).exit_code
    except grpc.RpcError as error:
        result = refused_with(error, *allowed)
    return result, time.perf_counter() - begin


def processes(container: Container) -> list[str]:
    """Return the command lines of the processes in a container."""
    return container.output("ps", "-o", "args").splitlines()


@requirement("EXS-02")
# with 126, shells report a command that they cannot execute: it is no error of the runtime
@pytest.mark.parametrize("code", [0, 1, 126, 255])
def test_exec_sync_returns_the_exit_code(runtime: Runtime, running_container: Container, code: int) -> None:
    """ExecSync MUST return the exit code of the command, and MUST NOT fail because of it.

    Source: ExecSyncResponse.exit_code.
    """
    response = runtime.stub.ExecSync(running_container.script_request(f"exit {code}"))

    assert response.exit_code == code


@requirement("EXS-03")
def test_exec_sync_of_a_missing_program(
    runtime: Runtime, running_container: Container, record_variant: RecordVariant
) -> None:
    """ExecSync of a program that does not exist MAY fail or return an exit code other than 0; the container
    continues to run.

    Source: ExecSync; not stated by the CRI.
    """
    result, _ = attempt(runtime, running_container.exec_request("/no/such/program"))

    record_variant(f"exit code {result}" if isinstance(result, int) else f"fails with {result.name}")
    assert result != 0
    assert running_container.state() == cri.CONTAINER_RUNNING
    assert running_container.output("echo", "alive") == "alive"


@requirement("EXS-04")
# a signal that a process may handle, and one that it cannot
@pytest.mark.parametrize(("name", "number"), [("TERM", 15), ("KILL", 9)])
def test_exec_sync_reports_death_by_a_signal(
    runtime: Runtime, running_container: Container, name: str, number: int
) -> None:
    """ExecSync of a command that a signal kills SHOULD return 128 plus the number of the signal.

    Source: ExecSyncResponse.exit_code; not stated by the CRI, shells and all OCI runtimes do so.
    """
    response = runtime.stub.ExecSync(running_container.script_request(f"kill -{name} $$"))

    assert response.exit_code == 128 + number


@requirement("EXS-05")
def test_exec_sync_without_a_command_is_refused(runtime: Runtime, running_container: Container) -> None:
    """ExecSync SHOULD fail for an empty command.

    Source: ExecSyncRequest.cmd.
    """
    runtime.refusal(runtime.stub.ExecSync, running_container.exec_request())

    # the rejected call did not affect the container
    assert running_container.output("echo", "alive") == "alive"


@slow
@requirement("EXS-06")
def test_exec_sync_without_a_timeout_waits(runtime: Runtime, running_container: Container) -> None:
    """ExecSync with a timeout of 0 MUST wait until the command exits.

    Source: ExecSyncRequest.timeout, where 0 means no timeout.
    """
    # longer than likely default timeouts: 10, 20, 30, 60 and 90 seconds
    request = running_container.script_request("sleep 92; echo finished", timeout=0)

    response = runtime.stub.ExecSync(request, timeout=92 + 30 * runtime.scale)

    assert response.stdout == b"finished\n"
    assert response.exit_code == 0


@requirement("EXS-07")
def test_exec_sync_returns_when_its_timeout_expires(runtime: Runtime, running_container: Container) -> None:
    """ExecSync MUST return soon after its timeout expires, with DeadlineExceeded or with an exit code other
    than 0.

    Source: ExecSyncRequest.timeout. The kubelet takes these two, and no other error, for a probe that timed
    out.
    """
    # longer than the timeout and the margin below together
    request = running_container.exec_request("sleep", "20", timeout=2)

    result, seconds = attempt(runtime, request, grpc.StatusCode.DEADLINE_EXCEEDED)

    assert result is grpc.StatusCode.DEADLINE_EXCEEDED or (isinstance(result, int) and result != 0), (
        f"ExecSync returned {result}"
    )
    # the timeout is in whole seconds, and a runtime that counts ticks of a second may lose part of the first
    assert seconds >= 1, f"ExecSync returned after {seconds:.1f} s, with a timeout of 2 s"
    # a busy machine may take seconds to kill the command and to respond
    assert seconds < 2 + 3 * runtime.scale, f"ExecSync returned after {seconds:.1f} s, with a timeout of 2 s"


@requirement("EXS-08")
def test_exec_sync_kills_the_command_when_its_timeout_expires(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync MUST kill the command when its timeout expires.

    Source: ExecSyncRequest.timeout.
    """
    # a number that no other command line in the container has
    request = running_container.exec_request("sleep", "4321", timeout=1)

    attempt(runtime, request, grpc.StatusCode.DEADLINE_EXCEEDED)

    runtime.eventually(
        "the end of the command",
        lambda: processes(running_container),
        5,
        lambda lines: "sleep 4321" not in lines,
    )


@slow
@requirement("EXS-09")
def test_exec_sync_does_not_wait_for_children_after_its_timeout(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync SHOULD return when its timeout expires although a child of the command still runs and holds
    the command's output open.

    Source: ExecSyncRequest.timeout; not stated by the CRI, a probe would hang otherwise.
    """
    # longer than the timeout and the margin below together
    lasting = f"{6 * runtime.scale:g}"
    request = running_container.script_request(f"sleep {lasting} & sleep {lasting}", timeout=1)

    _, seconds = attempt(runtime, request, grpc.StatusCode.DEADLINE_EXCEEDED)

    assert seconds < 1 + 3 * runtime.scale, f"ExecSync returned after {seconds:.1f} s, with a timeout of 1 s"


@requirement("EXS-15/exited")
def test_exec_sync_in_an_exited_container_is_refused(runtime: Runtime, containers: Containers) -> None:
    """ExecSync MUST fail in an exited container.

    Source: ExecSync.
    """
    container = containers.exited()

    runtime.refusal(runtime.stub.ExecSync, container.exec_request("echo", "ran"))


@requirement("EXS-15/form")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "exited"])
def test_form_of_exec_sync_in_a_container_that_does_not_run(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState", record_variant: RecordVariant
) -> None:
    """ExecSync in a container that does not run MAY fail with any code; if it succeeds in a created
    container, it runs the command.

    Source: ExecSync; not stated by the CRI.
    """
    container = containers.in_state(state)

    try:
        response = runtime.stub.ExecSync(container.exec_request("echo", "ran"))
    except grpc.RpcError as error:
        record_variant(f"fails with {refused_with(error).name}")
        return

    record_variant("runs the command")
    assert (response.exit_code, response.stdout) == (0, b"ran\n")


@requirement("EXS-17/context")
def test_exec_sync_inherits_environment_and_working_directory(
    runtime: Runtime, containers: Containers
) -> None:
    """ExecSync MUST run the command with the environment and in the working directory of the container.

    Source: ExecSync, ContainerConfig.envs and working_dir.
    """
    container = containers.running(envs={"GIVEN": "given value"}, working_dir="/home/tester")

    response = runtime.stub.ExecSync(container.script_request("echo $GIVEN; pwd"))

    assert response.stdout.decode().splitlines() == ["given value", "/home/tester"]


@requirement("EXS-17/context")
def test_exec_sync_inherits_user_and_groups(runtime: Runtime, containers: Containers) -> None:
    """ExecSync MUST run the command as the user and with the groups of the container.

    Source: ExecSync, LinuxContainerSecurityContext.run_as_user, run_as_group and supplemental_groups.
    """
    container = containers.running(
        security_context=cri.LinuxContainerSecurityContext(
            run_as_user=cri.Int64Value(value=1000),
            # not the primary group of the user in /etc/passwd, which is 1000
            run_as_group=cri.Int64Value(value=2001),
            # /etc/group has no such group of the user
            supplemental_groups=[3000],
        )
    )
    first = container.process_status(FIRST_PROCESS)

    response = runtime.stub.ExecSync(container.exec_request("id", "-u"))

    assert response.stdout == b"1000\n"
    command = container.process_status(EXEC)
    # real, effective, saved and file system id
    assert (command.uids, command.gids) == ((1000,) * 4, (2001,) * 4)
    assert 3000 in command.groups
    assert (command.uids, command.gids, command.groups) == (first.uids, first.gids, first.groups)


@requirement("EXS-17/context")
def test_exec_sync_inherits_capabilities_and_seccomp_mode(containers: Containers) -> None:
    """ExecSync MUST run the command with no more capabilities than the container has, and with its seccomp
    mode.

    Source: ExecSync, LinuxContainerSecurityContext.capabilities and seccomp.
    """
    container = containers.running(
        # runtimes grant CHOWN by default
        security_context=cri.LinuxContainerSecurityContext(
            capabilities=cri.Capability(drop_capabilities=["CHOWN"])
        )
    )

    first, command = container.process_status(FIRST_PROCESS), container.process_status(EXEC)

    assert command.capabilities == first.capabilities
    assert not [name for name, held in command.capabilities.items() if "CHOWN" in held]
    assert command.seccomp_mode == first.seccomp_mode


@requirement("EXS-17/no-new-privs")
def test_exec_sync_inherits_no_new_privs(containers: Containers) -> None:
    """ExecSync MUST run the command with the `no_new_privs` of the container.

    Source: ExecSync, LinuxContainerSecurityContext.no_new_privs.
    """
    container = containers.running(security_context=cri.LinuxContainerSecurityContext(no_new_privs=True))

    command = container.process_status(EXEC)

    if "NoNewPrivs" not in command.fields:
        blocked("/proc/PID/status of the container's kernel does not have NoNewPrivs")
    assert command.no_new_privs


@requirement("EXS-17/context")
def test_exec_sync_is_in_the_namespaces_of_its_container(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync MUST run the command in the namespaces of the container's first process.

    Source: ExecSync, NamespaceOption.
    """
    first, command = (
        runtime.stub.ExecSync(
            running_container.script_request(
                # not every kernel has all kinds; the text of a link names the namespace, while the inode of
                # the file behind it is one per process in some kernels
                f"cd /proc/{process}/ns && for kind in cgroup ipc mnt net pid uts;"
                " do [ ! -e $kind ] || readlink $kind; done"
            )
        )
        for process in ("1", "self")
    )

    assert command.stdout, command.stderr
    assert command.stdout == first.stdout


@requirement("EXS-18")
@requires(Capability.SHARED_KERNEL)
def test_exec_sync_is_bound_by_the_limits_of_its_container(runtime: Runtime, containers: Containers) -> None:
    """ExecSync MUST run the command within the limits of the container: the kernel kills a command that
    exceeds the memory limit.

    Source: ExecSync, LinuxContainerResources.memory_limit_in_bytes.
    """
    container = containers.running(resources=SMALL)

    # `dd` allocates a buffer of one block, four times the limit
    response = runtime.stub.ExecSync(
        container.exec_request("dd", "if=/dev/zero", "of=/dev/null", "bs=96M", "count=1")
    )

    # SIGKILL
    assert response.exit_code == 128 + 9
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("EXS-24")
def test_exec_sync_fails_cleanly_at_the_memory_limit(runtime: Runtime, containers: Containers) -> None:
    """ExecSync in a container at its memory limit SHOULD return soon: with an error, an exit code other than
    0, or the whole output.

    Source: ExecSync, LinuxContainerResources.memory_limit_in_bytes.
    """
    container = containers.running(first=FILL_UP, resources=SMALL, wait_for_log="full")

    try:
        response = runtime.stub.ExecSync(container.exec_request("echo", "hello"))
    except grpc.RpcError as error:
        refused_with(error)
    else:
        assert response.exit_code or response.stdout == b"hello\n", (
            "ExecSync reports success without the output"
        )


@requirement("EXS-22")
@pytest.mark.parametrize("how", ["stopped", "removed"])
def test_exec_sync_ends_with_its_container(runtime: Runtime, running_container: Container, how: str) -> None:
    """ExecSync MUST return soon, with an error or an exit code other than 0, when its container is stopped or
    removed.

    Source: ExecSync, StopContainer, RemoveContainer.
    """
    # without a timeout of its own, so that only the stop can end the call in time
    call = runtime.stub.ExecSync.future(running_container.script_request("touch /ready; sleep 50", timeout=0))
    runtime.eventually(
        # a file shows the start: ExecSync returns output only when the command has exited
        "the command to start",
        lambda: running_container.exec("test", "-e", "/ready").exit_code == 0,
    )

    if how == "stopped":
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=running_container.id, timeout=0))
    else:
        runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=running_container.id))

    runtime.eventually("the end of the call", call.done, 3)
    result = call.code() if call.code() is not grpc.StatusCode.OK else call.result().exit_code
    # UNAVAILABLE is a lost connection to the daemon, not the end of the command
    assert result not in {0, grpc.StatusCode.UNAVAILABLE}


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
    """ExecSync MUST return soon, with an error or an exit code other than 0, when its container is stopped,
    also if the kernel does not kill the command with the container's first process.

    Source: ExecSync, StopContainer, NamespaceOption.pid.
    """
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=mode, ipc=cri.POD))
    container = containers.running(in_sandbox=pod)
    call = runtime.stub.ExecSync.future(container.script_request("touch /ready; sleep 50", timeout=0))
    runtime.eventually("the command to start", lambda: container.exec("test", "-e", "/ready").exit_code == 0)

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))

    runtime.eventually("the end of the call", call.done, 3)
    result = call.code() if call.code() is not grpc.StatusCode.OK else call.result().exit_code
    assert result not in {0, grpc.StatusCode.UNAVAILABLE}


@requirement("EXS-23")
def test_exec_sync_that_the_client_cancels(
    runtime: Runtime, running_container: Container, record_variant: RecordVariant
) -> None:
    """ExecSync MAY kill the command when the client cancels the call, or let it run until it exits; it leaves
    no process in either case.

    Source: ExecSync; not stated by the CRI.
    """
    before = runtime.eventually(
        # a container that has not yet started its own `sleep` would be counted with one process less
        "the container to wait",
        lambda: processes(running_container),
        holds=lambda lines: "sleep 3600" in lines,
    )
    # short, as a runtime may let it run until it exits
    call = runtime.stub.ExecSync.future(running_container.exec_request("sleep", "3", timeout=20))
    runtime.eventually(
        "the command to start", lambda: processes(running_container), holds=lambda lines: "sleep 3" in lines
    )
    begin = time.perf_counter()
    call.cancel()

    runtime.eventually(
        "the end of the command",
        lambda: processes(running_container),
        holds=lambda lines: len(lines) == len(before),
    )

    # half of the three seconds that the command takes by itself
    record_variant("is ended" if time.perf_counter() - begin < 1.5 else "runs to its end")
    assert running_container.state() == cri.CONTAINER_RUNNING


@requirement("EXS-25")
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_exec_sync_passes_arguments_unchanged(
    runtime: Runtime, running_container: Container, arguments: str
) -> None:
    """ExecSync SHOULD pass long arguments and arguments that are not ASCII to the command unchanged.

    Source: ExecSyncRequest.cmd.
    """
    response = runtime.stub.ExecSync(running_container.exec_request("printf", "%s\\n", *ARGUMENTS[arguments]))

    assert response.stdout.decode().splitlines() == ARGUMENTS[arguments]


@requirement("EXS-25")
def test_exec_sync_reports_arguments_that_are_too_long(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync SHOULD fail or return an exit code other than 0 if the kernel rejects an argument as too long,
    and pass the argument whole if the kernel accepts it.

    Source: ExecSyncRequest.cmd; execve(2) of Linux rejects an argument of more than 32 pages, other kernels
    may accept it.
    """
    # eight times the 128 KiB that execve(2) of Linux accepts for one argument
    argument = "x" * (1 << 20)

    with may_be_refused():
        response = runtime.stub.ExecSync(running_container.exec_request("echo", argument))
        if response.exit_code == 0:
            assert response.stdout.decode() == argument + "\n"

    assert running_container.output("echo", "alive") == "alive"
