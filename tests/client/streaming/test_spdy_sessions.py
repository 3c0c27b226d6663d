import json
import struct
from collections.abc import Callable
from typing import Any

import pytest

from critests.client.streaming.command_sessions import RemoteCommand, open_remote_command
from critests.client.streaming.streaming_errors import (
    ProtocolViolation,
    SessionEnded,
    StreamRefused,
    StreamTimeout,
    UpgradeRefused,
)
from critests.client.streaming.streams import EndedBy, Protocol, StreamChannel
from tests.client.streaming.fake_server import Peer, serving


def opened(url: str, **options: Any) -> RemoteCommand:  # noqa: ANN401 -- whatever open_remote_command takes
    flags = {"stdin": True, "stdout": True, "stderr": True, "tty": False, "deadline_seconds": 5}
    return open_remote_command(url, protocol=Protocol.SPDY, **(flags | options))


def accept(peer: Peer) -> dict[str, int]:
    """Accept the session and its four streams; return their numbers by type."""
    peer.accept_spdy()
    streams = {}
    for _ in range(4):
        stream, headers, flags = peer.take_stream()
        assert flags == 0
        streams[headers["streamtype"]] = stream
        peer.reply(stream)
    return streams


def test_exec_opens_its_streams_and_gives_output_and_status() -> None:
    def play(peer: Peer) -> None:
        streams = accept(peer)
        assert peer.head.startswith("POST /exec/token?x=1 HTTP/1.1\r\n")
        assert peer.header("Upgrade") == ["SPDY/3.1"]
        assert peer.header("X-Stream-Protocol-Version") == ["v4.channel.k8s.io"]
        assert streams == {"error": 1, "stdin": 3, "stdout": 5, "stderr": 7}
        peer.data(5, b"out")
        peer.data(7, b"err", fin=True)
        peer.data(5, b"", fin=True)
        peer.data(
            1,
            json.dumps(
                {"status": "Failure", "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}}
            ).encode(),
        )
        peer.control(3, struct.pack("!II", 1, 5))
        peer.control(7, struct.pack("!II", 7, 0))

    with serving(play) as url, opened(url) as session:
        finished = session.finish(5)

    assert session.subprotocol == "v4.channel.k8s.io"
    assert (finished.stdout, finished.stderr) == (b"out", b"err")
    assert finished.status is not None
    assert finished.status.exit_code == 3
    assert [frame.channel for frame in finished.frames] == [1, 2, 3]
    assert (finished.ended_by, finished.close_code) == (EndedBy.STREAMS_FINISHED, None)


def test_only_the_streams_of_the_request_are_opened() -> None:
    def play(peer: Peer) -> None:
        peer.accept_spdy()
        assert peer.head.startswith("GET ")
        types = []
        for _ in range(3):
            stream, headers, _ = peer.take_stream()
            types.append(headers["streamtype"])
            peer.reply(stream)
        assert types == ["error", "stdout", "resize"]
        _, _, body = peer.spdy()
        assert json.loads(body[4:]) == {"Width": 1, "Height": 2}

    with serving(play) as url, opened(url, stdin=False, stderr=False, tty=True, method="GET") as session:
        session.resize(1, 2)
        with pytest.raises(ValueError, match="no stream for channel 0"):
            session.write(b"x")
        session.abort()


def test_half_close_reaches_the_server_and_output_continues() -> None:
    def play(peer: Peer) -> None:
        streams = accept(peer)
        assert peer.spdy() == (0, 0, struct.pack("!I", streams["stdin"]) + b"in")
        assert peer.spdy() == (0, 1, struct.pack("!I", streams["stdin"]))
        peer.data(streams["stdout"], b"after the end of input")

    with serving(play) as url, opened(url) as session:
        session.write(b"in")
        session.close_stdin()
        assert session.read_until(StreamChannel.STDOUT, b"input", 5) == b"after the end of input"
        assert session.finish(5).ended_by is EndedBy.END_OF_CONNECTION


def test_pings_have_responses_both_ways_and_other_frames_are_ignored() -> None:
    def play(peer: Peer) -> None:
        streams = accept(peer)
        peer.control(4, struct.pack("!I", 0))
        peer.control(9, struct.pack("!II", 0, 65536))
        peer.control(77, b"")
        peer.control(6, struct.pack("!I", 2))
        assert peer.spdy() == (6, 0, struct.pack("!I", 2))
        assert peer.spdy() == (6, 0, struct.pack("!I", 1))
        peer.control(6, struct.pack("!I", 1))
        peer.data(streams["stdout"], b"ok")

    with serving(play) as url, opened(url) as session:
        with pytest.raises(StreamTimeout):
            session.read_until(StreamChannel.STDOUT, b"ok", 0.1)
        assert 0 <= session.ping(5) < 5
        assert session.read_until(StreamChannel.STDOUT, b"ok", 5) == b"ok"


def test_stream_opened_by_the_server_is_reset() -> None:
    def play(peer: Peer) -> None:
        accept(peer)
        block = peer.deflate.compress(b"\0\0\0\0") + peer.deflate.flush(2)
        peer.control(1, struct.pack("!IIH", 2, 0, 0) + block)
        assert peer.spdy() == (3, 0, struct.pack("!II", 2, 3))

    with serving(play) as url, opened(url) as session:
        session.finish(5)


def test_a_rejected_stream_is_an_error() -> None:
    def play(peer: Peer) -> None:
        peer.accept_spdy()
        stream, _, _ = peer.take_stream()
        peer.control(3, struct.pack("!II", stream, 3))

    with serving(play) as url, pytest.raises(StreamRefused, match="error stream with status 3") as caught:
        opened(url)
    assert caught.value.status == 3


def test_streams_without_a_reply_cost_the_deadline_only() -> None:
    def play(peer: Peer) -> None:
        peer.accept_spdy()
        with pytest.raises((EOFError, ConnectionError)):
            peer.exactly(100_000)

    with (
        serving(play) as url,
        pytest.raises(StreamTimeout, match="to accept the streams error, stdin, stdout, stderr"),
    ):
        opened(url, deadline_seconds=0.1)


def test_a_finished_stream_ends_the_wait_for_it() -> None:
    def play(peer: Peer) -> None:
        streams = accept(peer)
        peer.data(streams["stdout"], b"all", fin=True)
        with pytest.raises(EOFError):
            peer.exactly(100_000)

    with (
        serving(play) as url,
        opened(url) as session,
        pytest.raises(SessionEnded, match="the server finished stdout"),
    ):
        session.read_until(StreamChannel.STDOUT, b"more", 5)


@pytest.mark.parametrize(
    "violate",
    [
        lambda peer: peer.data(99, b"x"),
        lambda peer: peer.reply(99),
        lambda peer: peer.control(2, b"\0\0\0\x01nonsense"),
        lambda peer: peer.control(6, b""),
    ],
    ids=["data on no stream", "reply to no stream", "headers not compressed", "ping without number"],
)
def test_violations_end_the_session(violate: Callable[[Peer], None]) -> None:
    def play(peer: Peer) -> None:
        accept(peer)
        violate(peer)

    with serving(play) as url, opened(url) as session:
        assert session.finish(5).ended_by is EndedBy.VIOLATION


def test_the_error_has_the_server_s_message_without_a_common_subprotocol() -> None:
    def play(peer: Peer) -> None:
        peer.read_head()
        assert peer.header("X-Stream-Protocol-Version") == ["v9.channel.k8s.io", "v8.channel.k8s.io"]
        peer.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\naccepts v4")

    with serving(play) as url, pytest.raises(UpgradeRefused, match="accepts v4"):
        opened(url, subprotocols=["v9.channel.k8s.io", "v8.channel.k8s.io"])


def test_an_upgrade_to_something_else_is_a_violation() -> None:
    def play(peer: Peer) -> None:
        peer.read_head()
        peer.send(b"HTTP/1.1 101 OK\r\nUpgrade: h2c\r\n\r\n")

    with serving(play) as url, pytest.raises(ProtocolViolation, match="not to SPDY"):
        opened(url)
