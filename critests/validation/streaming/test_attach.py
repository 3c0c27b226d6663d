"""ATT: sessions with the first process of a container."""

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.streams import Stream
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.session import Observe
from critests.fixtures.streaming import Streams
from critests.run.marks import requirement

TICKING = "while :; do echo tick; echo tock >&2; usleep 50000; done"
"""Output that goes on: what was printed before a client was there need not be shown to it."""
ANSWERING = 'while read line; do echo "got $line"; done'
LAST_WORDS = f"{TICKING} & read go; kill $!; echo last words"


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


@requirement("ATT-02")
def test_attach_hands_over_input(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """What a client writes MUST reach the process of a container that was made with stdin.

    Source: AttachRequest.stdin, ContainerConfig.stdin.
    """
    container = containers.running(script=ANSWERING, stdin=True)
    session = streams.open(
        runtime.stub.Attach,
        cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True),
    )

    session.write(b"the line\n")

    container.wait_for_log("got the line")


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
    assert finished.stdout.endswith(b"last words\n")
    assert finished.failure == ""


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
