"""The heap of a Go program that serves the profiles of net/http/pprof at a Unix socket."""

import re
import socket
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

SECONDS: Final = 30.0
LIVE: Final = re.compile(r"^# HeapAlloc = ([0-9]+)$", re.MULTILINE)


class _UnixConnection(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self._path))


def live_bytes(path: Path) -> int:
    """Return how many bytes of its heap a program uses after a garbage collection.

    Args:
        path: of the socket.

    Raises:
        OSError: nothing listens there.
    """
    connection = _UnixConnection(path)
    try:
        connection.request("GET", "/debug/pprof/heap?gc=1&debug=1")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    found = LIVE.search(text)
    assert found is not None, text[:200]
    return int(found[1])
