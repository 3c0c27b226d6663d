"""The header compression of HTTP/2 as far as the null server needs it: to learn the path of a call, and to
answer in few bytes.

Source: RFC 7541. Strings must come as they are: gRPC's C core, which is below its Python, never sends a path
in Huffman code.
"""

from collections import deque
from typing import Final

_STATIC_TEXT: Final = """
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate
"""
_STATIC: Final = tuple(
    tuple(part.encode() for part in line.partition(" ")[::2]) for line in _STATIC_TEXT.split("\n")[1:-1]
)
_TABLE_BYTES: Final = 4096
_ENTRY_BYTES: Final = 32
"""What an entry costs beside its name and value."""
_KNOWN_BLOCKS: Final = 256
_PATH: Final = b":path"
_CONTENT_TYPE: Final = 31

# how a header field begins
_INDEXED: Final = 0x80
_REMEMBERED: Final = 0x40
_TABLE_SIZE: Final = 0x20
_HUFFMAN: Final = 0x80


class HeadersNotUnderstood(Exception):
    """A header block is damaged, or coded in a way that the null server does not know."""


class PathReader:
    """Reads header blocks of one connection, in their order, for the path in them."""

    def __init__(self) -> None:
        self._table: deque[tuple[bytes, bytes]] = deque()
        self._bytes = 0
        self._limit = _TABLE_BYTES
        self._known: dict[bytes, str] = {}

    def path(self, block: bytes) -> str:
        """Return the path of a request.

        Raises:
            HeadersNotUnderstood: the block cannot be read, after which nothing on this connection can.
        """
        known = self._known.get(block)
        if known is None:
            try:
                known = self._read(block)
            except IndexError as error:
                raise HeadersNotUnderstood("a header block is cut off") from error
        return known

    def _read(self, block: bytes) -> str:
        at, path, changed = 0, b"", False
        while at < len(block):
            first = block[at]
            if first & _INDEXED:
                index, at = _integer(block, at, 7)
                name, value = self._entry(index)
            elif first & _REMEMBERED:
                index, at = _integer(block, at, 6)
                name, value, at = self._literal(block, at, index)
                self._remember(name, value)
                changed = True
            elif first & _TABLE_SIZE:
                self._limit, at = _integer(block, at, 5)
                self._evict()
                changed = True
                continue
            else:
                index, at = _integer(block, at, 4)
                name, value, at = self._literal(block, at, index)
            if name == _PATH:
                path = value
        text = path.decode(errors="replace")
        if changed or len(self._known) >= _KNOWN_BLOCKS:
            self._known.clear()
        if not changed:
            self._known[block] = text
        return text

    def _entry(self, index: int) -> tuple[bytes, bytes]:
        if index == 0:
            raise HeadersNotUnderstood("a header field has the index 0")
        if index <= len(_STATIC):
            name, value = _STATIC[index - 1]
            return name, value
        return self._table[index - 1 - len(_STATIC)]

    def _literal(self, block: bytes, at: int, index: int) -> tuple[bytes, bytes, int]:
        if index:
            name = self._entry(index)[0]
        else:
            name, at = _string(block, at)
        value, at = _string(block, at)
        return name, value, at

    def _remember(self, name: bytes, value: bytes) -> None:
        self._table.appendleft((name, value))
        self._bytes += len(name) + len(value) + _ENTRY_BYTES
        self._evict()

    def _evict(self) -> None:
        while self._bytes > self._limit:
            name, value = self._table.pop()
            self._bytes -= len(name) + len(value) + _ENTRY_BYTES


def failure_headers(code: int, details: str) -> bytes:
    """Return the header block of a call that fails at once."""
    fields = {"content-type": "application/grpc", "grpc-status": str(code), "grpc-message": _percent(details)}
    return b"\x88" + b"".join(
        b"\0" + _as_string(name.encode()) + _as_string(value.encode()) for name, value in fields.items()
    )


def _percent(text: str) -> str:
    """Return a text as gRPC puts it into a header: printable ASCII, all else by its bytes in hexadecimal."""
    return "".join(
        chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02X}" for byte in text.encode()
    )


def _as_string(content: bytes) -> bytes:
    return _as_integer(len(content), 7) + content


def _as_integer(number: int, bits: int) -> bytes:
    most = (1 << bits) - 1
    if number < most:
        return bytes([number])
    digits, rest = bytearray([most]), number - most
    while rest >= 0x80:
        digits.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*digits, rest])


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    most = (1 << bits) - 1
    number = block[at] & most
    at += 1
    if number < most:
        return number, at
    shift = 0
    while True:
        byte = block[at]
        at += 1
        number += (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return number, at


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    coded = block[at] & _HUFFMAN
    length, at = _integer(block, at, 7)
    if coded:
        raise HeadersNotUnderstood("the null server does not read Huffman-coded headers")
    if at + length > len(block):
        raise HeadersNotUnderstood("a header block is cut off")
    return block[at : at + length], at + length


_GRPC: Final = _as_string(b"application/grpc")
_OK: Final = _as_string(b"grpc-status") + _as_string(b"0")
PLAIN_HEADERS: Final = (b"\x88" + b"\0" + _as_string(b"content-type") + _GRPC, b"\0" + _OK)
"""The header blocks before and behind the messages of a call that succeeds, each written out."""
TEACHING_HEADERS: Final = (b"\x88" + bytes([_REMEMBERED | _CONTENT_TYPE]) + _GRPC, bytes([_REMEMBERED]) + _OK)
"""The same, which the client is to remember: once on a connection, and both with nothing between them."""
TAUGHT_HEADERS: Final = (b"\x88" + bytes([_INDEXED | len(_STATIC) + 2]), bytes([_INDEXED | len(_STATIC) + 1]))
"""The same, as numbers of what the client remembers."""
