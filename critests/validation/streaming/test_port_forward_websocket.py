"""PFW: connections to ports of a pod over WebSocket, if the server supports it."""

from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EndedBy,
    PortForward,
    Protocol,
    Sandbox,
    Streams,
    UpgradeRefused,
    requirement,
    unsupported,
)
from critests.validation.streaming.numbered import NUMBERED
from critests.validation.streaming.serving import Serve

Forward = Callable[..., PortForward]

UNUSED = 7998


@pytest.fixture
def forward(sandbox: Sandbox, streams: Streams) -> Forward:
    """Forward ports of the shared sandbox over WebSocket; unsupported if the server rejects that."""

    def open_(*ports: int) -> PortForward:
        request = cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=ports)
        try:
            return streams.forward(request, protocol=Protocol.WEBSOCKET)
        except UpgradeRefused as error:
            unsupported(f"port-forward over WebSocket: the server returns HTTP {error.status}")

    return open_


@requirement("PFW-12")
def test_port_forward_over_websocket_reaches_each_port(serve: Serve, forward: Forward) -> None:
    """PortForward over WebSocket MUST use the channels 2i and 2i+1 for data and errors of the request's i-th
    port; both begin with the port number and carry its bytes.

    Source: PortForwardRequest.port; the sub-protocol v4.channel.k8s.io.
    """
    for port in (7021, 7022):
        serve(port, "nc", "-ll", "-p", str(port), "-e", "echo", f"this is {port}")
    session = forward(7021, 7022)

    # connect() reads the port number at the beginning of each channel and compares it with the request
    answers = [session.connect(port).read_until(b"\n") for port in (7021, 7022)]

    assert answers == [b"this is 7021\n", b"this is 7022\n"]


@requirement("PFW-12")
def test_port_forward_over_websocket_transfers_large_data(serve: Serve, forward: Forward) -> None:
    """PortForward over WebSocket MUST transfer large amounts of data completely and unchanged in both
    directions.

    Source: PortForward; the sub-protocol v4.channel.k8s.io.
    """
    serve(7023)
    connection = forward(7023).connect(7023)

    connection.write(NUMBERED)

    assert connection.read_until(lambda seen: len(seen) >= len(NUMBERED)) == NUMBERED


@requirement("PFW-16")
def test_port_forward_over_websocket_reports_that_nothing_listens(forward: Forward) -> None:
    """PortForward over WebSocket to a port where nothing listens MUST begin both channels with the port
    number and report the error on the error channel, before a close frame ends the session.

    Source: PortForward; the sub-protocol v4.channel.k8s.io; RFC 6455, 7.1.1.
    """
    connection = forward(UNUSED).connect(UNUSED)

    assert connection.read_error_until(lambda seen: len(seen) > 0)
    finished = connection.finish()
    assert (finished.data, finished.ended_by) == (b"", EndedBy.CLOSE_FRAME)
