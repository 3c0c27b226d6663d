"""STR: SPDY inside WebSocket, by which port-forward passes proxies that support only WebSocket."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import PortForward, Sandbox, Streams, UpgradeRefused, requirement, unsupported
from critests.validation.streaming.serving import Serve

PORT, UNUSED = 7031, 7998


@pytest.fixture
def tunnel(sandbox: Sandbox, streams: Streams) -> PortForward:
    """A session to two ports of the shared sandbox; unsupported if the server rejects the sub-protocol."""
    try:
        return streams.forward_tunnelled(
            cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[PORT, UNUSED])
        )
    except UpgradeRefused as error:
        unsupported(f"SPDY inside WebSocket: the server returns HTTP {error.status}")


@requirement("STR-15")
def test_port_forward_through_a_tunnel_transfers_data_and_errors(serve: Serve, tunnel: PortForward) -> None:
    """PortForward over SPDY/3.1+portforward.k8s.io, SPDY inside WebSocket, MUST carry the bytes of a port in
    both directions, and report on the error stream that nothing listens at a port.

    Source: PortForwardRequest.port; the sub-protocol SPDY/3.1+portforward.k8s.io.
    """
    serve(PORT, "busybox", "nc", "-ll", "-p", str(PORT), "-e", "cat")

    connection = tunnel.connect(PORT)
    connection.write(b"there and back\n")

    assert connection.read_until(b"\n") == b"there and back\n"
    assert tunnel.connect(UNUSED).read_error_until(lambda seen: len(seen) > 0)
