"""What goes over the socket between a runtime and a plugin."""

import socket
import struct

import pytest

from critests.api import ttrpc_pb2
from critests.node.nri import ttrpc
from critests.node.nri.multiplexer import PLUGIN, RUNTIME, Multiplexer


def test_a_piece_is_preceded_by_its_connection_and_its_length() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Multiplexer(ours).send(RUNTIME, b"hello")

        assert theirs.recv(100) == b"\0\0\0\2\0\0\0\5hello"


def test_what_is_long_is_sent_in_pieces_that_fit_the_reader() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Multiplexer(ours).send(PLUGIN, bytes(5000))
        reader = Multiplexer(theirs)

        assert [reader.receive(), reader.receive()] == [(PLUGIN, bytes(4096)), (PLUGIN, bytes(904))]


def test_an_end_is_reported() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        Multiplexer(ours).close()

        with pytest.raises(ConnectionError, match="closed"):
            Multiplexer(theirs).receive()


def test_frames_are_put_together_from_pieces() -> None:
    sent = [ttrpc.request(1, "s", "m", b"payload", 2.0), ttrpc.answer(3, b"answer")]
    data = b"".join(frame.packed() for frame in sent)
    frames = ttrpc.Frames()

    assert [frame for at in range(len(data)) for frame in frames.feed(data[at : at + 1])] == sent
    assert list(ttrpc.Frames().feed(data)) == sent


def test_a_frame_begins_with_ten_bytes() -> None:
    packed = ttrpc.request(5, "pkg.Service", "Method", b"x", 1.5).packed()

    assert struct.unpack(">IIBB", packed[:10]) == (len(packed) - 10, 5, ttrpc.REQUEST, 0)
    assert ttrpc_pb2.Request.FromString(packed[10:]) == ttrpc_pb2.Request(
        service="pkg.Service", method="Method", payload=b"x", timeout_nano=1_500_000_000
    )


def test_an_error_is_an_answer_with_a_status() -> None:
    frame = ttrpc.refusal(7, ttrpc.UNKNOWN, "no")

    response = ttrpc_pb2.Response.FromString(frame.payload)
    assert (frame.stream, response.status.code, response.status.message) == (7, 2, "no")
