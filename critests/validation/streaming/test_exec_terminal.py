"""EXE: commands with a terminal in a streaming session: output, sizes, control characters, and what happens
when the client disconnects.
"""

import contextlib
from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    ConditionNotMet,
    Container,
    Containers,
    RecordVariant,
    RemoteCommand,
    Runtime,
    StreamChannel,
    Streams,
    may_be_refused,
    requirement,
)

PRINT_SIZE_WHEN_IT_CHANGES = "trap 'stty size' WINCH; echo ready; while :; do usleep 20000; done"
"""A shell runs its traps between two commands, hence the short `usleep`. `stty` prints rows, then columns."""
Terminal = Callable[[str], RemoteCommand]


@pytest.fixture
def terminal(runtime: Runtime, running_container: Container, streams: Streams) -> Terminal:
    """Runs a shell script with a terminal and stdin in a running container."""
    return lambda script: streams.open(
        runtime.stub.Exec,
        cri.ExecRequest(
            container_id=running_container.id,
            cmd=["/bin/sh", "-c", script],
            stdin=True,
            stdout=True,
            tty=True,
        ),
    )


@requirement("EXE-02")
def test_exec_with_a_terminal_has_one_output(terminal: Terminal) -> None:
    """Exec with a terminal MUST send stderr on stdout, and end lines with CR LF, as terminals do.

    Source: ExecRequest.tty.
    """
    session = terminal("echo to stdout; echo to stderr >&2; read line")

    assert session.stdout_until(b"stderr\r\n") == b"to stdout\r\nto stderr\r\n"
    assert session.received().stderr == b""


@requirement("EXE-08")
def test_exec_sets_the_terminal_size_before_the_first_output(terminal: Terminal) -> None:
    """Exec MUST set the terminal to a size that the client sends as soon as the session is open.

    Source: ExecRequest.tty; the stream for sizes.
    """
    session = terminal(
        'until [ "$(stty size)" = "43 132" ]; do usleep 20000; done; echo size is set; read line'
    )

    session.resize(132, 43)

    session.stdout_until(b"size is set")


@requirement("EXE-08")
def test_exec_signals_a_new_terminal_size(terminal: Terminal) -> None:
    """Exec MUST signal a new terminal size to the command with SIGWINCH.

    Source: ExecRequest.tty; the stream for sizes.
    """
    session = terminal(PRINT_SIZE_WHEN_IT_CHANGES)
    session.stdout_until(b"ready")

    session.resize(101, 31)

    session.stdout_until(b"31 101\r\n")


@requirement("EXE-09")
def test_exec_ignores_a_terminal_size_of_zero(terminal: Terminal) -> None:
    """Exec SHOULD ignore a terminal size of zero and apply later sizes.

    Source: the stream for sizes.
    """
    session = terminal(PRINT_SIZE_WHEN_IT_CHANGES)
    session.stdout_until(b"ready")
    session.resize(101, 31)
    session.stdout_until(b"31 101\r\n")

    session.resize(0, 0)
    session.resize(102, 32)

    assert session.stdout_until(b"32 102\r\n") == b"32 102\r\n"


@requirement("EXE-09")
def test_exec_continues_after_an_invalid_terminal_size(terminal: Terminal) -> None:
    """Exec SHOULD NOT end the session when the client sends something other than a size on the resize stream.

    Source: the stream for sizes.
    """
    # the shell does not stay between the terminal and `cat`
    session = terminal("exec cat")

    session.send_raw(StreamChannel.RESIZE, b'{"Width": "wide", ')
    session.write(b"still here\n")

    # twice: the terminal echoes the input, and `cat` prints it
    session.stdout_until(b"still here\r\nstill here\r\n")


@requirement("EXE-10/no-leak")
# `; true` keeps the shell from replacing itself by `sleep`: `ps` must show the script
@pytest.mark.parametrize(
    "script", ["cat; sleep 1", "sleep 4321; true"], ids=["reads its input", "waits for something else"]
)
def test_exec_with_a_terminal_ends_with_its_client(
    terminal: Terminal, runtime: Runtime, running_container: Container, script: str
) -> None:
    """Exec with a terminal SHOULD end the command when the client disconnects.

    Source: ExecRequest.tty; not stated by the CRI, a terminal that is closed sends SIGHUP to its processes.
    """
    session = terminal(f"echo ready; {script}")
    session.stdout_until(b"ready")

    session.abort()  # no close frame: the connection is closed as if the client was killed

    runtime.eventually(
        "the end of the command",
        lambda: running_container.output("ps", "-o", "args"),
        5,
        lambda seen: script not in seen,
    )


@requirement("EXE-10/form")
def test_form_of_the_end_of_a_terminal_command_with_its_client(
    terminal: Terminal, runtime: Runtime, running_container: Container, record_variant: RecordVariant
) -> None:
    """Exec with a terminal MAY send SIGHUP to the command, close its stdin, or kill it when the client
    disconnects; the container MUST keep running.

    Source: ExecRequest.tty; the CRI does not say.
    """
    session = terminal(
        "trap 'echo hangup > /how; exit' HUP; echo ready; cat > /dev/null; echo the end of its input > /how"
    )
    session.stdout_until(b"ready")

    session.abort()

    # EXE-10/no-leak is about a command that never ends
    with contextlib.suppress(ConditionNotMet):
        runtime.eventually(
            "the end of the command",
            lambda: running_container.output("ps", "-o", "args"),
            5,
            lambda seen: "/how" not in seen,
        )
    how = running_container.exec("cat", "/how").stdout.decode().strip()
    lives = "/how" in running_container.output("ps", "-o", "args")
    record_variant(how or ("it goes on" if lives else "it is killed"))
    assert running_container.state() == cri.CONTAINER_RUNNING


@requirement("EXE-12/tty")
def test_exec_with_a_terminal_loses_no_output_before_its_end(terminal: Terminal) -> None:
    """Exec with a terminal SHOULD send, every time, what a command prints right before it exits.

    Source: ExecRequest.tty. Not stated by the CRI; otherwise users cannot rely on a command's last output.
    """
    # ten times, as a loss of output is a race
    script = "head -c 70000 /dev/zero | tr '\\0' x; printf last"

    outputs = [terminal(script).finish().stdout for _ in range(10)]

    assert [(len(output), output[-4:]) for output in outputs] == [(70004, b"last")] * 10


@requirement("EXE-13")
def test_exec_with_a_terminal_is_interrupted_by_control_c(terminal: Terminal) -> None:
    """Exec with a terminal MUST interrupt the foreground process when the client sends byte 3 on stdin.

    Source: ExecRequest.tty; termios(3), ISIG.
    """
    session = terminal("trap 'echo interrupted; read line' INT; echo ready; while :; do usleep 20000; done")
    session.stdout_until(b"ready")

    session.write(b"\x03")  # Ctrl-C; the terminal turns it into SIGINT

    session.stdout_until(b"interrupted\r\n")


@requirement("EXE-18")
def test_exec_with_a_terminal_without_input(
    runtime: Runtime, running_container: Container, streams: Streams, record_variant: RecordVariant
) -> None:
    """Exec with a terminal and without stdin MAY send the output or lose it; it MUST end with a status.

    Source: ExecRequest.tty and stdin; the CRI does not say.
    """
    # exits a moment later, as EXE-12/tty is about output right before the exit
    request = cri.ExecRequest(
        container_id=running_container.id,
        cmd=["/bin/sh", "-c", "echo printed; usleep 200000"],
        stdout=True,
        tty=True,
    )

    finished = streams.open(runtime.stub.Exec, request).finish()

    record_variant("the output comes" if b"printed" in finished.stdout else "output is lost")
    assert finished.status is not None, "the session ended without a status"


WITH_AND_WITHOUT = pytest.mark.parametrize("tty", [True, False], ids=["terminal", "no terminal"])


@requirement("STP-18")
@WITH_AND_WITHOUT
def test_a_session_works_during_the_grace_period(
    runtime: Runtime, containers: Containers, streams: Streams, *, tty: bool
) -> None:
    """Exec SHOULD run a command during the grace period of StopContainer, and a session that began before
    SHOULD continue until the container exits.

    Source: Exec, StopContainer; not stated by the CRI, a user's shell is of use until the end.
    """
    container = containers.running(on_term="echo stopping; while [ ! -e /go ]; do sleep 0.05; done; exit 4")

    def opened(script: str) -> RemoteCommand:
        command = ["/bin/sh", "-c", script]
        return streams.open(
            runtime.stub.Exec,
            cri.ExecRequest(container_id=container.id, cmd=command, stdin=True, stdout=True, tty=tty),
        )

    earlier = opened("echo begun; read line; echo earlier $line; read line")
    earlier.stdout_until(b"begun")
    stop = runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=container.id, timeout=20))
    container.wait_for_log("stopping")

    later = opened("echo later; read line")
    later.stdout_until(b"later")
    earlier.write(b"one\n")
    earlier.stdout_until(b"earlier one")

    assert not stop.done()
    with may_be_refused(grpc.StatusCode.UNAVAILABLE):
        # the container may exit before the command that makes it exit
        container.exec("touch", "/go")
    stop.result()
    assert container.status().exit_code == 4
