"""The heap of a daemon that serves its profiles."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer

import pytest

from critests.node.host.go_heap import live_bytes

# the end of a profile in text, with the statistics of Go's runtime
PROFILE = "heap profile: 1: 16 [2: 32] @ heap/1048576\n\n# Alloc = 7\n# HeapAlloc = 3612168\n# HeapSys = 9\n"


class Profiles(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert self.path == "/debug/pprof/heap?gc=1&debug=1"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(PROFILE.encode())

    def log_message(self, *_: object) -> None:
        pass

    def address_string(self) -> str:
        return "a Unix socket"


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "debug.sock"
    with UnixStreamServer(str(path), Profiles) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield path
        server.shutdown()


def test_live_bytes_are_those_after_a_collection(socket: Path) -> None:
    assert live_bytes(socket) == 3612168


def test_a_daemon_without_profiles_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        live_bytes(tmp_path / "none.sock")
