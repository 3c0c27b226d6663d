"""STR: what a streaming server may offer beside what every one does."""

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.client.streaming.errors import UpgradeRefused
from critests.fixtures.runtime import Runtime
from critests.fixtures.streaming import Streams
from critests.lifecycle.containers import Container
from critests.run.marks import requirement, requires
from critests.run.outcomes import unsupported

V5 = "v5.channel.k8s.io"


@requires(Capability.EXEC_WEBSOCKET)
@requirement("STR-14")
def test_client_of_v5_closes_its_input(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """A server that takes v5 of the sub-protocol MUST pass on that the client closes its input, and what the
    command still prints MUST come.

    Source: the sub-protocol v5.channel.k8s.io, channel 255.
    """
    request = cri.ExecRequest(
        container_id=running_container.id,
        cmd=["/bin/sh", "-c", "cat; echo the input has ended"],
        stdin=True,
        stdout=True,
        stderr=True,
    )
    try:
        session = streams.open(runtime.stub.Exec, request, subprotocols=(V5,))
    except UpgradeRefused as error:
        unsupported(f"{V5}: the server answers HTTP {error.status}")
    if session.subprotocol != V5:
        unsupported(f"{V5}: the server switches to {session.subprotocol or 'none'}")

    session.write(b"one\n")
    session.close_stdin()

    finished = session.finish()
    assert finished.stdout == b"one\nthe input has ended\n"
    assert finished.failure == ""


@requirement("STR-18")
def test_server_with_tls_shows_a_certificate(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """A streaming server that is configured with TLS MUST name https in its URLs, and show a certificate to
    who connects.

    Source: ExecResponse.url.
    """
    request = cri.ExecRequest(
        container_id=running_container.id, cmd=["echo", "hello"], stdout=True, stderr=True
    )
    url = runtime.stub.Exec(request).url
    if not url.startswith("https:"):
        unsupported("TLS streaming: the URL is not https")

    session = streams.open(lambda _: cri.ExecResponse(url=url), request)

    assert session.peer_certificate
    assert session.finish().stdout == b"hello\n"
