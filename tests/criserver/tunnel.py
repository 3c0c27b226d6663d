"""Port-forward over SPDY inside WebSocket (`SPDY/3.1+portforward.k8s.io`), to ports of this machine."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

from critests.client.streaming.spdy_frames import (
    ControlFrame,
    ControlFrameType,
    HeaderReader,
    HeaderWriter,
    SpdyFrameReader,
    control_frame,
    data_frame,
)

PROTOCOL = "SPDY/3.1+portforward.k8s.io"


class PortForwards:
    """The connections of one session.

    Args:
        send: sends bytes to the client.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._frames = SpdyFrameReader()
        self._their_headers = HeaderReader()
        self._our_headers = HeaderWriter()
        self._errors: dict[str, int] = {}
        self._connections: dict[int, socket.socket] = {}

    def take(self, data: bytes) -> None:
        """Handle bytes from the client."""
        for frame in self._frames.feed(data):
            if isinstance(frame, ControlFrame):
                if frame.kind == ControlFrameType.SYN_STREAM:
                    self._open(frame.number(), self._their_headers.headers(frame.body[10:]))
                continue
            connection = self._connections.get(frame.stream)
            with contextlib.suppress(OSError):
                if connection and frame.data:
                    connection.sendall(frame.data)
                if connection and frame.fin:
                    connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()

    def _open(self, stream: int, headers: dict[str, str]) -> None:
        self._send(
            control_frame(ControlFrameType.SYN_REPLY, struct.pack("!I", stream) + self._our_headers.block({}))
        )
        if headers["streamtype"] == "error":
            self._errors[headers["requestid"]] = stream
            return
        error = self._errors.pop(headers["requestid"])
        try:
            connection = socket.create_connection(("127.0.0.1", int(headers["port"])), 5)
        except OSError as refused:
            self._send(data_frame(error, str(refused).encode(), fin=True))
            self._send(data_frame(stream, b"", fin=True))
            return
        self._connections[stream] = connection
        threading.Thread(target=self._copy, args=(connection, stream, error), daemon=True).start()

    def _copy(self, connection: socket.socket, stream: int, error: int) -> None:
        with contextlib.suppress(OSError):
            while data := connection.recv(32768):
                self._send(data_frame(stream, data))
            self._send(data_frame(stream, b"", fin=True))
            self._send(data_frame(error, b"", fin=True))
