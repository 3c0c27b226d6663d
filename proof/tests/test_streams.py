"""Faults in streaming sessions, in front of our small CRI server, and frame by frame."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import websocket
from critests_proof.language.faults import StreamFault, parse_fault
from critests_proof.proxy.fault_proxy import FaultProxy
from critests_proof.proxy.frames import BINARY, RelayedFrame, RelayedFrames
from critests_proof.proxy.relayed_session import RelayedSession, Reset
from hypothesis import given, settings
from hypothesis import strategies as st

from critests.api import api_pb2 as cri
from tests.criserver import CriServer, serve
from tests.criserver.clients import Client, connect

UPGRADE = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol:"
    b" v4.channel.k8s.io\r\n\r\n"
)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.binary(max_size=200), st.booleans())), st.integers(1, 50))
def test_frames_survive_the_wire_in_whatever_pieces(messages: list[tuple[bytes, bool]], size: int) -> None:
    frames = [RelayedFrame(BINARY, payload, masked=masked) for payload, masked in messages]
    wire = b"".join(map(bytes, frames))
    reader = RelayedFrames()
    assert [
        frame for at in range(0, len(wire), size) for frame in reader.feed(wire[at : at + size])
    ] == frames


@pytest.mark.parametrize("length", [125, 126, 65535, 65536])
def test_frames_of_every_length(length: int) -> None:
    for masked in (False, True):
        frame = RelayedFrame(BINARY, b"x" * length, masked=masked)
        assert list(RelayedFrames().feed(bytes(frame))) == [frame]


def through(fault: str, rpc: str, *frames: bytes) -> tuple[list[bytes], int]:
    """Return what a client gets of a runtime's frames, and how often something was changed."""
    read = parse_fault(fault)
    assert isinstance(read, StreamFault)
    hits: list[None] = []
    session = RelayedSession(read, rpc, lambda: hits.append(None))
    session.handshake(UPGRADE)
    wire = b"".join(bytes(RelayedFrame(BINARY, frame)) for frame in frames)
    return [frame.payload for frame in RelayedFrames().feed(b"".join(session.down(wire)))], len(hits)


STATUS = b'\x03{"status":"Failure"}'
EXEC = [b"\x01", b"\x01out", b"\x02err", STATUS]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("stream: swap-channels", [b"\x01", b"\x02out", b"\x01err", STATUS]),
        ("stream: merge-stderr", [b"\x01", b"\x01out", b"\x01err", STATUS]),
        ("stream: drop-stdout", [b"\x01", b"\x02err", STATUS]),
        ("stream: drop-stderr", [b"\x01", b"\x01out", STATUS]),
        ("stream: upper", [b"\x01", b"\x01OUT", b"\x02err", STATUS]),
        ("stream: corrupt 1", [b"\x01", b"\x01ott", b"\x02err", STATUS]),
        ("stream: truncate 2", [b"\x01", b"\x01ou", b"\x02err", STATUS]),
        ("stream: duplicate", [b"\x01", b"\x01out", b"\x01out", b"\x02err", b"\x02err", STATUS]),
        ("stream: status-first", [b"\x01", STATUS, b"\x01out", b"\x02err"]),
        ("stream: hold", EXEC),
        ("stream: drop-status", EXEC[:3]),
        ("stream: status nonsense", [*EXEC[:3], b"\x03nonsense"]),
        ("stream: status-success", [*EXEC[:3], b'\x03{"metadata":{},"status":"Success"}']),
    ],
)
def test_changes_of_exec(fault: str, expected: list[bytes]) -> None:
    seen, hits = through(fault, "Exec", *EXEC)
    assert seen == expected
    assert hits


def test_a_byte_is_changed_once_however_the_output_is_cut() -> None:
    seen, hits = through("stream: corrupt 4", "Exec", b"\x01", b"\x01abc", b"\x01abc", b"\x01abc")
    assert seen == [b"\x01", b"\x01abc", b"\x01acc", b"\x01abc"]
    assert hits == 1


def test_changes_of_port_forward() -> None:
    opening = [b"\x00\x1f\x90", b"\x01\x1f\x90"]
    assert through("stream: upper", "PortForward", *opening, b"\x00abc")[0] == [*opening, b"\x00ABC"]
    assert through("stream: truncate 1", "PortForward", *opening, b"\x00abc")[0] == [*opening, b"\x00a"]
    with pytest.raises(Reset):
        through("stream: reset 3", "PortForward", *opening, b"\x00abc")


def test_what_is_no_websocket_passes() -> None:
    read = parse_fault("stream: upper")
    assert isinstance(read, StreamFault)
    session = RelayedSession(read, "Exec", lambda: None)
    session.handshake(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n")
    assert list(session.down(b"abc")) == list(session.up(b"abc")) == [b"abc"]


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with serve(CriServer()) as endpoint, FaultProxy(endpoint) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: FaultProxy, tmp_path: Path) -> Iterator[Client]:
    with connect(proxy.endpoint, str(tmp_path)) as client:
        yield client


@dataclass
class Seen:
    """What came out of one session."""

    output: dict[int, bytes] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    closed: bool = False


def run(client: Client, script: str, stdin: bytes = b"") -> Seen:
    container = client.run_container(client.run_sandbox(), ["sleep", "100"])
    request = cri.ExecRequest(
        container_id=container, cmd=["sh", "-c", script], stdin=bool(stdin), stdout=True, stderr=True
    )
    url = client.runtime.Exec(request, timeout=10).url
    session = websocket.create_connection(
        url.replace("http", "ws", 1), subprotocols=["v4.channel.k8s.io"], timeout=2
    )
    seen = Seen()
    try:
        if stdin:
            session.send_binary(b"\x00" + stdin)
        while True:
            opcode, data = session.recv_data()
            if opcode == websocket.ABNF.OPCODE_CLOSE:
                seen.closed = True
                return seen
            seen.output[data[0]] = seen.output.get(data[0], b"") + data[1:]
            if len(data) > 1:
                seen.order.append(data[0])
    finally:
        session.shutdown()  # type: ignore[no-untyped-call]  # the library has no types here


def test_a_fault_that_touches_nothing_of_a_session_lets_it_pass(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["stream: drop-resize"]
    seen = run(client, "read x; echo out $x; echo err >&2; exit 3", b"word\n")
    assert (seen.output[1], seen.output[2], seen.closed) == (b"out word\n", b"err\n", True)
    assert json.loads(seen.output[3])["details"]["causes"][0]["message"] == "3"
    assert proxy.hits == {"stream: drop-resize": 0}


def test_large_output_and_input_at_once_pass(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["stream: drop-resize"]
    assert len(run(client, "head -c 5000000 /dev/zero").output[1]) == 5_000_000


def test_broken_sessions(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["Exec.stream: exit-code 9"]
    assert b'"9"' in run(client, "exit 3").output[3]
    assert proxy.hits == {"Exec.stream: exit-code 9": 1}


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("stream: refuse-upgrade", websocket.WebSocketBadStatusException),
        ("stream: wrong-protocol", websocket.WebSocketException),
        ("stream: reset", ConnectionResetError),
        ("stream: dead-url", ConnectionRefusedError),
        ("stream: no-close", websocket.WebSocketTimeoutException),
        ("stream: no-close-frame", websocket.WebSocketConnectionClosedException),
    ],
)
def test_broken_connections(proxy: FaultProxy, client: Client, fault: str, error: type[Exception]) -> None:
    proxy.faults = [fault]
    with pytest.raises(error):
        run(client, "echo x")
    assert proxy.hits[fault]


def test_an_idle_session_is_closed(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["stream: idle-close 600ms"]

    with contextlib.suppress(websocket.WebSocketConnectionClosedException):
        assert run(client, "echo before; sleep 3; echo after").output.get(1) == b"before\n"

    assert proxy.hits == {"stream: idle-close 600ms": 1}


def test_a_session_with_traffic_is_not_idle(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["stream: idle-close 5s"]

    assert run(client, "for n in 1 2 3; do sleep 0.2; echo $n; done").output[1] == b"1\n2\n3\n"
    assert proxy.hits == {"stream: idle-close 5s": 0}


def test_stdin_that_never_arrives(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["stream: drop-stdin"]
    with pytest.raises(websocket.WebSocketTimeoutException):
        run(client, "read x; echo got $x", b"word\n")
    assert proxy.hits["stream: drop-stdin"] == 1


def test_a_client_that_goes_ends_the_command(proxy: FaultProxy, client: Client, tmp_path: Path) -> None:
    proxy.faults = ["stream: drop-resize"]
    del tmp_path
    container = client.run_container(client.run_sandbox(), ["sleep", "100"])
    request = cri.ExecRequest(
        container_id=container, cmd=["sh", "-c", "echo ready; exec sleep 50"], stdout=True
    )
    url = client.runtime.Exec(request, timeout=10).url
    session = websocket.create_connection(
        url.replace("http", "ws", 1), subprotocols=["v4.channel.k8s.io"], timeout=5
    )
    while b"ready" not in session.recv():
        pass
    session.shutdown()  # type: ignore[no-untyped-call]  # the library has no types here
    deadline = time.monotonic() + 5
    while (relays := _relays(url)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not relays


def _relays(url: str) -> list[str]:
    """Return the established connections to the relay's port."""
    port = f":{int(url.split(':')[2].split('/', maxsplit=1)[0]):04X}"
    with contextlib.suppress(FileNotFoundError):
        rows = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        return [row for row in rows if row.split()[1].endswith(port) and row.split()[3] == "01"]
    return []


def test_setting_other_faults_ends_the_relay(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["stream: upper"]
    container = client.run_container(client.run_sandbox(), ["sleep", "100"])
    url = client.runtime.Exec(
        cri.ExecRequest(container_id=container, cmd=["true"], stdout=True), timeout=10
    ).url
    proxy.faults = []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0])), timeout=5).close()
