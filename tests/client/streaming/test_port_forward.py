import struct

import pytest

from critests.client.streaming.port_forward import PortForward, open_port_forward
from critests.client.streaming.streaming_errors import (
    HalfCloseUnsupported,
    ProtocolViolation,
    SessionEnded,
    StreamRefused,
    StreamTimeout,
)
from critests.client.streaming.streams import EndedBy, Protocol
from tests.client.streaming.fake_server import Peer, serving


def over_spdy(url: str) -> PortForward:
    return open_port_forward(url, [80], protocol=Protocol.SPDY, deadline_seconds=5)


def over_websocket(url: str, *ports: int) -> PortForward:
    return open_port_forward(url, ports, protocol=Protocol.WEBSOCKET, deadline_seconds=5)


def accept_connection(peer: Peer) -> tuple[int, int, dict[str, str]]:
    """Accept one pair of streams; return the numbers of the error and the data stream, and the headers of the
    latter.
    """
    error, error_headers, error_flags = peer.take_stream()
    data, data_headers, data_flags = peer.take_stream()
    assert (error_flags, data_flags) == (1, 0)
    assert error_headers == data_headers | {"streamtype": "error"}
    peer.reply(error)
    peer.reply(data)
    return error, data, data_headers


def test_spdy_connections_share_a_session() -> None:
    def play(peer: Peer) -> None:
        peer.accept_spdy("portforward.k8s.io")
        assert peer.header("X-Stream-Protocol-Version") == ["portforward.k8s.io"]
        assert accept_connection(peer) == (1, 3, {"streamtype": "data", "port": "80", "requestid": "0"})
        assert accept_connection(peer) == (5, 7, {"streamtype": "data", "port": "81", "requestid": "1"})
        assert peer.spdy() == (0, 0, struct.pack("!I", 3) + b"to 80")
        peer.data(7, b"from 81")
        peer.data(3, b"from 80")
        assert peer.spdy() == (0, 1, struct.pack("!I", 3))
        for stream in (3, 1):
            peer.data(stream, b"", fin=True)
        peer.data(5, b"no route")
        peer.control(3, struct.pack("!II", 5, 5))
        peer.control(3, struct.pack("!II", 7, 5))

    with serving(play) as url, over_spdy(url) as forward:
        first, second = forward.connect(80), forward.connect(81)
        first.write(b"to 80")
        assert first.read_until(b"80", 5) == b"from 80"
        first.close_write()
        finished = first.finish(5)
        assert (finished.data, finished.error, finished.reset, finished.ended_by) == (
            b"from 80",
            b"",
            None,
            None,
        )
        assert [frame.payload for frame in finished.frames] == [b"from 80"]
        broken = second.finish(5)
        assert (broken.data, broken.error, broken.reset) == (b"from 81", b"no route", 5)
        assert forward.await_end(5) is EndedBy.END_OF_CONNECTION


def test_the_total_also_counts_bytes_that_are_not_retained() -> None:
    def play(peer: Peer) -> None:
        peer.accept_spdy("portforward.k8s.io")
        _, data, _ = accept_connection(peer)
        for _ in range(5):
            peer.data(data, bytes(1000))

    with (
        serving(play) as url,
        open_port_forward(url, [80], protocol=Protocol.SPDY, deadline_seconds=5, keep_bytes=10) as forward,
    ):
        connection = forward.connect(80)
        connection.await_total(5000, 5)
        assert connection.received().total == 5000
        with pytest.raises(SessionEnded, match="5001 bytes of port 80"):
            connection.await_total(5001, 5)


def test_closing_a_spdy_connection_leaves_the_others() -> None:
    def play(peer: Peer) -> None:
        peer.accept_spdy("portforward.k8s.io")
        accept_connection(peer)
        error, data, _ = accept_connection(peer)
        peer.data(3, b"late")
        assert [peer.spdy() for _ in range(2)] == [(3, 0, struct.pack("!II", stream, 5)) for stream in (3, 1)]
        peer.data(3, b"later")
        peer.data(data, b"still here")
        assert error == 5

    with serving(play) as url, over_spdy(url) as forward:
        first, second = forward.connect(80), forward.connect(80)
        first.close()
        assert second.read_until(b"here", 5) == b"still here"
        assert first.received().data == b""


def test_after_rejected_streams_the_session_is_usable() -> None:
    def play(peer: Peer) -> None:
        peer.accept_spdy("portforward.k8s.io")
        error, headers, _ = peer.take_stream()
        assert (headers["streamtype"], headers["port"]) == ("error", "0")
        assert peer.take_stream()[1] == {"streamtype": "data"}
        peer.control(3, struct.pack("!II", error, 3))
        assert [peer.spdy()[0] for _ in range(2)] == [3, 3]
        accept_connection(peer)

    with serving(play) as url, over_spdy(url) as forward:
        with pytest.raises(StreamRefused, match="error stream"):
            forward.connect(0, data_headers={"streamtype": "data"})
        forward.connect(80)


def test_websocket_channels_belong_to_ports_by_order() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        for channel, port in enumerate((80, 80, 8080, 8080)):
            peer.frame(bytes([channel]) + struct.pack("<H", port))
        assert peer.message() == (2, b"\x02hello")
        peer.frame(b"\x02hello yourself")
        peer.frame(b"\x01refused")
        peer.frame(struct.pack("!H", 1000), opcode=8)

    with serving(play) as url, over_websocket(url, 80, 8080) as forward:
        second, first = forward.connect(8080), forward.connect(80)
        second.write(b"hello")
        assert second.read_until(b"yourself", 5) == b"hello yourself"
        assert first.read_error_until(b"refused", 5) == b"refused"
        finished = second.finish(5)
        assert (finished.data, finished.error, finished.total) == (b"hello yourself", b"", 14)
        assert (first.received().error, finished.ended_by) == (b"refused", EndedBy.CLOSE_FRAME)
        with pytest.raises(ValueError, match="80 is not left"):
            forward.connect(80)
        with pytest.raises(HalfCloseUnsupported):
            first.close_write()
        with pytest.raises(HalfCloseUnsupported):
            first.close()


def test_a_websocket_channel_for_another_port_is_a_violation() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        peer.frame(b"\x00\x50\x01")

    with (
        serving(play) as url,
        over_websocket(url, 80) as forward,
        pytest.raises(ProtocolViolation, match="port 336, not 80"),
    ):
        forward.connect(80)


def test_a_websocket_channel_without_a_port_costs_the_deadline_only() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        peer.frame(b"\x00\x50\x00")
        peer.message()

    with (
        serving(play) as url,
        over_websocket(url, 80) as forward,
        pytest.raises(StreamTimeout, match="the port at the beginning of channel 1"),
    ):
        forward.connect(80, 0.1)
