"""Paths into messages: `filter.label_selector["app"]`, `containers[].labels`, `conditions[0].status`.

`[]` selects every element of a list or every value of a map, `[N]` for one element, `[-1]` for the last,
`[key]` for one value of a map.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from critests_proof.language.descriptors import FaultError, descriptor_of, held_message, is_map, near

EVERY = "[]"
_STEP = re.compile(r"""(?P<name>\w+)(?:\[(?P<pick>"(?:[^"\\]|\\.)*"|[^\]"]*)\])?(?:\.|$)""")


@dataclass(frozen=True)
class PathStep:
    """One step of a path: a field, and the selected elements.

    Attributes:
        field: name of the field.
        pick: None for the whole field, `[]` for every element, a number for a list element, a text for a map
            value.
    """

    field: str
    pick: int | str | None = None


@dataclass(frozen=True)
class Place:
    """A place in a message that an action can change: a field, or one element of it."""

    holder: Any
    field: FieldDescriptor
    key: int | str | None = None

    def get(self) -> Any:  # noqa: ANN401  # the type is the field's
        """Return the value; the default if unset."""
        value = getattr(self.holder, self.field.name)
        return value if self.key is None else value[self.key]

    def set(self, value: object) -> None:
        """Set a value, for any kind of field."""
        if self.key is not None:
            held = getattr(self.holder, self.field.name)
            if isinstance(value, Message):
                held[self.key].CopyFrom(value)
            else:
                held[self.key] = value
        elif is_map(self.field):
            self.holder.ClearField(self.field.name)
            getattr(self.holder, self.field.name).update(value)
        elif self.field.is_repeated:
            elements = list(value)  # type: ignore[call-overload]  # a list, or the field's own container
            self.holder.ClearField(self.field.name)
            getattr(self.holder, self.field.name).extend(elements)
        elif isinstance(value, Message):
            getattr(self.holder, self.field.name).CopyFrom(value)
        else:
            setattr(self.holder, self.field.name, value)

    def clear(self) -> None:
        """Clear the value."""
        if self.key is None:
            self.holder.ClearField(self.field.name)
        elif is_map(self.field):
            getattr(self.holder, self.field.name).pop(self.key, None)
        elif self.field.message_type:
            getattr(self.holder, self.field.name)[self.key].Clear()
        else:
            self.set(self.field.default_value)

    @property
    def whole(self) -> bool:
        """Whether this is the whole field, not one of its elements."""
        return self.key is None


def parse_path(text: str) -> tuple[PathStep, ...]:
    """Parse a path.

    Raises:
        FaultError: the path is malformed.
    """
    steps = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or match.end() == match.start():
            msg = (
                f"{text!r} is not a path: expected field names joined by dots, some with [], [number] or"
                " [key]"
            )
            raise FaultError(msg)
        steps.append(PathStep(match["name"], _pick(match["pick"])))
        position = match.end()
    if text.endswith("."):
        msg = f"{text!r} is not a path: it ends in a dot"
        raise FaultError(msg)
    return tuple(steps)


def _pick(text: str | None) -> int | str | None:
    if text is None:
        return None
    if text.startswith('"'):
        return str(json.loads(text))
    return int(text) if re.fullmatch(r"-?\d+", text) else text or EVERY


def check_path(steps: tuple[PathStep, ...], message: Descriptor) -> FieldDescriptor:
    """Return the field that a path ends at.

    Raises:
        FaultError: a field is unknown, or has no elements; with near matches.
    """
    field: FieldDescriptor | None = None
    for number, step in enumerate(steps):
        if number:
            assert field is not None
            if field.message_type is None or is_map(field):
                msg = f"{field.name} holds no message, so it has no field {step.field!r}"
                raise FaultError(msg)
            if field.is_repeated and steps[number - 1].pick is None:
                msg = f"{field.name} is a list: say which element, as in {field.name}[].{step.field}"
                raise FaultError(msg)
            message = held_message(field)
        field = message.fields_by_name.get(step.field)
        if field is None:
            msg = f"{message.name} has no field {step.field!r}{near(step.field, message.fields_by_name)}"
            raise FaultError(msg)
        if step.pick is not None and not field.is_repeated:
            msg = f"{step.field} is neither a list nor a map, so it has no elements"
            raise FaultError(msg)
        if isinstance(step.pick, str) and step.pick != EVERY and not is_map(field):
            msg = f"{step.field} is a list: an element is named by its number, not by {step.pick!r}"
            raise FaultError(msg)
    if field is None:
        msg = "the path is empty"
        raise FaultError(msg)
    return field


def places(message: Message, steps: tuple[PathStep, ...]) -> Iterator[Place]:
    """Yield every place of a message that a path selects; missing list elements are none, map keys always
    are.
    """
    step, rest = steps[0], steps[1:]
    field = descriptor_of(message).fields_by_name[step.field]
    if not rest:
        yield from _last(message, field, step.pick)
        return
    value = getattr(message, step.field)
    if step.pick is None:
        yield from places(value, rest)
    elif step.pick == EVERY:
        for element in list(value):
            yield from places(element, rest)
    elif isinstance(step.pick, int) and -len(value) <= step.pick < len(value):
        yield from places(value[step.pick], rest)


def _last(message: Message, field: FieldDescriptor, pick: int | str | None) -> Iterator[Place]:
    value = getattr(message, field.name)
    if pick is None:
        yield Place(message, field)
    elif pick == EVERY:
        for key in list(value) if is_map(field) else range(len(value)):
            yield Place(message, field, key)
    elif is_map(field):
        yield Place(message, field, str(pick))
    elif isinstance(pick, int) and -len(value) <= pick < len(value):
        yield Place(message, field, pick % len(value))
