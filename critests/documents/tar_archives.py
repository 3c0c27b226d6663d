"""Tar archives written byte by byte, so that any header can have any value.

Sources: POSIX.1-2017, pax (ustar and pax formats); GNU tar manual, "Basic Tar Format".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

BLOCK: Final = 512
END: Final = bytes(2 * BLOCK)
"""Two zero blocks: the end of an archive, and as a whole an empty archive."""

FILE, HARDLINK, SYMLINK, CHARACTER, BLOCK_DEVICE, DIRECTORY, FIFO = "0", "1", "2", "3", "4", "5", "6"
PAX, GLOBAL, LONG_NAME, LONG_LINK = "x", "g", "L", "K"

_PLACES: Final = {
    "name": (0, 100),
    "mode": (100, 8),
    "uid": (108, 8),
    "gid": (116, 8),
    "size": (124, 12),
    "mtime": (136, 12),
    "checksum": (148, 8),
    "type": (156, 1),
    "linkname": (157, 100),
    "magic": (257, 6),
    "version": (263, 2),
    "uname": (265, 32),
    "gname": (297, 32),
    "devmajor": (329, 8),
    "devminor": (337, 8),
    "prefix": (345, 155),
}
"""Offset and length of each field of a ustar header."""


@dataclass(frozen=True)
class Member:
    """A member of an archive.

    Attributes:
        name: its path.
        kind: the type flag.
        content: follows the header, padded to whole blocks.
        target: of a link.
        pax: records of a pax header in front of it; values may be bytes.
        raw: bytes of header fields by name, in place of the usual ones.
    """

    name: str
    kind: str = FILE
    content: bytes = b""
    target: str = ""
    pax: Mapping[str, str | bytes] = field(default_factory=dict)
    raw: Mapping[str, bytes] = field(default_factory=dict)

    def packed(self) -> bytes:
        """Return header and content; names that do not fit into a ustar header are in a pax header."""
        records = dict(self.pax)
        if len(self.name.encode("utf-8", "surrogateescape")) > 100 or not self.name.isascii():
            records.setdefault("path", self.name.encode("utf-8", "surrogateescape"))
        if len(self.target.encode()) > 100:
            records.setdefault("linkpath", self.target)
        head = pax_header(b"".join(record(key, value) for key, value in records.items())) if records else b""
        return head + self._header() + padded(self.content)

    def _header(self) -> bytes:
        mode = 0o755 if self.kind == DIRECTORY else 0o644
        values = {
            "name": self.name.encode("utf-8", "surrogateescape")[:100],
            "mode": octal(mode, 8),
            "uid": octal(0, 8),
            "gid": octal(0, 8),
            "size": octal(len(self.content), 12),
            "mtime": octal(0, 12),
            "type": self.kind.encode(),
            "linkname": self.target.encode()[:100],
            "magic": b"ustar\0",
            "version": b"00",
            "devmajor": octal(0, 8),
            "devminor": octal(0, 8),
            **self.raw,
        }
        header = bytearray(BLOCK)
        for name, value in values.items():
            offset, length = _PLACES[name]
            header[offset : offset + length] = value[:length].ljust(length, b"\0")
        if "checksum" not in self.raw:
            offset, length = _PLACES["checksum"]
            header[offset : offset + length] = b" " * length
            header[offset : offset + length] = f"{sum(header):06o}\0 ".encode()
        return bytes(header)


def octal(number: int, length: int) -> bytes:
    """Return a number as a field of a header: octal digits and a NUL."""
    return f"{number:0{length - 1}o}\0".encode()


def base_256(number: int, length: int) -> bytes:
    """Return a number as a field of a header in the binary form of GNU tar."""
    raw = bytearray(number.to_bytes(length, "big", signed=True))
    raw[0] = 0xFF if number < 0 else 0x80
    return bytes(raw)


def padded(content: bytes) -> bytes:
    """Return content filled up to whole blocks."""
    return content + bytes(-len(content) % BLOCK)


def record(key: str, value: str | bytes) -> bytes:
    """Return a record of a pax header: its length, the key and the value."""
    text = value if isinstance(value, bytes) else value.encode()
    rest = b" " + key.encode() + b"=" + text + b"\n"
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def pax_header(records: bytes, kind: str = PAX) -> bytes:
    """Return a pax header with records, valid or not."""
    return Member("pax", kind, records).packed()


def archive(*members: Member) -> bytes:
    """Return an archive with these members and its end."""
    return b"".join(member.packed() for member in members) + END
