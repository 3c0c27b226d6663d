"""Several connections over one socket, as the NRI defines them: each chunk has a header with the number of
its connection and its length.
"""

import contextlib
import socket
import struct
import threading

PLUGIN, RUNTIME = 1, 2
"""The connections on which the plugin is called, and on which it calls the runtime."""

_HEAD = struct.Struct(">II")
_PIECE = 4096
"""What is sent at once: the other side reads a piece into a buffer of this size, and one that does not fit
ends the connection.
"""


class Multiplexer:
    """One end of a socket; one thread may read while others write."""

    def __init__(self, trunk: socket.socket) -> None:
        self._trunk = trunk
        self._writing = threading.Lock()

    def send(self, connection: int, data: bytes) -> None:
        """Send bytes on a connection, all of them before anything else.

        Raises:
            OSError: the socket is closed, at either end.
        """
        pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
        with self._writing:
            for piece in pieces:
                self._trunk.sendall(_HEAD.pack(connection, len(piece)) + piece)

    def receive(self) -> tuple[int, bytes]:
        """Return the connection and the bytes of the next piece.

        Raises:
            OSError: the socket is closed, at either end.
        """
        connection, length = _HEAD.unpack(self._exactly(_HEAD.size))
        return connection, self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            part = self._trunk.recv(length - len(data))
            if not part:
                msg = "the other end has closed the socket"
                raise ConnectionError(msg)
            data += part
        return bytes(data)

    def close(self) -> None:
        """Shut down both directions, so that a blocked reader returns too."""
        with contextlib.suppress(OSError):
            self._trunk.shutdown(socket.SHUT_RDWR)
        self._trunk.close()
