"""Whether two messages about one thing agree: value by value, by the way to each."""

from typing import Any

from google.protobuf.message import Message

from critests.api import api_pb2 as cri

SIZE = 10
"""A figure may change between two looks; one that is so many times as large is another one, or in another
unit.
"""
RATE = "usage_nano_cores"
"""Is taken over a time of the runtime's choice: each look may have another one, or none yet."""


class Figure(int):
    """What was measured, and may be another a moment later."""


def leaves(message: Message, way: str = "") -> dict[str, Any]:
    """Return every value that a message holds, by the way to it. Elements of a list are named by the id or
    name that they have, so that their order does not matter; a message is a value too, since it is told or
    not.
    """
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        here = f"{way}.{field.name}" if way else field.name
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            found |= {f"{here}[{key}]": each for key, each in value.items()}
        elif field.is_repeated:
            for number, each in enumerate(value):
                name = f"{here}[{_name(each) or number}]"
                found |= _leaf(each, f"{name} once more" if name in found else name)
        else:
            found |= _leaf(value, here)
    return found


def _leaf(value: Any, way: str) -> dict[str, Any]:  # noqa: ANN401 - whatever a field holds
    if isinstance(value, cri.UInt64Value):
        return {way: Figure(value.value)}
    if isinstance(value, Message):
        return {way: "is told"} | leaves(value, way)
    return {way: value}


def _name(element: Any) -> str:  # noqa: ANN401 - see above
    """Return what sets an element of a list apart from the others; empty where nothing does."""
    if isinstance(element, cri.ContainerStats | cri.PodSandboxStats):
        return element.attributes.id
    return getattr(element, "id", "") or getattr(element, "name", "")


def differences(told: Message, elsewhere: Message) -> dict[str, tuple[Any, Any]]:
    """Return the values that two messages do not share, both by the way to them; None for what one lacks."""
    one, other = leaves(told), leaves(elsewhere)
    return {
        way: (one.get(way), other.get(way))
        for way in sorted(one.keys() | other.keys())
        if one.get(way) != other.get(way)
    }


def contradictions(told: Message, before: Message, after: Message) -> dict[str, tuple[Any, Any, Any]]:
    """Return the values that cannot be those of the same thing between two looks, with what the looks saw:
    what is told differs where both looks saw the same, a time is not between theirs, or a figure is far from
    them.
    """
    seen = leaves(before), leaves(told), leaves(after)
    ways = sorted({way for some in seen for way in some})
    values = {way: (seen[0].get(way), seen[1].get(way), seen[2].get(way)) for way in ways}
    return {way: three for way, three in values.items() if _contradicts(way, *three)}


def _contradicts(way: str, before: Any, told: Any, after: Any) -> bool:  # noqa: ANN401 - see above
    if way.endswith(RATE):
        return False
    if told is None or before is None or after is None:
        # what comes, or goes, between the looks may be told or not
        return (told is None) != (before is None) and (told is None) != (after is None)
    if isinstance(told, Figure):
        return not (min(before, after) <= told * SIZE and told <= max(before, after) * SIZE)
    if way.endswith("timestamp"):
        return not before <= told <= after
    return bool(before == after != told)
