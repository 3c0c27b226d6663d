"""Frames on the socket between a runtime and a plugin."""

import socket
import struct

import pytest

from critests.api import ttrpc_pb2
from critests.node.nri import ttrpc
from critests.node.nri.multiplexer import PLUGIN, RUNTIME, Multiplexer


def test_multiplexed_data_has_a_header_with_connection_and_length() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Multiplexer(ours).send(RUNTIME, b"hello")

        assert theirs.recv(100) == b"\0\0\0\2\0\0\0\5hello"


def test_long_data_is_sent_in_pieces_of_4096_bytes() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Multiplexer(ours).send(PLUGIN, bytes(5000))
        reader = Multiplexer(theirs)

        assert [reader.receive(), reader.receive()] == [(PLUGIN, bytes(4096)), (PLUGIN, bytes(904))]


def test_receive_fails_after_the_connection_was_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        Multiplexer(ours).close()

        with pytest.raises(ConnectionError, match="closed"):
            Multiplexer(theirs).receive()


def test_frames_are_assembled_from_pieces() -> None:
    sent = [ttrpc.request(1, "s", "m", b"payload", 2.0), ttrpc.answer(3, b"answer")]
    data = b"".join(frame.packed() for frame in sent)
    frames = ttrpc.Frames()

    assert [frame for at in range(len(data)) for frame in frames.feed(data[at : at + 1])] == sent
    assert list(ttrpc.Frames().feed(data)) == sent


def test_request_frame_has_a_header_of_ten_bytes() -> None:
    packed = ttrpc.request(5, "pkg.Service", "Method", b"x", 1.5).packed()

    assert struct.unpack(">IIBB", packed[:10]) == (len(packed) - 10, 5, ttrpc.REQUEST, 0)
    assert ttrpc_pb2.Request.FromString(packed[10:]) == ttrpc_pb2.Request(
        service="pkg.Service", method="Method", payload=b"x", timeout_nano=1_500_000_000
    )


def test_refusal_is_a_response_with_a_status() -> None:
    frame = ttrpc.refusal(7, ttrpc.UNKNOWN, "no")

    response = ttrpc_pb2.Response.FromString(frame.payload)
    assert (frame.stream, response.status.code, response.status.message) == (7, 2, "no")
