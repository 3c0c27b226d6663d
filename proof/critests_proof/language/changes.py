"""The actions of a fault on one field of a message.

| action | to | effect |
|---|---|---|
| `clear` | anything | clears it |
| `set VALUE` | anything | enums by name; messages, lists and maps as JSON |
| `copy request.PATH` | anything | sets it to another field's value, also `response.PATH` |
| `toggle` | bool | the opposite |
| `next` | enum | the next value of the API; after the last one the first |
| `add N`, `times N`, `divide N` | number | arithmetic, within the field's range |
| `append V`, `prepend V` | text, bytes; `append` also list | at the end, at the start |
| `truncate N`, `upper`, `lower`, `strip` | text, bytes | the first N characters; letters; without surrounding
blanks |
| `reverse` | text, bytes, list | in reverse order |
| `change-last` | text, bytes | another last character, if not empty |
| `drop-first`, `drop-last`, `drop-all`, `keep-first` | list, map | of a map, by the order of its keys |
| `drop KEY` | map | one key |
| `duplicate-first`, `duplicate-all` | list | the first element, or each, once more |
| `append-other` | list in a response | another element that this RPC returns, not in the list yet |
| `drop-where FIELD==VALUE`, `keep-where …` | list of messages | by a field of the element, also `!=` |
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from critests_proof.language.descriptors import (
    FaultError,
    RpcDescriptor,
    descriptor_of,
    held_enum,
    is_map,
    near,
)
from critests_proof.language.paths import PathStep, Place, check_path, parse_path, places
from critests_proof.language.values import as_text, kind_of, parse_value, unquote

_LIMITS = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
}


@dataclass(frozen=True)
class Surroundings:
    """The context of a change.

    Attributes:
        request: the request as the client sent it.
        response: the runtime's response; None before it.
        everything: calls the same RPC with an empty request; None if that is impossible.
    """

    request: Message
    response: Message | None = None
    everything: Callable[[], Message | None] | None = None


Change = Callable[[Place, Any, Surroundings], None]


@dataclass(frozen=True)
class FieldAction:
    """One kind of change.

    Attributes:
        kinds: the kinds of fields that it applies to, see `values.kind_of`.
        argument: kind of its argument: nothing, `value`, `number`, `key`, `path`, or `element` (a
            comparison).
        change: performs it.
    """

    kinds: frozenset[str]
    argument: str
    change: Change


def _set(place: Place, value: object, _around: Surroundings) -> None:
    place.set(value)


def _clear(place: Place, _value: object, _around: Surroundings) -> None:
    place.clear()


def _copy(place: Place, source: tuple[str, tuple[PathStep, ...]], around: Surroundings) -> None:
    side, steps = source
    message = around.request if side == "request" else around.response
    if message is None:
        return
    for found in places(message, steps):
        place.set(found.get())
        return


def _toggle(place: Place, _value: object, _around: Surroundings) -> None:
    place.set(not place.get())


def _next(place: Place, _value: object, _around: Surroundings) -> None:
    numbers = [value.number for value in held_enum(place.field).values]
    held = place.get()
    place.set(numbers[(numbers.index(held) + 1) % len(numbers)] if held in numbers else numbers[0])


def _change_last(place: Place, _value: object, _around: Surroundings) -> None:
    held = place.get()
    if held:
        other, same = ("x", "y") if isinstance(held, str) else (b"x", b"y")
        place.set(held[:-1] + (same if held.endswith(other) else other))


def _calculate(how: Callable[[float, float], float]) -> Change:
    def change(place: Place, value: float, _around: Surroundings) -> None:
        result = how(place.get(), value)
        limits = _LIMITS.get(place.field.cpp_type)
        place.set(max(limits[0], min(limits[1], int(result))) if limits else result)

    return change


def _divide(value: float, by: float) -> float:
    return value // by if isinstance(value, int) and isinstance(by, int) else value / by


# the type is the field's
def _append(place: Place, value: Any, _around: Surroundings) -> None:  # noqa: ANN401 - see above
    place.set([*place.get(), value] if place.whole and place.field.is_repeated else place.get() + value)


# the type is the field's
def _prepend(place: Place, value: Any, _around: Surroundings) -> None:  # noqa: ANN401 - see above
    place.set(value + place.get())


def _simply(how: Callable[[Any], Any]) -> Change:
    """Return a change without an argument from a function of the value."""

    def change(place: Place, _value: object, _around: Surroundings) -> None:
        held = place.get()
        if isinstance(held, str | bytes):
            place.set(how(held))
        elif is_map(place.field):
            place.set(dict(how(sorted(held.items()))))
        else:
            place.set([_own(element) for element in how(list(held))])

    return change


def _own(element: Any) -> Any:  # noqa: ANN401  # an element of whatever list
    """Return a copy of a message element, because clearing a list invalidates its messages."""
    if isinstance(element, Message):
        copy = type(element)()
        copy.CopyFrom(element)
        return copy
    return element


def _truncate(place: Place, length: int, _around: Surroundings) -> None:
    place.set(place.get()[: int(length)])


def _drop_key(place: Place, key: str, _around: Surroundings) -> None:
    place.set({name: value for name, value in place.get().items() if name != key})


def _append_other(place: Place, _value: object, around: Surroundings) -> None:
    held = list(place.get())
    everything = around.everything() if around.everything else None
    others: list[Any] = []
    if everything is not None and isinstance(place.holder, type(everything)):
        known = [getattr(element, "id", element) for element in held]
        others = [
            element
            for element in getattr(everything, place.field.name)
            if getattr(element, "id", element) not in known
        ]
    if others:
        place.set([*map(_own, held), _own(others[0])])
        return
    if held and hasattr(held[0], "id"):
        stranger = _own(held[0])
        stranger.id = stranger.id[::-1]
        place.set([*map(_own, held), stranger])


def _where(*, keep: bool) -> Change:
    def change(place: Place, wish: tuple[tuple[PathStep, ...], bool, str], _around: Surroundings) -> None:
        steps, equal, value = wish
        remaining = []
        for element in place.get():
            match = any(
                (as_text(found.get(), found.field) == value) == equal for found in places(element, steps)
            )
            if match == keep:
                remaining.append(_own(element))
        place.set(remaining)

    return change


_ANY = frozenset({"message", "list", "map", "number", "bool", "enum", "text", "bytes"})
_TEXT = frozenset({"text", "bytes"})
_MANY = frozenset({"list", "map"})
_LIST = frozenset({"list"})
_NUMBER = frozenset({"number"})

FIELD_ACTIONS: dict[str, FieldAction] = {
    "clear": FieldAction(_ANY, "", _clear),
    "set": FieldAction(_ANY, "value", _set),
    "copy": FieldAction(_ANY, "path", _copy),
    "toggle": FieldAction(frozenset({"bool"}), "", _toggle),
    "next": FieldAction(frozenset({"enum"}), "", _next),
    "add": FieldAction(_NUMBER, "number", _calculate(lambda value, by: value + by)),
    "times": FieldAction(_NUMBER, "number", _calculate(lambda value, by: value * by)),
    "divide": FieldAction(_NUMBER, "number", _calculate(_divide)),
    "append": FieldAction(_TEXT | _LIST, "value", _append),
    "prepend": FieldAction(_TEXT, "value", _prepend),
    "truncate": FieldAction(_TEXT, "number", _truncate),
    "upper": FieldAction(_TEXT, "", _simply(lambda value: value.upper())),
    "lower": FieldAction(_TEXT, "", _simply(lambda value: value.lower())),
    "strip": FieldAction(_TEXT, "", _simply(lambda value: value.strip())),
    "reverse": FieldAction(_TEXT | _LIST, "", _simply(lambda value: value[::-1])),
    "change-last": FieldAction(_TEXT, "", _change_last),
    "drop-first": FieldAction(_MANY, "", _simply(lambda value: value[1:])),
    "drop-last": FieldAction(_MANY, "", _simply(lambda value: value[:-1])),
    "drop-all": FieldAction(_MANY, "", _clear),
    "keep-first": FieldAction(_MANY, "", _simply(lambda value: value[:1])),
    "drop": FieldAction(frozenset({"map"}), "key", _drop_key),
    "duplicate-first": FieldAction(_LIST, "", _simply(lambda value: value[:1] + value)),
    "duplicate-all": FieldAction(_LIST, "", _simply(lambda value: value + value)),
    "append-other": FieldAction(_LIST, "", _append_other),
    "drop-where": FieldAction(_LIST, "element", _where(keep=False)),
    "keep-where": FieldAction(_LIST, "element", _where(keep=True)),
}


# an action takes whatever its field holds
def parse_field_action(
    name: str, argument: str, field: FieldDescriptor, rpc: RpcDescriptor, *, element: bool
) -> Any:  # noqa: ANN401 - see above
    """Return the parsed argument of a field action.

    Raises:
        FaultError: the action is unknown, does not apply to this kind of field, or its argument is wrong.
    """
    action = FIELD_ACTIONS.get(name)
    if action is None:
        msg = (
            f"no action on a field is called {name!r}{near(name, FIELD_ACTIONS)}; there are:"
            f" {', '.join(FIELD_ACTIONS)}"
        )
        raise FaultError(msg)
    kind = kind_of(field, element=element)
    if kind not in action.kinds:
        fitting = [other for other, one in FIELD_ACTIONS.items() if kind in one.kinds]
        msg = f"{name} cannot be done to {field.name}, which is a {kind}; what can: {', '.join(fitting)}"
        raise FaultError(msg)
    if bool(argument) != bool(action.argument):
        msg = (
            f"{name} needs a {action.argument}"
            if action.argument
            else f"{name} takes nothing, so not {argument!r}"
        )
        raise FaultError(msg)
    if action.argument == "value":
        return parse_value(argument, field, element=element or name == "append")
    if action.argument == "number":
        return _number(argument, name)
    if action.argument == "key":
        return unquote(argument)
    if action.argument == "path":
        return _source(argument, rpc)
    return _wish(argument, field) if action.argument == "element" else None


def _number(argument: str, name: str) -> float:
    try:
        return int(argument, 0)
    except ValueError:
        try:
            return float(argument)
        except ValueError as error:
            msg = f"{name} needs a number, not {argument!r}"
            raise FaultError(msg) from error


def _source(argument: str, rpc: RpcDescriptor) -> tuple[str, tuple[PathStep, ...]]:
    side, _, path = argument.partition(".")
    if side not in {"request", "response"}:
        msg = f"copy needs a path that begins with request. or response., not {argument!r}"
        raise FaultError(msg)
    steps = parse_path(path)
    check_path(steps, descriptor_of(rpc.request if side == "request" else rpc.response))
    return side, steps


def _wish(argument: str, field: FieldDescriptor) -> tuple[tuple[PathStep, ...], bool, str]:
    for comparison in ("==", "!="):
        path, found, value = argument.partition(comparison)
        if found:
            steps = parse_path(path.strip())
            if field.message_type is None:
                msg = f"{field.name} holds no messages, so its elements have no fields to compare"
                raise FaultError(msg)
            check_path(steps, field.message_type)
            return steps, comparison == "==", unquote(value)
    msg = f"{argument!r} is no comparison of a field: expected FIELD==VALUE or FIELD!=VALUE"
    raise FaultError(msg)
