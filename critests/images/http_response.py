"""Sends one blob as an HTTP response: all of it, a range, or with one of the faults in
`registry_faults.py`.
"""

import json
import re
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from critests.images.oci_image import Blob
from critests.images.registry_faults import FaultKind, RegistryFault

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_STALL_POLL_SECONDS = 0.1
_OLD_MANIFEST = json.dumps(
    {
        "schemaVersion": 1,
        "name": "critests/old",
        "tag": "1",
        "architecture": "amd64",
        "fsLayers": [{"blobSum": f"sha256:{'0' * 64}"}],
        "history": [{"v1Compatibility": json.dumps({"id": "0" * 64})}],
    }
).encode()
_OTHER_MEDIA_TYPES: dict[FaultKind | None, str] = {
    FaultKind.WRONG_MEDIA_TYPE: "text/html",
    FaultKind.OLD_SCHEMA: "application/vnd.docker.distribution.manifest.v1+prettyjws",
}


@dataclass(frozen=True, slots=True)
class _ByteRange:
    """The requested range of the content."""

    status: HTTPStatus
    start: int
    end: int
    """The first byte that is not in it."""


def parse_range(header: str, size: int) -> _ByteRange:
    """Return the range of a Range header; other forms than a single range of bytes are ignored, as RFC 9110
    allows.
    """
    match = _RANGE.fullmatch(header.strip())
    whole = _ByteRange(HTTPStatus.OK, 0, size)
    if not match or not any(match.groups()):
        return whole
    first, last = match.groups()
    if not first:
        start, end = max(0, size - int(last)), size
        satisfiable = int(last) > 0 and size > 0
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return whole
        satisfiable = start < size
    return (
        _ByteRange(HTTPStatus.PARTIAL_CONTENT, start, end)
        if satisfiable
        else _ByteRange(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, 0, 0)
    )


@dataclass(slots=True)
class ResponseWriter:
    """Sends one blob to one client."""

    handler: BaseHTTPRequestHandler
    blob: Blob
    kind: str
    """`manifest` or `blob`."""
    fault: RegistryFault | None = None
    goes_on: Callable[[], bool] = lambda: True
    """Returns False once the registry stops or the fault is cleared."""

    def send(self, range_header: str) -> None:
        """Send the content, with the fault."""
        fault = self.fault.kind if self.fault else None
        content = self._content(fault)
        part = _ByteRange(HTTPStatus.OK, 0, len(content))
        if range_header and self.kind == "blob" and fault is not FaultKind.NO_RANGES:
            part = parse_range(range_header, len(content))
        if fault is FaultKind.DELAY and self.fault:
            self._wait(self.fault.seconds)
        self._headers(part, len(content), fault)
        if self.handler.command != "HEAD" and part.end > part.start:
            self._body(memoryview(content)[part.start : part.end], fault)

    def _content(self, fault: FaultKind | None) -> bytes:
        content = self.blob.content
        if fault is FaultKind.WRONG_DIGEST:
            if self.kind == "manifest":
                # still JSON of the same length: the last digit of the first size is changed
                return re.sub(
                    rb'("size":\d*?)(\d)(?=\D)',
                    lambda found: found[1] + b"%d" % ((int(found[2]) + 1) % 10),
                    content,
                    count=1,
                )
            middle = len(content) // 2
            return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
        if fault is FaultKind.SHORT:
            return content[: len(content) // 2]
        if fault is FaultKind.MALFORMED_MANIFEST:
            return b"this is not a manifest {"
        if fault is FaultKind.OLD_SCHEMA:
            return _OLD_MANIFEST
        return content

    def _headers(self, part: _ByteRange, total: int, fault: FaultKind | None) -> None:
        handler = self.handler
        handler.send_response(part.status)
        media_type = self.blob.media_type if self.kind == "manifest" else "application/octet-stream"
        handler.send_header("Content-Type", _OTHER_MEDIA_TYPES.get(fault, media_type))
        if fault is FaultKind.CHUNKED and handler.command != "HEAD":
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(part.end - part.start))
        if fault is not FaultKind.NO_DIGEST_HEADER:
            handler.send_header("Docker-Content-Digest", self.blob.digest)
        handler.send_header("Docker-Distribution-API-Version", "registry/2.0")
        if self.kind == "blob" and fault is not FaultKind.NO_RANGES:
            handler.send_header("Accept-Ranges", "bytes")
        if part.status is HTTPStatus.PARTIAL_CONTENT:
            handler.send_header("Content-Range", f"bytes {part.start}-{part.end - 1}/{total}")
        if part.status is HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            handler.send_header("Content-Range", f"bytes */{total}")
        handler.end_headers()

    def _body(self, content: memoryview, fault: FaultKind | None) -> None:
        half = len(content) // 2
        if fault in {FaultKind.RESET, FaultKind.STALL} and self.fault:
            self.handler.wfile.write(content[:half])
            self.handler.wfile.flush()
            if fault is FaultKind.RESET:
                self._reset()
            else:
                self._stall()
        elif fault is FaultKind.TRUNCATED:
            self.handler.wfile.write(content[:half])
            self.handler.close_connection = True
        elif fault is FaultKind.SLOW and self.fault:
            self._slowly(content, self.fault.bytes_per_second or len(content) / self.fault.seconds)
        elif fault is FaultKind.CHUNKED:
            step = 64 * 1024
            for start in range(0, len(content), step):
                piece = content[start : start + step]
                self.handler.wfile.write(b"%x\r\n" % len(piece))
                self.handler.wfile.write(piece)
                self.handler.wfile.write(b"\r\n")
            self.handler.wfile.write(b"0\r\n\r\n")
        else:
            self.handler.wfile.write(content)

    def _slowly(self, content: memoryview, bytes_per_second: float) -> None:
        """Send in each tenth of a second what is due by then."""
        began = time.monotonic()
        done = 0
        while done < len(content):
            if not self._wait(_STALL_POLL_SECONDS):
                self.handler.close_connection = True
                return
            due = min(len(content), int((time.monotonic() - began) * bytes_per_second))
            self.handler.wfile.write(content[done:due])
            self.handler.wfile.flush()
            done = due

    def _reset(self) -> None:
        """Close so that the client gets RST: unsent data is discarded."""
        self.handler.close_connection = True
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.connection.close()

    def _stall(self) -> None:
        self.handler.close_connection = True
        # an hour is longer than any deadline of a pull
        seconds = self.fault.seconds if self.fault and self.fault.seconds else 3600.0
        self._wait(seconds)

    def _wait(self, seconds: float) -> bool:
        """Wait; return False at once when the client disconnects, the fault is cleared or the registry
        stops.
        """
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.handler.connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        while (left := deadline - time.monotonic()) > 0:
            if poll.poll(min(left, _STALL_POLL_SECONDS) * 1000) or not self.goes_on():
                return False
        return True
