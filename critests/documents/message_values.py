"""Messages with an invalid or extreme value in one field, derived from their descriptors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from critests.documents.document_fields import Expected

STRINGS = {
    "nothing": "",
    "a NUL": "a\0b",  # ends the text for system calls
    "5000 letters": "x" * 5000,  # more than PATH_MAX, 4096, and NAME_MAX, 255
    "a line break": "a\nb",  # starts a new entry in many files
    "a path upwards": "../../..",  # leads out of a directory to which it is appended
}
PATHS = frozenset({"cgroup_parent", "cgroups_path", "host_path", "log_directory"})
"""Fields with paths on the node, which a runtime may create if they are missing."""
UNUSABLE_PATHS = ("nothing", "a NUL", "5000 letters")
"""Values for those: nothing can be created there."""
NUMBERS = {
    FieldDescriptor.CPPTYPE_INT32: {"the least number": -(1 << 31), "the largest number": (1 << 31) - 1},
    FieldDescriptor.CPPTYPE_INT64: {"the least number": -(1 << 63), "the largest number": (1 << 63) - 1},
    FieldDescriptor.CPPTYPE_UINT32: {"the largest number": (1 << 32) - 1},
    FieldDescriptor.CPPTYPE_UINT64: {"the largest number": (1 << 64) - 1},
    # enumerations of proto3 are open: an unknown value reaches the server
    FieldDescriptor.CPPTYPE_ENUM: {"a value that is not defined": 9999},
}
ABSENT, EMPTY = "is absent", "is empty"


@dataclass(frozen=True)
class Nonsense:
    """An invalid or extreme value of one field of a request.

    Attributes:
        field: its path, such as `config.linux.resources.cpu_quota`.
        holds: the value, in words.
        spoil: puts the value into a request.
        expected: what the specification says of a response: nothing.
    """

    field: str
    holds: str
    spoil: Callable[[Message], None]
    expected: Expected = Expected.EITHER

    def __str__(self) -> str:
        return f"{self.field}: {self.holds}"


def nonsense_for(request: Message, skipped: Sequence[str] = ()) -> Iterator[Nonsense]:
    """Yield every invalid or extreme value for a request.

    Args:
        request: a valid one: it shows which messages are present.
        skipped: names of messages that are not changed.
    """
    yield from _inside(request.DESCRIPTOR, request, [], skipped)


def _inside(
    kind: Any,  # noqa: ANN401 - a Descriptor, which has two types
    valid: Message | None,
    above: list[str],
    skipped: Sequence[str],
) -> Iterator[Nonsense]:
    for field in kind.fields:
        path = [*above, field.name]
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            yield from _of_map(path)
        elif entry is not None:
            if field.name not in skipped:
                yield _of_message(path, valid)
                yield from _inside(entry, _message_in(valid, field.name), path, skipped)
        else:
            now = field.default_value if valid is None else getattr(valid, field.name)
            for what, value in _values_of(field).items():
                if value != now:
                    yield Nonsense(".".join(path), what, _setting(path, value))


def _values_of(field: FieldDescriptor) -> dict[str, Any]:
    if field.type == FieldDescriptor.TYPE_STRING:
        return {
            what: value
            for what, value in STRINGS.items()
            if field.name not in PATHS or what in UNUSABLE_PATHS
        }
    return dict(NUMBERS.get(field.cpp_type, {}))


def _of_map(path: list[str]) -> Iterator[Nonsense]:
    """Yield invalid keys and values of a map of strings."""
    for what, value in STRINGS.items():
        yield Nonsense(".".join(path), f"{what} as a key", _adding(path, value, "x"))
        if value:
            yield Nonsense(".".join(path), f"{what} as a value", _adding(path, "x", value))


def _of_message(path: list[str], valid: Message | None) -> Nonsense:
    """Return a request without a message that it has, or with an empty one that it lacks."""
    present = _message_in(valid, path[-1]) is not None

    def spoil(request: Message) -> None:
        holder = _message_at(request, path[:-1])
        if present:
            holder.ClearField(path[-1])
        else:
            _created_in(holder, path[-1])

    return Nonsense(".".join(path), ABSENT if present else EMPTY, spoil)


def _adding(path: list[str], key: str, value: str) -> Callable[[Message], None]:
    def spoil(request: Message) -> None:
        getattr(_message_at(request, path[:-1]), path[-1])[key] = value

    return spoil


def _setting(path: list[str], value: object) -> Callable[[Message], None]:
    def spoil(request: Message) -> None:
        holder = _message_at(request, path[:-1])
        if _is_repeated(holder, path[-1]):
            getattr(holder, path[-1]).append(value)
        else:
            setattr(holder, path[-1], value)

    return spoil


def _is_repeated(message: Message, name: str) -> bool:
    return hasattr(getattr(message, name), "append")


def _message_in(message: Message | None, name: str) -> Message | None:
    """Return the message in a field, or the first of a repeated field; None if it is absent."""
    if message is None:
        return None
    if _is_repeated(message, name):
        return next(iter(getattr(message, name)), None)
    inner: Message = getattr(message, name)
    return inner if message.HasField(name) else None


def _message_at(request: Message, path: Sequence[str]) -> Message:
    for name in path:
        request = _created_in(request, name)
    return request


def _created_in(message: Message, name: str) -> Message:
    """Return the message in a field, or the first of a repeated field; it is created if it is absent."""
    inner: Any = getattr(message, name)
    if _is_repeated(message, name):
        first: Message = inner[0] if len(inner) else inner.add()
        return first
    inner.SetInParent()
    created: Message = inner
    return created
