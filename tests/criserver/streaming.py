"""Exec and Attach over WebSocket, subprotocols v5.channel.k8s.io and v4.channel.k8s.io: channels 0 stdin, 1
stdout, 2 stderr, 3 status, and in the newer one 255 for the end of a channel.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import secrets
import signal
import socket
import socketserver
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from typing import IO, cast

from websocket import ABNF, WebSocketException, frame_buffer

from critests.api import api_pb2 as cri
from tests.criserver import processes, tunnel

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
ACCEPT_KEY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
STDIN, STDOUT, STDERR, STATUS = range(4)
END = 255
BINARY, CLOSE, PING, PONG = ABNF.OPCODE_BINARY, ABNF.OPCODE_CLOSE, ABNF.OPCODE_PING, ABNF.OPCODE_PONG
POLL_SECONDS = 0.05
Serve = Callable[[socket.socket, BufferedIOBase], None]
"""Serves one client until its session ends."""


class StreamingServer:
    """Serves the URLs of Exec and Attach; listens from the first such call on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: _HttpServer | None = None
        self.offers: dict[str, Serve] = {}

    def offer_exec(self, request: cri.ExecRequest, environment: dict[str, str]) -> str:
        """Return a URL at which the command can be run once."""
        return self._offer("exec", lambda client, reader: Session(client, reader, request, environment).run())

    def offer_attach(self, request: cri.AttachRequest, process: processes.ContainerProcess) -> str:
        """Return a URL for one session with a container's output."""
        return self._offer("attach", lambda client, reader: attach(client, reader, request, process))

    def _offer(self, kind: str, offer: "Serve") -> str:
        token = secrets.token_urlsafe(8)
        with self._lock:
            self.offers[token] = offer
            return f"{self._listening()}/{kind}/{token}"

    def offer_port_forward(self) -> str:
        """Return a URL for port-forward through a tunnel; other requests get 403."""
        with self._lock:
            return f"{self._listening()}/portforward/{secrets.token_urlsafe(8)}"

    def offer_nothing(self, kind: str) -> str:
        """Return a URL without a session: requests get 404."""
        with self._lock:
            return f"{self._listening()}/{kind}/{secrets.token_urlsafe(8)}"

    def _listening(self) -> str:
        if self._server is None:
            self._server = _HttpServer(("127.0.0.1", 0), _Handler)
            self._server.owner = self
            threading.Thread(
                target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
            ).start()
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def take(self, token: str) -> "Serve | None":
        """Return the session of a token, once."""
        with self._lock:
            return self.offers.pop(token, None)

    def close(self) -> None:
        """Stop listening."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()


class _HttpServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: StreamingServer


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Upgrade to WebSocket, and run the command or connect to ports."""
        server = self.server
        assert isinstance(server, _HttpServer)
        self.close_connection = True
        if self.path.startswith("/portforward/"):
            self._forward()
            return
        protocols = [name.strip() for name in self.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        chosen = next((name for name in PROTOCOLS if name in protocols), "")
        if self.headers.get("Upgrade", "").lower() != "websocket" or not chosen:
            self.send_error(403)
            return
        offer = server.owner.take(self.path.rpartition("/")[2])
        if offer is None:
            self.send_error(404)
            return
        self._switch(chosen)
        with contextlib.suppress(OSError):
            offer(self.connection, self.rfile)

    def do_POST(self) -> None:
        """Reject SPDY."""
        self.close_connection = True
        self.send_error(403)

    def _forward(self) -> None:
        if self.headers.get("Sec-WebSocket-Protocol", "") != tunnel.PROTOCOL:
            self.send_error(403)
            return
        self._switch(tunnel.PROTOCOL)
        frames = Frames(self.connection, self.rfile)
        forwards = tunnel.PortForwards(lambda data: frames.send(BINARY, data))
        with contextlib.suppress(OSError, ValueError):
            for message in frames.messages():
                forwards.take(message)
        forwards.close()

    def _switch(self, chosen: str) -> None:
        key = self.headers["Sec-WebSocket-Key"] + ACCEPT_KEY
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        digest = hashlib.sha1(key.encode()).digest()  # noqa: S324 - RFC 6455 says which hash
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
        self.send_header("Sec-WebSocket-Protocol", chosen)
        self.end_headers()
        self.wfile.flush()


class Frames:
    """The messages of one WebSocket; clients send each in a single frame."""

    def __init__(self, connection: socket.socket, reader: BufferedIOBase) -> None:
        self._connection = connection
        self._reader = reader
        self._frames = frame_buffer(self._read, skip_utf8_validation=True)
        self._lock = threading.Lock()

    def _read(self, size: int) -> bytes:
        data = self._reader.read(size)
        if not data:
            raise EOFError
        return data

    def send(self, opcode: int, payload: bytes) -> None:
        """Send one message."""
        with self._lock:
            self._connection.sendall(ABNF(1, 0, 0, 0, opcode, 0, payload).format())

    def messages(self) -> Iterator[bytes]:
        """Yield messages until the client disconnects, replying to pings."""
        with contextlib.suppress(EOFError, WebSocketException):
            while (frame := self._frames.recv_frame()).opcode != CLOSE:
                if frame.opcode == PING:
                    self.send(PONG, cast("bytes", frame.data))
                else:
                    yield cast("bytes", frame.data)


class Session:
    """One command on one WebSocket."""

    def __init__(
        self,
        connection: socket.socket,
        reader: BufferedIOBase,
        request: cri.ExecRequest,
        environment: dict[str, str],
    ) -> None:
        self._connection = connection
        self._frames = Frames(connection, reader)
        self._request = request
        self._environment = environment

    def run(self) -> None:
        """Run the command until it exits, and send its status."""
        self._frames.send(BINARY, bytes([STDOUT]))
        try:
            process = processes.start(
                list(self._request.cmd),
                self._environment,
                stdin=subprocess.PIPE if self._request.stdin else subprocess.DEVNULL,
                stderr=subprocess.STDOUT if self._request.tty else subprocess.PIPE,
            )
        except OSError as error:
            self._send_status({"status": "Failure", "reason": "InternalError", "message": str(error)})
            return
        threading.Thread(target=self._read, args=(process,), daemon=True).start()
        wanted = (self._request.stdout, self._request.stderr)
        copiers = [
            threading.Thread(target=self._copy, args=copied, daemon=True)
            for copied in zip((process.stdout, process.stderr), (STDOUT, STDERR), wanted, strict=True)
            if copied[0]
        ]
        for copier in copiers:
            copier.start()
        for copier in copiers:
            copier.join()
        process.wait()
        code = processes.exit_code(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()
        if code == 0:
            self._send_status({"status": "Success"})
            return
        details = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
        self._send_status(
            {
                "status": "Failure",
                "reason": "NonZeroExitCode",
                "message": f"command terminated with non-zero exit code: exit status {code}",
                "details": details,
            }
        )

    def _send_status(self, status: dict[str, object]) -> None:
        self._frames.send(BINARY, bytes([STATUS]) + json.dumps({"metadata": {}, **status}).encode())
        self._frames.send(CLOSE, struct.pack(">H", 1000))
        self._connection.shutdown(socket.SHUT_WR)

    def _copy(self, source: IO[bytes], channel: int, wanted: bool) -> None:  # a field of the request
        while chunk := source.read(32768):
            if wanted:
                with contextlib.suppress(OSError):
                    self._frames.send(BINARY, bytes([channel]) + chunk)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Pass stdin on until the client disconnects; then kill the command."""
        with contextlib.suppress(OSError, ValueError):
            for message in self._frames.messages():
                if message[:1] == bytes([STDIN]) and process.stdin:
                    process.stdin.write(message[1:])
                elif message == bytes([END, STDIN]) and process.stdin:
                    process.stdin.close()
        if process.poll() is None:
            processes.kill_session(process, signal.SIGKILL)


def attach(
    connection: socket.socket,
    reader: BufferedIOBase,
    request: cri.AttachRequest,
    process: processes.ContainerProcess,
) -> None:
    """Send a container's output from now on, and pass input on, until it exits or the client disconnects."""
    frames, left = Frames(connection, reader), threading.Event()
    channels = {"stdout": STDOUT if request.stdout else None, "stderr": STDERR if request.stderr else None}

    def hand_on(stream: str, chunk: bytes) -> None:
        channel = channels[stream]
        if channel is not None:
            with contextlib.suppress(OSError):
                frames.send(BINARY, bytes([channel]) + chunk)

    def read() -> None:
        with contextlib.suppress(OSError):
            for message in frames.messages():
                stdin = process.process and process.process.stdin
                if message[:1] == bytes([STDIN]) and request.stdin and stdin:
                    stdin.write(message[1:])
        left.set()

    process.log.listeners.append(hand_on)
    threading.Thread(target=read, daemon=True).start()
    while not left.wait(POLL_SECONDS) and not process.ended.is_set():
        pass
    process.log.listeners.remove(hand_on)
    if process.ended.is_set():
        frames.send(BINARY, bytes([STATUS]) + json.dumps({"metadata": {}, "status": "Success"}).encode())
    frames.send(CLOSE, struct.pack(">H", 1000))
    connection.shutdown(socket.SHUT_WR)
