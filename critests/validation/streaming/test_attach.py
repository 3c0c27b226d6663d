"""ATT: sessions attached to the first process of a container."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FOREVER,
    Container,
    Containers,
    Protocol,
    RecordVariant,
    RemoteCommand,
    Runtime,
    SessionEnded,
    StreamChannel,
    StreamRefused,
    Streams,
    UpgradeRefused,
    refused_with,
    requirement,
)
from critests.validation.streaming.numbered import NUMBERED

TICKING = "while :; do echo tick; echo tock >&2; usleep 50000; done"
"""Endless output, as a runtime need not show a client what was printed before it attached."""
ECHO_LINES = 'while read line; do echo "got $line"; done'
TICK_UNTIL_INPUT = f"{TICKING} & read go; kill $!; wait; echo ready; "
"""Lets a client wait for a tick, which shows that it is attached, before it sends its data."""
TICK_THEN_LAST_LINE = f"{TICKING} & read go; kill $!; wait; echo last words"
"""`wait` makes sure that the killed loop prints nothing after the last line."""
LINES = 6000
FLOOD = (
    "line=$(head -c 4000 /dev/zero | tr '\\0' x); read go;"
    f" i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo $i $line; done; echo done; {FOREVER}"
)
"""Prints 24 MB after a line of input: more than pipes and sockets buffer if nobody reads."""
STALLED_SECONDS = 1.0
"""Without more output for this long, the log has stopped growing."""
PROMPT_SECONDS = 5.0
"""These calls take milliseconds on an idle machine; a call that waits for the client never returns."""

AttachResult = Callable[[cri.AttachRequest], str]
Attached = Callable[[str], RemoteCommand]


@dataclass(frozen=True)
class Stalled:
    """A container that prints much output, and an attached client that does not read.

    Attributes:
        runtime: the runtime of both.
        container: the container.
        session: the client's session.
    """

    runtime: Runtime
    container: Container
    session: RemoteCommand

    def printed(self) -> int:
        """Return the size of the log in bytes."""
        return self.container.written_log.stat().st_size

    def until_it_stalls(self) -> bool:
        """Wait until the log stops growing or is complete; return whether it is incomplete."""
        seen = [(time.monotonic(), 0)]

        def quiet() -> bool:
            size = self.printed()
            if size != seen[-1][1]:
                seen.append((time.monotonic(), size))
            # every line has 4000 letters, and a number and the prefix of the log besides
            whole = size > LINES * 4000
            return whole or (size > 0 and time.monotonic() - seen[-1][0] > STALLED_SECONDS)

        self.runtime.eventually("the log to be complete, or to stop growing", quiet, 30)
        return self.printed() <= LINES * 4000


@pytest.fixture
def stalled(runtime: Runtime, containers: Containers, streams: Streams) -> Stalled:
    """A container that prints much output, and an attached client that does not read."""
    container = containers.running(script=FLOOD, stdin=True)
    request = cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True)
    session = streams.open(runtime.stub.Attach, request, keep_bytes=0)
    session.write(b"go\n")
    return Stalled(runtime, container, session)


@pytest.fixture
def attach_result(runtime: Runtime, streams: Streams) -> AttachResult:
    """Try to attach to a process that prints ticks, and return the result in words."""

    def attach(request: cri.AttachRequest) -> str:
        try:
            streams.open(runtime.stub.Attach, request).stdout_until(b"tick")
        except grpc.RpcError as error:
            return f"the call fails with {refused_with(error).name}"
        except UpgradeRefused as error:
            return f"the upgrade is refused with HTTP {error.status}"
        except StreamRefused:
            return "a stream is refused"
        except SessionEnded:
            return "the session ends"
        return "the output comes"

    return attach


@pytest.fixture
def attached(runtime: Runtime, containers: Containers, streams: Streams) -> Attached:
    """Attach to a container that runs a script, and return once it has printed that it is ready."""

    def attach(script: str) -> RemoteCommand:
        container = containers.running(script=script, stdin=True)
        request = cri.AttachRequest(container_id=container.id, stdin=True, stdout=True)
        session = streams.open(runtime.stub.Attach, request)
        session.stdout_until(b"tick\n")
        session.write(b"go\n")
        session.stdout_until(b"ready\n")
        return session

    return attach


def after_ready(session: RemoteCommand) -> bytes:
    """Return the output after the line `ready`."""
    return session.received().stdout.partition(b"ready\n")[2]


@requirement("ATT-01")
def test_attach_sends_stdout_and_stderr(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """Attach MUST send what the process prints after the client has attached, stdout and stderr in separate
    streams.

    Source: AttachRequest.stdout and stderr.
    """
    container = containers.running(script=TICKING)

    session = streams.open(
        runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)
    )

    session.stdout_until(b"tick\n")
    session.read_until(StreamChannel.STDERR, b"tock\n")
    received = session.received()
    assert b"tock" not in received.stdout
    assert b"tick" not in received.stderr


@requirement("ATT-01")
def test_attach_without_stdin_sends_the_output_of_a_container_with_stdin(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """Attach with stdout only to a container that has stdin MUST send the output for as long as the client is
    attached.

    Source: AttachRequest.stdin and stdout, ContainerConfig.stdin.
    """
    container = containers.running(script=TICKING, stdin=True)

    # SPDY, because a session over WebSocket always has a channel for stdin
    session = streams.open(
        runtime.stub.Attach,
        cri.AttachRequest(container_id=container.id, stdout=True, stderr=True),
        protocol=Protocol.SPDY,
    )

    session.stdout_until(lambda seen: seen.count(b"tick\n") >= 3)


@requirement("ATT-02")
def test_attach_passes_stdin(attached: Attached) -> None:
    """Attach with stdin to a container that has stdin MUST pass the client's input to the process, and send
    its output, once.

    Source: AttachRequest.stdin and stdout, ContainerConfig.stdin.
    """
    session = attached(f"{TICK_UNTIL_INPUT}{ECHO_LINES}")

    session.write(b"the line\n")
    session.write(b"another\n")

    session.stdout_until(b"got another\n")
    assert after_ready(session) == b"got the line\ngot another\n"


@requirement("ATT-02")
def test_attach_transfers_large_input_and_output(attached: Attached) -> None:
    """Attach MUST transfer large amounts of input and output completely and unchanged.

    Source: AttachRequest.stdin and stdout, ContainerConfig.stdin.
    """
    session = attached(f"{TICK_UNTIL_INPUT}cat")

    session.write(NUMBERED)

    session.stdout_until(lambda seen: len(seen) >= len(NUMBERED))
    assert after_ready(session) == NUMBERED


@requirement("ATT-03")
def test_attach_with_stdin_to_a_container_without(
    containers: Containers, attach_result: AttachResult, record_variant: RecordVariant
) -> None:
    """Attach with stdin to a container that has none MAY be rejected, or send the output; the container MUST
    keep running.

    Source: AttachRequest.stdin, ContainerConfig.stdin; the CRI does not say.
    """
    container = containers.running(script=TICKING)

    record_variant(
        attach_result(cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True))
    )

    assert container.state() == cri.CONTAINER_RUNNING


@requirement("ATT-04")
@pytest.mark.parametrize("terminal", ["with a terminal", "without a terminal"])
def test_attach_with_another_tty_than_the_containers(
    containers: Containers, attach_result: AttachResult, record_variant: RecordVariant, terminal: str
) -> None:
    """Attach with another `tty` than the container's MAY be rejected, or send the output; the container MUST
    keep running.

    Source: AttachRequest.tty, which the caller must set to the container's.
    """
    tty = terminal == "with a terminal"
    container = containers.running(script=TICKING, tty=tty)

    result = attach_result(cri.AttachRequest(container_id=container.id, stdout=True, stderr=tty, tty=not tty))

    record_variant(f"{result} of a container made {terminal}")
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("ATT-05")
def test_attach_to_a_terminal(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """Attach to a terminal MUST send stdout and stderr as one output, with CR LF at the end of lines.

    Source: AttachRequest.tty, ContainerConfig.tty.
    """
    container = containers.running(script=TICKING, stdin=True, tty=True)

    session = streams.open(
        runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, tty=True)
    )

    session.stdout_until(b"tick\r\ntock\r\n")
    assert session.received().stderr == b""


@requirement("ATT-05")
def test_attach_sets_the_size_of_the_terminal(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """Attach MUST set the size of the container's terminal to the size that the client sends.

    Source: AttachRequest.tty; the stream for sizes.
    """
    # `stty size` prints rows and columns, resize() takes width and height
    script = 'until [ "$(stty size)" = "43 132" ]; do usleep 20000; done; echo size is set; read line'
    container = containers.running(script=script, stdin=True, tty=True)
    session = streams.open(
        runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, tty=True)
    )

    # other than the 0 by 0 of a new terminal and the usual 80 by 24
    session.resize(132, 43)

    runtime.eventually(
        "the process to see the size",
        lambda: "".join(container.log_lines()),
        holds=lambda log: "size is set" in log,
    )


@requirement("ATT-06")
def test_attach_again_after_detaching(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """Attach MUST work again after a client has detached, if `stdin_once` is false: the process keeps
    running and gets the input of the next client.

    Source: ContainerConfig.stdin_once, Attach.
    """
    container = containers.running(script=ECHO_LINES, stdin=True)
    request = cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True)
    first = streams.open(runtime.stub.Attach, request)
    first.write(b"first\n")
    container.wait_for_log("got first")
    first.close()

    second = streams.open(runtime.stub.Attach, request)

    second.write(b"second\n")
    container.wait_for_log("got second")
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("ATT-07")
def test_detaching_closes_stdin_with_stdin_once(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """Attach MUST close the process's stdin when the client detaches, if `stdin_once` is true.

    Source: ContainerConfig.stdin_once.
    """
    container = containers.running(script="cat; exit 7", stdin=True, stdin_once=True)
    session = streams.open(
        runtime.stub.Attach,
        cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True),
    )
    session.write(b"once\n")
    container.wait_for_log("once")

    session.close()

    assert container.exited().exit_code == 7


@requirement("ATT-08")
def test_output_reaches_two_attached_clients(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """Attach SHOULD send the output to both of two clients that are attached at the same time.

    Source: Attach.
    """
    container = containers.running(script=TICKING)
    request = cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)

    sessions = [streams.open(runtime.stub.Attach, request) for _ in range(2)]

    for session in sessions:
        session.stdout_until(lambda seen: seen.count(b"tick\n") >= 3)


@requirement("ATT-09")
def test_attach_ends_with_its_container(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """Attach MUST end with the status Success when the container exits, after all of the output.

    Source: Attach, the sub-protocol v4.channel.k8s.io.
    """
    container = containers.running(script=TICK_THEN_LAST_LINE, stdin=True)
    session = streams.open(
        runtime.stub.Attach,
        cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True),
    )
    session.stdout_until(b"tick\n")

    session.write(b"go\n")

    finished = session.finish()
    assert finished.stdout.splitlines(keepends=True)[-1] == b"last words\n"
    assert finished.failure == ""


@requirement("ATT-10/isolation")
def test_attached_client_that_does_not_read_blocks_no_other_call(
    runtime: Runtime, running_container: Container, stalled: Stalled
) -> None:
    """Calls about the container and others MUST return while an attached client does not read, and the log
    MUST have the complete output once the client has gone.

    Source: Attach, ContainerConfig.log_path. Not stated by the CRI for this case; any user may leave a
    terminal unattended.
    """
    stalled.until_it_stalls()

    status = cri.ContainerStatusRequest(container_id=stalled.container.id)
    seconds = [
        runtime.timed(runtime.stub.ContainerStatus, status).seconds,
        runtime.timed(runtime.stub.ExecSync, stalled.container.exec_request("true")).seconds,
        runtime.timed(runtime.stub.ExecSync, running_container.exec_request("true")).seconds,
    ]
    stalled.session.abort()

    assert max(seconds) < PROMPT_SECONDS * runtime.scale
    # up to 24 MB are written to the log only after the client has gone, if the output had paused
    numbers = [line.partition(" ")[0] for line in stalled.container.wait_for_log("done", 30)]
    assert numbers == [*map(str, range(1, LINES + 1)), "done"]


@requirement("ATT-10/pause")
def test_form_of_output_that_an_attached_client_does_not_read(
    stalled: Stalled, record_variant: RecordVariant
) -> None:
    """Output and log of a container MAY pause or continue while an attached client does not read.

    Source: Attach; the CRI does not say.
    """
    record_variant("output and log pause" if stalled.until_it_stalls() else "output and log go on")

    stalled.session.abort()

    assert stalled.container.state() == cri.CONTAINER_RUNNING


@requirement("ATT-11")
def test_attached_output_is_in_the_log_too(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """Output that Attach sends to a client MUST also be in the container's log.

    Source: Attach, ContainerConfig.log_path.
    """
    container = containers.running(script='n=0; while :; do echo "line $((n+=1))"; usleep 50000; done')
    session = streams.open(
        runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)
    )

    # whole lines only: the first may have begun before the client attached, the last may be incomplete
    output = session.stdout_until(lambda seen: seen.count(b"\n") >= 3).decode().split("\n")[1:-1]

    log = container.wait_for_log(output[-1])
    assert set(output) <= set(log)


@requirement("ATT-12")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "exited"])
def test_attach_to_a_container_that_is_not_running(
    runtime: Runtime,
    containers: Containers,
    streams: Streams,
    record_variant: RecordVariant,
    state: "cri.ContainerState",
) -> None:
    """Attach to a container that is not running MAY fail at the call or in the session, or wait for a start;
    it MUST NOT change the container.

    Source: Attach; the CRI does not say.
    """
    container = containers.in_state(state)

    try:
        session = streams.open(
            runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)
        )
    except grpc.RpcError as error:
        record_variant(f"the call fails with {refused_with(error).name}")
    else:
        record_variant("a session is opened")
        session.close()

    assert container.state() == state
