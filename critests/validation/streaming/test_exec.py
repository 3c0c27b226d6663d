"""EXE: commands in a streaming session: output, input, status and end."""

import hashlib
import os
from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    Protocol,
    RecordVariant,
    Runtime,
    StreamChannel,
    Streams,
    UpgradeRefused,
    refused_with,
    requirement,
    requires,
    unsupported,
)

Ending = Callable[[cri.ExecRequest], str]

ALL_BYTES = bytes(range(256))
"""Bytes from 0x80 are not UTF-8 and those below 0x20 are control characters, which a server may mangle."""
PRINT_ALL_BYTES = 'i=0; while [ $i -lt 256 ]; do printf "\\\\$(printf %03o $i)"; i=$((i+1)); done'
LARGE_BYTES = 16 << 20
BEFORE_V4 = ("v2.channel.k8s.io", "channel.k8s.io")
"""v2 is for SPDY, where servers lose errors in the unversioned protocol; WebSocket has only the latter."""
BEYOND_BUFFERS = 24 << 20
"""A pipe buffers 64 KiB and sockets some megabytes before the writer blocks."""


@pytest.fixture
def ending(runtime: Runtime, streams: Streams) -> Ending:
    """Try to run a command, and return in words where and how it ended."""

    def run(request: cri.ExecRequest) -> str:
        try:
            session = streams.open(runtime.stub.Exec, request)
        except grpc.RpcError as error:
            return f"the call fails with {refused_with(error).name}"
        status = session.finish().status
        assert status is not None, "the session ended without a status"
        return "the command ends with success" if status.success else "the session ends with a failure"

    return run


def of_script(container: Container, script: str, *, stdin: bool = False) -> cri.ExecRequest:
    """Return the request to run a shell script with stdout and stderr."""
    return cri.ExecRequest(
        container_id=container.id, cmd=["/bin/sh", "-c", script], stdin=stdin, stdout=True, stderr=True
    )


@requirement("EXE-01")
def test_exec_separates_stdout_and_stderr(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec without a terminal MUST send stdout and stderr in separate streams, byte for byte.

    Source: ExecRequest.stdout and stderr.
    """
    script = f"{PRINT_ALL_BYTES}; printf 'to stderr' >&2"
    request = of_script(running_container, script)

    finished = streams.open(runtime.stub.Exec, request).finish()

    assert finished.stdout == ALL_BYTES
    assert finished.stderr == b"to stderr"


@requirement("EXE-03")
@pytest.mark.parametrize(
    "protocol", [pytest.param(Protocol.WEBSOCKET, marks=requires(Capability.EXEC_WEBSOCKET)), Protocol.SPDY]
)
def test_exec_passes_stdin(
    runtime: Runtime, running_container: Container, streams: Streams, protocol: Protocol
) -> None:
    """Exec MUST pass the bytes that the client writes to stdin to the command unchanged.

    Source: ExecRequest.stdin.
    """
    request = cri.ExecRequest(
        container_id=running_container.id, cmd=["head", "-c", "256"], stdin=True, stdout=True, stderr=True
    )
    session = streams.open(runtime.stub.Exec, request, protocol=protocol)

    session.write(ALL_BYTES)

    assert session.finish().stdout == ALL_BYTES


@requirement("EXE-03")
def test_exec_closes_stdin_with_the_clients_stream(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec MUST close the command's stdin when the client closes the stream, and send what the command prints
    after that.

    Source: ExecRequest.stdin; the half-close of a SPDY stream.
    """
    script = "cat; echo the input has ended"
    request = of_script(running_container, script, stdin=True)
    # v4 over WebSocket cannot close stdin alone
    session = streams.open(runtime.stub.Exec, request, protocol=Protocol.SPDY)

    session.write(b"one\n")
    # a half-close: output still arrives
    session.close_stdin()

    finished = session.finish()
    assert finished.stdout == b"one\nthe input has ended\n"
    assert finished.failure == ""


@requirement("EXE-04")
# 126 is also the shell's code for a program that it cannot execute; 255 is the largest code
@pytest.mark.parametrize("code", [0, 1, 126, 255])
def test_exec_reports_the_exit_code(
    runtime: Runtime, running_container: Container, streams: Streams, code: int
) -> None:
    """The error stream of Exec MUST carry a status: Success for exit code 0, else Failure with the reason
    NonZeroExitCode and the code as its cause.

    Source: the sub-protocol v4.channel.k8s.io, metav1.Status.
    """
    request = of_script(running_container, f"exit {code}")

    status = streams.open(runtime.stub.Exec, request).finish().status

    assert status is not None, "the session ended without a status"
    assert status.problem == ""
    assert (status.success, status.exit_code) == (code == 0, code)
    assert status.success or status.reason == "NonZeroExitCode"


@requirement("EXE-05")
def test_exec_reports_failure_as_text_to_old_clients(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """The error stream of Exec MUST carry a failure as plain text in sub-protocols before v4, and nothing on
    success.

    Source: the sub-protocol channel.k8s.io.
    """
    failing = of_script(running_container, "exit 3")
    succeeding = cri.ExecRequest(container_id=running_container.id, cmd=["true"], stdout=True, stderr=True)

    try:
        failed, succeeded = (
            streams.open(runtime.stub.Exec, request, subprotocols=BEFORE_V4).finish().status
            for request in (failing, succeeding)
        )
    except UpgradeRefused as error:
        unsupported(f"sub-protocols before v4: the server returns HTTP {error.status}")

    assert failed is not None, "nothing arrived on the error stream"
    assert failed.message.strip()
    assert not failed.message.lstrip().startswith("{")
    assert succeeded is None


@requirement("EXE-06")
def test_exec_of_a_missing_program_ends_with_a_failure(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec of a command that cannot be started MUST end the session with a status of Failure.

    Source: ExecRequest.cmd, the sub-protocol v4.channel.k8s.io.
    """
    request = cri.ExecRequest(
        container_id=running_container.id, cmd=["/no/such/program"], stdout=True, stderr=True
    )

    status = streams.open(runtime.stub.Exec, request).finish().status

    assert status is not None, "the session ended without a status"
    assert not status.success


@requirement("EXE-07")
def test_exec_status_comes_after_all_output(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """The status of Exec MUST come after all output of the command, as clients stop reading there.

    Source: the sub-protocol v4.channel.k8s.io.
    """
    # several times what a pipe buffers, 64 KiB
    script = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"
    request = of_script(running_container, script)

    finished = streams.open(runtime.stub.Exec, request).finish()

    channels = [frame.channel for frame in finished.frames if frame.payload]
    assert StreamChannel.ERROR in channels, "the session ended without a status"
    assert channels.index(StreamChannel.ERROR) == len(channels) - 1
    assert (finished.totals[StreamChannel.STDOUT], finished.totals[StreamChannel.STDERR]) == (300000, 300000)


@requirement("EXE-11")
def test_exec_transfers_large_input_and_output(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec MUST transfer 16 MiB of input and of output completely and in order.

    Source: Exec; not stated by the CRI, but copying files to and from containers relies on it.
    """
    sent, received = os.urandom(LARGE_BYTES), hashlib.sha256()
    request = cri.ExecRequest(
        container_id=running_container.id,
        cmd=["head", "-c", str(LARGE_BYTES)],
        stdin=True,
        stdout=True,
        stderr=True,
    )
    session = streams.open(
        runtime.stub.Exec,
        request,
        keep_bytes=0,  # the sink hashes the output, so that 16 MiB need not be in memory twice
        sink=lambda channel, data: received.update(data) if channel == StreamChannel.STDOUT else None,
    )

    # three times the usual time-out, for 32 MiB that pass shim, daemon and socket on a busy machine
    session.write(sent, 3 * streams.patience)

    finished = session.finish(3 * streams.patience)
    assert finished.totals[StreamChannel.STDOUT] == LARGE_BYTES
    assert received.hexdigest() == hashlib.sha256(sent).hexdigest()


@requirement("EXE-11")
def test_exec_waits_for_a_client_that_does_not_read(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec MUST block a command whose client does not read, and MUST lose none of its output.

    Source: Exec; not stated by the CRI, but otherwise the daemon would buffer the output in its memory.
    """
    # `tee` writes to the file what it writes to its output, so the size of the file shows its progress
    script = f"head -c {BEYOND_BUFFERS} /dev/zero | tee /written"
    request = of_script(running_container, script)
    session = streams.open(runtime.stub.Exec, request, keep_bytes=0)
    sizes = [0]

    def written() -> list[int]:
        response = running_container.exec("stat", "-c", "%s", "/written")
        sizes.append(int(response.stdout or 0))
        return sizes

    runtime.eventually("the command to block", written, holds=lambda sizes: 0 < sizes[-2] == sizes[-1])

    assert sizes[-1] < BEYOND_BUFFERS
    assert session.finish(3 * streams.patience).totals[StreamChannel.STDOUT] == BEYOND_BUFFERS


@requirement("EXE-12/no-tty")
def test_exec_loses_no_output_before_its_end(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec MUST send, every time, what a command prints right before it exits.

    Source: Exec without a terminal.
    """
    # more than the 64 KiB that a pipe buffers; ten times, as a loss of output is a race
    script = "head -c 70000 /dev/zero; printf last"
    request = of_script(running_container, script)

    outputs = [streams.open(runtime.stub.Exec, request).finish().stdout for _ in range(10)]

    assert [(len(output), output[-4:]) for output in outputs] == [(70004, b"last")] * 10


@requirement("EXE-14")
@pytest.mark.parametrize(
    ("stream", "expected"),
    [("stdout", (b"to stdout\n", b"")), ("stderr", (b"", b"to stderr\n"))],
    ids=["stdout alone", "stderr alone"],
)
def test_exec_with_one_output_only(
    runtime: Runtime,
    running_container: Container,
    streams: Streams,
    stream: str,
    expected: tuple[bytes, bytes],
) -> None:
    """Exec with only one of stdout and stderr MUST work and send that one only.

    Source: ExecRequest.stdout and stderr.
    """
    script = "echo to stdout; echo to stderr >&2"
    request = cri.ExecRequest(
        container_id=running_container.id,
        cmd=["/bin/sh", "-c", script],
        stdout=stream == "stdout",
        stderr=stream == "stderr",
    )

    finished = streams.open(runtime.stub.Exec, request).finish()

    assert (finished.stdout, finished.stderr) == expected
    assert finished.failure == ""


@requirement("EXE-14")
def test_exec_with_stdin_only(runtime: Runtime, running_container: Container, streams: Streams) -> None:
    """Exec with stdin only MUST work.

    Source: ExecRequest.stdin.
    """
    request = cri.ExecRequest(
        container_id=running_container.id,
        cmd=["/bin/sh", "-c", 'read line; echo "$line" > /received'],
        stdin=True,
    )
    session = streams.open(runtime.stub.Exec, request)

    session.write(b"the line\n")

    finished = session.finish()
    assert finished.failure == ""
    assert running_container.output("cat", "/received") == "the line"


@requirement("EXE-15/exited")
def test_exec_in_an_exited_container_fails(containers: Containers, ending: Ending) -> None:
    """Exec in an exited container MUST fail, at the call or with a status of Failure.

    Source: Exec.
    """
    container = containers.exited()

    assert (
        ending(cri.ExecRequest(container_id=container.id, cmd=["true"], stdout=True, stderr=True))
        != "the command ends with success"
    )


@requirement("EXE-15/form")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "exited"])
def test_form_of_exec_in_a_container_that_is_not_running(
    containers: Containers, ending: Ending, record_variant: RecordVariant, state: "cri.ContainerState"
) -> None:
    """Exec in a container that is not running MAY fail at the call or with its status, and in a created one
    MAY run; it MUST NOT hang.

    Source: Exec; the CRI does not say.
    """
    container = containers.in_state(state)

    record_variant(ending(cri.ExecRequest(container_id=container.id, cmd=["true"], stdout=True, stderr=True)))

    assert container.state() == state


@requirement("EXE-16")
def test_exec_ends_with_its_container(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec MUST end its session soon after the container is stopped.

    Source: StopContainer, Exec.
    """
    # far longer than the test waits
    request = of_script(running_container, "echo ready; sleep 300")
    session = streams.open(runtime.stub.Exec, request)
    session.stdout_until(b"ready\n")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=running_container.id, timeout=0))

    # half of the usual time-out: a killed process has no grace period
    status = session.finish(streams.patience / 2).status
    assert status is None or not status.success


@requirement("EXE-17")
def test_concurrent_execs_do_not_affect_each_other(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec MUST give each of many concurrent sessions in a container its own input, output and exit code.

    Source: Exec.
    """
    script = 'read word; echo "$word"; exit "$word"'
    request = of_script(running_container, script, stdin=True)
    sessions = [streams.open(runtime.stub.Exec, request) for _ in range(20)]

    for number, session in enumerate(sessions, 1):
        session.write(b"%d\n" % number)

    ends = [session.finish() for session in sessions]
    assert [end.stdout for end in ends] == [b"%d\n" % number for number in range(1, 21)]
    assert [end.status and end.status.exit_code for end in ends] == list(range(1, 21))


@requirement("EXE-19")
def test_exec_without_a_command_fails(running_container: Container, ending: Ending) -> None:
    """Exec without a command SHOULD fail, at the call or with a status of Failure.

    Source: ExecRequest.cmd.
    """
    request = cri.ExecRequest(container_id=running_container.id, stdout=True, stderr=True)

    assert ending(request) != "the command ends with success"
