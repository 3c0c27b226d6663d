"""STR: SPDY inside WebSocket, by which port-forward passes what lets only WebSocket through."""

import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.errors import UpgradeRefused
from critests.client.streaming.port_forward import PortForward
from critests.fixtures.streaming import Streams
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement
from critests.run.outcomes import unsupported
from critests.validation.streaming.serving import Serve

PORT, UNUSED = 7031, 7998


@pytest.fixture
def tunnel(sandbox: Sandbox, streams: Streams) -> PortForward:
    """A session to two ports of the shared sandbox; a server that does not take the sub-protocol makes the
    test unsupported.
    """
    try:
        return streams.forward_tunnelled(
            cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[PORT, UNUSED])
        )
    except UpgradeRefused as error:
        unsupported(f"SPDY inside WebSocket: the server answers HTTP {error.status}")


@requirement("STR-15")
def test_port_forward_through_a_tunnel_carries_bytes_and_errors(serve: Serve, tunnel: PortForward) -> None:
    """Over SPDY/3.1+portforward.k8s.io, SPDY inside WebSocket, the streams of a connection MUST carry the
    bytes of the port both ways, and where nobody listens the one for errors MUST say what is wrong.

    Source: PortForwardRequest.port; the sub-protocol SPDY/3.1+portforward.k8s.io.
    """
    serve(PORT, "busybox", "nc", "-ll", "-p", str(PORT), "-e", "cat")

    connection = tunnel.connect(PORT)
    connection.write(b"there and back\n")

    assert connection.read_until(b"\n") == b"there and back\n"
    assert tunnel.connect(UNUSED).read_error_until(lambda seen: len(seen) > 0)
