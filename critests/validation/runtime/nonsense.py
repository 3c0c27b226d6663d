"""Requests with nonsense in one field, derived from the API's own description of its messages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

STRINGS = {
    "nothing": "",
    "a NUL": "a\0b",
    "5000 letters": "x" * 5000,
    "a line break": "a\nb",
    "a path upwards": "../../..",
}
PLACES = frozenset({"cgroup_parent", "host_path", "log_directory"})
"""Fields that name places on the node, where a runtime may make what is not there."""
NOWHERE = ("nothing", "a NUL", "5000 letters")
"""What is tried in those: nothing can be made there."""
NUMBERS = {
    FieldDescriptor.CPPTYPE_INT32: {"the least number": -(1 << 31), "the largest number": (1 << 31) - 1},
    FieldDescriptor.CPPTYPE_INT64: {"the least number": -(1 << 63), "the largest number": (1 << 63) - 1},
    FieldDescriptor.CPPTYPE_UINT32: {"the largest number": (1 << 32) - 1},
    FieldDescriptor.CPPTYPE_UINT64: {"the largest number": (1 << 64) - 1},
    FieldDescriptor.CPPTYPE_ENUM: {"a value that is not defined": 9999},
}
ABSENT, EMPTY = "is absent", "is empty"


@dataclass(frozen=True)
class Nonsense:
    """What may be wrong with a request.

    Attributes:
        field: its path, such as `config.linux.resources.cpu_quota`.
        holds: what it holds, in words.
        spoil: puts that into a request.
    """

    field: str
    holds: str
    spoil: Callable[[Message], None]

    def __str__(self) -> str:
        return f"{self.field}: {self.holds}"


def nonsense_for(request: Message, left_alone: Sequence[str] = ()) -> Iterator[Nonsense]:
    """Yield everything that is tried with a request.

    Args:
        request: a sound one: which messages it has is known by it.
        left_alone: names of messages with which and in which nothing is tried.
    """
    yield from _inside(request.DESCRIPTOR, request, [], left_alone)


def _inside(
    kind: Any,  # noqa: ANN401 - a Descriptor, which has two types
    sound: Message | None,
    above: list[str],
    left_alone: Sequence[str],
) -> Iterator[Nonsense]:
    for field in kind.fields:
        path = [*above, field.name]
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            yield from _of_map(path)
        elif entry is not None:
            if field.name not in left_alone:
                yield _of_message(path, sound)
                yield from _inside(entry, _held(sound, field.name), path, left_alone)
        else:
            now = field.default_value if sound is None else getattr(sound, field.name)
            for what, value in _values_of(field).items():
                if value != now:
                    yield Nonsense(".".join(path), what, _setting(path, value))


def _values_of(field: FieldDescriptor) -> dict[str, Any]:
    if field.type == FieldDescriptor.TYPE_STRING:
        return {what: value for what, value in STRINGS.items() if field.name not in PLACES or what in NOWHERE}
    return dict(NUMBERS.get(field.cpp_type, {}))


def _of_map(path: list[str]) -> Iterator[Nonsense]:
    """Yield nonsense for the keys and values of a map of strings."""
    for what, value in STRINGS.items():
        yield Nonsense(".".join(path), f"{what} as a key", _adding(path, value, "x"))
        if value:
            yield Nonsense(".".join(path), f"{what} as a value", _adding(path, "x", value))


def _of_message(path: list[str], sound: Message | None) -> Nonsense:
    """Return a request without a message that it has, or with an empty one that it has not."""
    present = _held(sound, path[-1]) is not None

    def spoil(request: Message) -> None:
        holder = _reached(request, path[:-1])
        if present:
            holder.ClearField(path[-1])
        else:
            _entered(holder, path[-1])

    return Nonsense(".".join(path), ABSENT if present else EMPTY, spoil)


def _adding(path: list[str], key: str, value: str) -> Callable[[Message], None]:
    def spoil(request: Message) -> None:
        getattr(_reached(request, path[:-1]), path[-1])[key] = value

    return spoil


def _setting(path: list[str], value: object) -> Callable[[Message], None]:
    def spoil(request: Message) -> None:
        holder = _reached(request, path[:-1])
        if _repeats(holder, path[-1]):
            getattr(holder, path[-1]).append(value)
        else:
            setattr(holder, path[-1], value)

    return spoil


def _repeats(message: Message, name: str) -> bool:
    return hasattr(getattr(message, name), "append")


def _held(message: Message | None, name: str) -> Message | None:
    """Return the message in a field, the first one of several; None where there is none."""
    if message is None:
        return None
    if _repeats(message, name):
        return next(iter(getattr(message, name)), None)
    found: Message = getattr(message, name)
    return found if message.HasField(name) else None


def _reached(request: Message, path: Sequence[str]) -> Message:
    for name in path:
        request = _entered(request, name)
    return request


def _entered(message: Message, name: str) -> Message:
    """Return the message in a field, the first one of several; it is made where there is none."""
    found: Any = getattr(message, name)
    if _repeats(message, name):
        entered: Message = found[0] if len(found) else found.add()
        return entered
    found.SetInParent()
    held: Message = found
    return held
