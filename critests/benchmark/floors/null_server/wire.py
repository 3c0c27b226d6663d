"""How answers become bytes: protobuf written by hand where its classes would take longer than the call."""

from collections.abc import Iterable
from typing import Final

from google.protobuf.message import Message

PLACEHOLDER: Final = "f" * 64
"""Stands where the id of a sandbox or container goes."""
_STREAM_CHUNK: Final = 100
"""Entries in one message of a streaming list."""
_FIRST_FIELD: Final = 0x0A  # field 1, length-delimited
_LONGEST_SHORT: Final = 0x7F  # what a length of one byte can say
_HEADER_BYTES: Final = 2  # of a short field: its number and type, its length


class Template:
    """A serialised answer with a gap for an id of 64 characters."""

    def __init__(self, message: Message) -> None:
        self._around = message.SerializeToString().split(PLACEHOLDER.encode())

    def of(self, identity: bytes) -> bytes:
        """Return the answer about an id; one of another length has no place in it."""
        return identity.join(self._around)


def identity_in(raw: bytes) -> bytes:
    """Return the first field of a request, which is the id in every request that names a sandbox or
    container.
    """
    if raw[:1] != bytes([_FIRST_FIELD]) or raw[1] > _LONGEST_SHORT:
        return b""
    return raw[_HEADER_BYTES : _HEADER_BYTES + raw[1]]


def repeated(items: Iterable[Message]) -> bytes:
    """Return a message whose field 1 holds the items, as every answer of a list does."""
    parts: list[bytes] = []
    for item in items:
        content = item.SerializeToString()
        parts += [bytes([_FIRST_FIELD]), _varint(len(content)), content]
    return b"".join(parts)


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > _LONGEST_SHORT:
        digits.append(number & _LONGEST_SHORT | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def chunks(items: list[Message]) -> list[bytes]:
    """Return what a streaming list sends."""
    return [repeated(items[start : start + _STREAM_CHUNK]) for start in range(0, len(items), _STREAM_CHUNK)]
