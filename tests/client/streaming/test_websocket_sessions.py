import contextlib
import json
import struct
import threading
from typing import Any

import pytest

from critests.client.streaming.command_sessions import RemoteCommand, open_remote_command
from critests.client.streaming.streaming_errors import (
    HalfCloseUnsupported,
    OutputTooLarge,
    ProtocolViolation,
    SessionEnded,
    StreamTimeout,
    UpgradeRefused,
)
from critests.client.streaming.streams import EndedBy, StreamChannel
from tests.client.streaming.fake_server import Peer, serving, websocket_frame

FAILURE_7 = {
    "metadata": {},
    "status": "Failure",
    "message": "command terminated with exit code 7",
    "reason": "NonZeroExitCode",
    "details": {"causes": [{"reason": "ExitCode", "message": "7"}]},
}


def opened(url: str, **options: Any) -> RemoteCommand:  # noqa: ANN401 -- whatever open_remote_command takes
    flags = {"stdin": True, "stdout": True, "stderr": True, "tty": False}
    return open_remote_command(url, **{**flags, "deadline_seconds": 5, **options})


def test_exec_gives_output_status_and_order() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket(extra=websocket_frame(b"\x01"))
        assert peer.head.startswith("GET /exec/token?x=1 HTTP/1.1\r\n")
        assert peer.header("Sec-WebSocket-Protocol") == ["v4.channel.k8s.io"]
        for payload in (b"\x01out", b"\x02err", b"\x03" + json.dumps(FAILURE_7).encode()):
            peer.frame(payload)
        peer.frame(struct.pack("!H", 1000) + b"bye", opcode=8)
        assert peer.message() == (8, struct.pack("!H", 1000))

    with serving(play) as url, opened(url) as session:
        finished = session.finish(5)

    assert session.subprotocol == "v4.channel.k8s.io"
    assert (finished.stdout, finished.stderr) == (b"out", b"err")
    assert finished.status is not None
    assert (finished.status.success, finished.status.exit_code, finished.status.reason) == (
        False,
        7,
        "NonZeroExitCode",
    )
    assert [(frame.channel, frame.payload) for frame in finished.frames[:3]] == [
        (1, b""),
        (1, b"out"),
        (2, b"err"),
    ]
    assert finished.frames[0].seconds <= finished.frames[-1].seconds <= finished.ended
    assert (finished.ended_by, finished.close_code, finished.close_reason) == (
        EndedBy.CLOSE_FRAME,
        1000,
        "bye",
    )


def test_input_resize_and_violations_reach_their_channels() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        assert peer.message() == (2, b"\x00hello")
        opcode, resize = peer.message()
        assert (opcode, resize[0], json.loads(resize[1:])) == (2, 4, {"Width": 80, "Height": 25})
        assert peer.message() == (2, b"\x63?")
        assert peer.message() == (8, struct.pack("!H", 1000))
        peer.frame(struct.pack("!H", 1000), opcode=8)

    with serving(play) as url, opened(url) as session:
        session.write(b"hello")
        session.resize(80, 25)
        session.send_raw(99, b"?")
    assert session.ended_by is EndedBy.CLOSED_HERE


def test_half_close_is_unsupported_before_v5_and_sent_with_v5() -> None:
    def old(peer: Peer) -> None:
        peer.accept_websocket()

    def new(peer: Peer) -> None:
        peer.accept_websocket("v5.channel.k8s.io")
        assert peer.message() == (2, b"\xff\x00")

    with (
        serving(old) as url,
        opened(url) as session,
        pytest.raises(HalfCloseUnsupported, match=r"v4\.channel\.k8s\.io"),
    ):
        session.close_stdin()
    with serving(new) as url, opened(url, subprotocols=["v5.channel.k8s.io"]) as session:
        session.close_stdin()


def test_the_base64_subprotocol_works_both_ways() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket("v4.base64.channel.k8s.io")
        assert peer.message() == (1, b"0aGk=")
        peer.frame(b"1b3V0", opcode=1)
        peer.frame(b"", opcode=8)
        peer.message()

    with serving(play) as url, opened(url, subprotocols=["v4.base64.channel.k8s.io"]) as session:
        session.write(b"hi")
        assert session.read_until(StreamChannel.STDOUT, b"out", 5) == b"out"
        assert session.finish(5).close_code is None


def test_a_text_message_of_the_first_subprotocol_is_a_failure_without_a_code() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket("")
        assert peer.header("Sec-WebSocket-Protocol") == []
        peer.frame(b"\x03command terminated with exit code 7")

    with serving(play) as url, opened(url, subprotocols=[]) as session:
        finished = session.finish(5)

    assert session.subprotocol == ""
    assert finished.status is not None
    assert (finished.status.success, finished.status.exit_code) == (False, None)
    assert finished.status.message == "command terminated with exit code 7"
    assert finished.ended_by is EndedBy.END_OF_CONNECTION


def test_read_until_takes_in_turn_and_across_frames() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        peer.send(
            websocket_frame(b"\x01one re")
            + websocket_frame(b"\x01ady two ", fin=False)
            + websocket_frame(b"three", 0)
        )
        peer.message()

    with serving(play) as url, opened(url) as session:
        assert session.read_until(StreamChannel.STDOUT, b"ready", 5) == b"one ready"
        assert (
            session.read_until(StreamChannel.STDOUT, lambda data: data.endswith(b"three"), 5) == b" two three"
        )
        with pytest.raises(StreamTimeout) as caught:
            session.read_until(StreamChannel.STDOUT, b"ready", 0.05)
    assert caught.value.awaited == "b'ready' on stdout"
    assert "stdout 19 bytes ending b'one ready two three'" in caught.value.last_seen


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (b"", "the session ended without a status"),
        (b'\x03{"status":"Success"}', ""),
        (b'\x03{"status":"Failure","message":"exit code 7"}', "exit code 7"),
        (b'\x03{"status":"Failure"}', "a failure without a message"),
    ],
)
def test_a_session_has_a_message_why_its_command_failed(status: bytes, failure: str) -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        peer.send(websocket_frame(status) if status else b"")
        peer.send(b"\x88\x00")
        peer.message()

    with serving(play) as url, opened(url) as session:
        assert session.finish(5).failure == failure


def test_a_server_that_keeps_sending_does_not_extend_the_deadline() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        with contextlib.suppress(ConnectionError, TimeoutError):
            while True:
                peer.frame(b"\x01" + b"y" * 1000)

    with serving(play) as url, opened(url, keep_bytes=5000) as session:
        with pytest.raises(StreamTimeout, match="the end of the session"):
            session.finish(0.2)
        received = session.received()
        with pytest.raises(OutputTooLarge):
            session.read_until(StreamChannel.STDOUT, b"x", 5)
        session.abort()
    assert len(received.stdout) == 5000 < received.totals[StreamChannel.STDOUT]


def test_output_that_is_not_retained_goes_to_the_sink_and_the_status_is_retained() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        for _ in range(10):
            peer.frame(b"\x01" + b"z" * 70_000)
        peer.frame(b'\x03{"status":"Success"}')

    sunk = 0

    def sink(channel: int, payload: bytes) -> None:
        nonlocal sunk
        sunk += len(payload) if channel == StreamChannel.STDOUT else 0

    with serving(play) as url, opened(url, keep_bytes=100, sink=sink) as session:
        finished = session.finish(5)
    assert sunk == finished.totals[StreamChannel.STDOUT] == 700_000
    assert len(finished.stdout) == 100
    assert finished.status is not None
    assert finished.status.success


def test_writing_much_to_a_command_that_echoes_does_not_block() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        echoed = 0
        while echoed < 1_000_000:
            _, payload = peer.message()
            echoed += len(payload) - 1
            peer.frame(b"\x01" + payload[1:])

    data = bytes(range(250)) * 4_000
    with serving(play) as url, opened(url) as session:
        session.write(data, 20)
        assert session.read_until(StreamChannel.STDOUT, lambda seen: len(seen) >= len(data), 20) == data


def test_pings_have_responses_both_ways() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        peer.frame(b"are you there", opcode=9)
        assert peer.message() == (10, b"are you there")
        opcode, payload = peer.message()
        assert opcode == 9
        peer.frame(payload, opcode=10)

    with serving(play) as url, opened(url) as session:
        with pytest.raises(StreamTimeout):
            session.read_until(StreamChannel.STDOUT, b"x", 0.05)
        assert 0 <= session.ping(5) < 5


def test_a_session_that_ends_early_says_how() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket(extra=websocket_frame(b"\x02oops"))
        peer.reset()

    with serving(play) as url, opened(url) as session:
        with pytest.raises(
            SessionEnded,
            match=r"b'ready' on stdout.*stderr 4 bytes ending b'oops'.*ended by connection reset",
        ):
            session.read_until(StreamChannel.STDOUT, b"ready", 5)
        with pytest.raises(SessionEnded):
            session.write(b"x")
        assert session.finish(5).stderr == b"oops"


def test_data_sent_before_the_close_frame_was_read_counts_as_written() -> None:
    connected, close_sent = threading.Event(), threading.Event()

    def play(peer: Peer) -> None:
        peer.accept_websocket()
        assert connected.wait(5)
        peer.frame(struct.pack("!H", 1000), opcode=8)
        close_sent.set()
        assert peer.message() == (2, b"\x00the last input")

    with serving(play) as url, opened(url) as session:
        connected.set()
        assert close_sent.wait(5)
        session.write(b"the last input", 5)
        session.await_end(5)


def test_abort_resets_the_connection() -> None:
    def play(peer: Peer) -> None:
        peer.accept_websocket()
        with pytest.raises(ConnectionResetError):
            peer.exactly(1)

    with serving(play) as url:
        opened(url).abort()


@pytest.mark.parametrize(
    "sent",
    [
        b"\xc1\x00",
        b"\x85\x00",
        websocket_frame(b"x", 0),
        websocket_frame(b"\x01x", fin=False) + websocket_frame(b"\x01x"),
        b"\x82\x7f\x7f" + b"\0" * 7,
        b"\x82\x82aaaa\x01x",
    ],
    ids=[
        "reserved bit",
        "unknown opcode",
        "continuation of nothing",
        "message in a message",
        "frame without end",
        "masked",
    ],
)
def test_violations_end_the_session(sent: bytes) -> None:
    with serving(lambda peer: peer.accept_websocket(extra=sent)) as url, opened(url) as session:
        assert session.finish(5).ended_by is EndedBy.VIOLATION


def test_a_rejected_upgrade_has_status_and_body() -> None:
    def play(peer: Peer) -> None:
        peer.read_head()
        peer.send(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nX-A: 1\r\nx-a: 2\r\n\r\nnot found, and a next"
            b" answer"
        )

    with serving(play) as url, pytest.raises(UpgradeRefused, match="404 Not Found") as caught:
        opened(url)
    assert (caught.value.status, caught.value.body, caught.value.headers["x-a"]) == (
        404,
        b"not found",
        "1, 2",
    )


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", ProtocolViolation),
        (b"SSH-2.0-OpenSSH\r\n\r\n", ProtocolViolation),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
            ProtocolViolation,
        ),
        (b"HTTP/1.1 500 Oops\r\n\r\nclosed after this", UpgradeRefused),
    ],
    ids=["nothing", "not HTTP", "wrong accept", "no length"],
)
def test_the_error_distinguishes_servers_without_websocket(answer: bytes, error: type[Exception]) -> None:
    def play(peer: Peer) -> None:
        peer.read_head()
        peer.send(answer)

    with serving(play) as url, pytest.raises(error):
        opened(url)


def test_a_subprotocol_that_was_not_offered_is_a_violation() -> None:
    with (
        serving(lambda peer: peer.accept_websocket("v9.channel.k8s.io")) as url,
        pytest.raises(ProtocolViolation, match="v9"),
    ):
        opened(url)


def test_a_server_without_a_response_costs_the_deadline_only() -> None:
    def play(peer: Peer) -> None:
        with pytest.raises((EOFError, ConnectionError)):
            peer.exactly(10_000)

    with serving(play) as url, pytest.raises(StreamTimeout, match="the response to the upgrade request"):
        open_remote_command(url, stdin=False, stdout=True, stderr=True, tty=False, deadline_seconds=0.1)
