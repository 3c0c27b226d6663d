"""ATT: sessions with the first process of a container."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.errors import SessionEnded, StreamRefused, UpgradeRefused
from critests.client.streaming.sessions import RemoteCommand
from critests.client.streaming.streams import Protocol, Stream
from critests.fixtures.containers import FOREVER, Containers
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.session import Observe
from critests.fixtures.streaming import Streams
from critests.lifecycle.containers import Container
from critests.run.marks import requirement
from critests.validation.streaming.numbered import NUMBERED

TICKING = "while :; do echo tick; echo tock >&2; usleep 50000; done"
"""Output that goes on: what was printed before a client was there need not be shown to it."""
ANSWERING = 'while read line; do echo "got $line"; done'
UNTIL_TOLD = f"{TICKING} & read go; kill $!; wait; echo ready; "
"""Shows a client that its attachment stands before it sends what must come back."""
LAST_WORDS = f"{TICKING} & read go; kill $!; wait; echo last words"
"""Waits for what it killed, which may be about to print."""
LINES = 6000
FLOOD = (
    "line=$(head -c 4000 /dev/zero | tr '\\0' x); read go;"
    f" i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo $i $line; done; echo done; {FOREVER}"
)
"""Prints 24 MB once it is told to: more than pipes and sockets hold where nobody reads."""
STALLED_SECONDS = 1.0
PROMPT_SECONDS = 5.0

Shown = Callable[[cri.AttachRequest], str]
Attached = Callable[[str], RemoteCommand]


@dataclass(frozen=True)
class Stalled:
    """A container that prints much, and a client that is attached to it and does not read.

    Attributes:
        runtime: of both.
        container: it.
        session: of the client.
    """

    runtime: Runtime
    container: Container
    session: RemoteCommand

    def printed(self) -> int:
        """Return how many bytes stand in the log."""
        return self.container.written_log.stat().st_size

    def until_it_stalls(self) -> bool:
        """Wait until the log has not grown for a while or is whole, and say whether it is not whole."""
        seen = [(time.monotonic(), 0)]

        def quiet() -> bool:
            size = self.printed()
            if size != seen[-1][1]:
                seen.append((time.monotonic(), size))
            whole = size > LINES * 4000
            return whole or (size > 0 and time.monotonic() - seen[-1][0] > STALLED_SECONDS)

        self.runtime.eventually("the log to be whole, or to grow no more", quiet, 30)
        return self.printed() <= LINES * 4000


@pytest.fixture
def stalled(runtime: Runtime, containers: Containers, streams: Streams) -> Stalled:
    """A container that prints much, and a client that is attached to it and does not read."""
    container = containers.running(script=FLOOD, stdin=True)
    request = cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True)
    session = streams.open(runtime.stub.Attach, request, keep_bytes=0)
    session.write(b"go\n")
    return Stalled(runtime, container, session)


@pytest.fixture
def shown(runtime: Runtime, streams: Streams) -> Shown:
    """Attach to a process that ticks where that may not be possible, and say what came of it."""

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
    """Attach to a container with such a script, and return when it is ready and the output comes."""

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
    """Return what has come since the process said that it is ready."""
    return session.received().stdout.partition(b"ready\n")[2]


@requirement("ATT-01")
def test_attach_shows_output_and_errors(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """What the process prints after a client has attached MUST come, stdout and stderr on streams of their
    own.

    Source: AttachRequest.stdout and stderr.
    """
    container = containers.running(script=TICKING)

    session = streams.open(
        runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)
    )

    session.stdout_until(b"tick\n")
    session.read_until(Stream.STDERR, b"tock\n")
    seen = session.received()
    assert b"tock" not in seen.stdout
    assert b"tick" not in seen.stderr


@requirement("ATT-01")
def test_attach_shows_the_output_of_what_takes_input(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """A client that asks for output alone MUST get it, as long as it is attached, of a container that takes
    input too.

    Source: AttachRequest.stdin and stdout, ContainerConfig.stdin.
    """
    container = containers.running(script=TICKING, stdin=True)

    # over WebSocket there is a channel for input whether a client has any or not
    session = streams.open(
        runtime.stub.Attach,
        cri.AttachRequest(container_id=container.id, stdout=True, stderr=True),
        protocol=Protocol.SPDY,
    )

    session.stdout_until(lambda seen: seen.count(b"tick\n") >= 3)


@requirement("ATT-02")
def test_attach_hands_over_input(attached: Attached) -> None:
    """What a client writes MUST reach the process of a container that was made with stdin, and what that
    answers MUST come, once.

    Source: AttachRequest.stdin and stdout, ContainerConfig.stdin.
    """
    session = attached(f"{UNTIL_TOLD}{ANSWERING}")

    session.write(b"the line\n")
    session.write(b"another\n")

    session.stdout_until(b"got another\n")
    assert after_ready(session) == b"got the line\ngot another\n"


@requirement("ATT-02")
def test_attach_carries_much_both_ways(attached: Attached) -> None:
    """However much a client writes, and the process prints, all of it MUST arrive as it was sent.

    Source: AttachRequest.stdin and stdout, ContainerConfig.stdin.
    """
    session = attached(f"{UNTIL_TOLD}cat")

    session.write(NUMBERED)

    session.stdout_until(lambda seen: len(seen) >= len(NUMBERED))
    assert after_ready(session) == NUMBERED


@requirement("ATT-03")
def test_attach_with_input_to_a_container_without(
    containers: Containers, shown: Shown, observe: Observe
) -> None:
    """Attaching with stdin to a container that was made without MAY be refused, or show the output; the
    container runs on.

    Source: AttachRequest.stdin, ContainerConfig.stdin; the CRI does not say.
    """
    container = containers.running(script=TICKING)

    observe(shown(cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True)))

    assert container.state() == cri.CONTAINER_RUNNING


@requirement("ATT-04")
@pytest.mark.parametrize("terminal", ["with a terminal", "without a terminal"])
def test_attach_as_to_a_terminal_that_is_none(
    containers: Containers, shown: Shown, observe: Observe, terminal: str
) -> None:
    """Attaching with another `tty` than the container was made with MAY be refused, or show the output; the
    container runs on.

    Source: AttachRequest.tty, by which the caller is to say what the container has.
    """
    tty = terminal == "with a terminal"
    container = containers.running(script=TICKING, tty=tty)

    said = shown(cri.AttachRequest(container_id=container.id, stdout=True, stderr=tty, tty=not tty))

    observe(f"{said} of a container made {terminal}")
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("ATT-05")
def test_attach_to_a_terminal(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """A client that attaches to a terminal MUST get stdout and stderr as one output, with the line ends of a
    terminal.

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
    """A size that a client sends MUST become the size of the container's terminal.

    Source: AttachRequest.tty; the stream for sizes.
    """
    script = 'until [ "$(stty size)" = "43 132" ]; do usleep 20000; done; echo as wanted; read line'
    container = containers.running(script=script, stdin=True, tty=True)
    session = streams.open(
        runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, tty=True)
    )

    session.resize(132, 43)

    runtime.eventually(
        "the process to see the size",
        lambda: "".join(container.log_lines()),
        holds=lambda log: "as wanted" in log,
    )


@requirement("ATT-06")
def test_attach_again_after_detaching(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """Where stdin is not for once only, the process MUST live on when a client goes, and take the input of
    the next.

    Source: ContainerConfig.stdin_once, Attach.
    """
    container = containers.running(script=ANSWERING, stdin=True)
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
def test_detaching_closes_stdin_that_is_for_once(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """Where stdin is for once only, the process MUST see the end of its input when the client goes.

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
def test_two_clients_attached_at_once(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """Two clients that are attached at the same time SHOULD both get the output.

    Source: Attach.
    """
    container = containers.running(script=TICKING)
    request = cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)

    sessions = [streams.open(runtime.stub.Attach, request) for _ in range(2)]

    for session in sessions:
        session.stdout_until(lambda seen: seen.count(b"tick\n") >= 3)


@requirement("ATT-09")
def test_attach_ends_with_its_container(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """When the container ends, the session MUST end with the status Success, after everything that was
    printed.

    Source: Attach, the sub-protocol v4.channel.k8s.io.
    """
    container = containers.running(script=LAST_WORDS, stdin=True)
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
def test_client_that_does_not_read_holds_up_nobody_else(
    runtime: Runtime, running_container: Container, stalled: Stalled
) -> None:
    """While an attached client does not read, calls about its container and others MUST be answered, and
    the whole output MUST stand in the log once the client has gone.

    Source: Attach, ContainerConfig.log_path. Not stated by the CRI for this case; anybody may leave a
    terminal alone.
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
    numbers = [line.partition(" ")[0] for line in stalled.container.wait_for_log("done", 30)]
    assert numbers == [*map(str, range(1, LINES + 1)), "done"]


@requirement("ATT-10/pause")
def test_what_becomes_of_output_that_a_client_does_not_read(stalled: Stalled, observe: Observe) -> None:
    """While an attached client does not read, the container's output and log MAY pause or go on.

    Source: Attach; the CRI does not say.
    """
    observe("output and log pause" if stalled.until_it_stalls() else "output and log go on")

    stalled.session.abort()

    assert stalled.container.state() == cri.CONTAINER_RUNNING


@requirement("ATT-11")
def test_attached_output_is_in_the_log_too(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """Output that an attached client gets MUST be in the container's log as well.

    Source: Attach, ContainerConfig.log_path.
    """
    container = containers.running(script='n=0; while :; do echo "line $((n+=1))"; usleep 50000; done')
    session = streams.open(
        runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)
    )

    shown = session.stdout_until(lambda seen: seen.count(b"\n") >= 3).decode().split("\n")[1:-1]

    log = container.wait_for_log(shown[-1])
    assert set(shown) <= set(log)


@requirement("ATT-12")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "ended"])
def test_attach_to_a_container_that_does_not_run(
    runtime: Runtime, containers: Containers, streams: Streams, observe: Observe, state: "cri.ContainerState"
) -> None:
    """Attaching to a container that does not run MAY fail at the call or with the session, or wait for a
    start; it changes nothing.

    Source: Attach; the CRI does not say.
    """
    container = containers.in_state(state)

    try:
        session = streams.open(
            runtime.stub.Attach, cri.AttachRequest(container_id=container.id, stdout=True, stderr=True)
        )
    except grpc.RpcError as error:
        observe(f"the call fails with {refused_with(error).name}")
    else:
        observe("a session is opened")
        session.close()

    assert container.state() == state
