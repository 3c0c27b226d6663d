"""Comparison of messages that report the same object: field by field, by the path of each field."""

from typing import Any

from google.protobuf.message import Message

from critests.api import api_pb2 as cri

SIZE = 10
"""Factor by which a measured value may change between two reports; a larger difference means another value or
another unit.
"""
RATE = "usage_nano_cores"
"""Field that is not compared: the runtime chooses the interval of the rate, and has no rate at first."""


class VaryingNumber(int):
    """A measured value, which may change between two reports."""


def values_by_path(message: Message, path: str = "") -> dict[str, Any]:
    """Return every value of a message by its path. The path of a list element has its id or name, so that the
    order of the list does not matter. A message counts as a value too: it is set or not.
    """
    values: dict[str, Any] = {}
    for field, value in message.ListFields():
        here = f"{path}.{field.name}" if path else field.name
        # on the wire, a map is a repeated message, for which `is_repeated` is true as well
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            values |= {f"{here}[{key}]": each for key, each in value.items()}
        elif field.is_repeated:
            for number, each in enumerate(value):
                name = f"{here}[{_name(each) or number}]"
                values |= _values_of(each, f"{name} once more" if name in values else name)
        else:
            values |= _values_of(value, here)
    return values


def _values_of(value: Any, path: str) -> dict[str, Any]:  # noqa: ANN401 - whatever a field holds
    # stats wrap what they measure in UInt64Value; timestamps and settings are plain numbers
    if isinstance(value, cri.UInt64Value):
        return {path: VaryingNumber(value.value)}
    if isinstance(value, Message):
        return {path: "is set"} | values_by_path(value, path)
    return {path: value}


def _name(element: Any) -> str:  # noqa: ANN401 - see above
    """Return the id or name of a list element; empty if it has neither."""
    if isinstance(element, cri.ContainerStats | cri.PodSandboxStats):
        # these two have neither an id nor a name of their own
        return element.attributes.id
    return getattr(element, "id", "") or getattr(element, "name", "")


def differences(message: Message, expected: Message) -> dict[str, tuple[Any, Any]]:
    """Return the values in which two messages differ, by path; None for a value that one of them lacks."""
    actual_values, expected_values = values_by_path(message), values_by_path(expected)
    return {
        path: (actual_values.get(path), expected_values.get(path))
        for path in sorted(actual_values.keys() | expected_values.keys())
        if actual_values.get(path) != expected_values.get(path)
    }


def contradictions(reported: Message, before: Message, after: Message) -> dict[str, tuple[Any, Any, Any]]:
    """Return the values of a message that contradict an earlier and a later message about the same object, by
    path, as (earlier, reported, later): a value that differs although both others are equal, a timestamp that
    is not between theirs, or a measured value of another size.
    """
    messages = values_by_path(before), values_by_path(reported), values_by_path(after)
    paths = sorted({path for values in messages for path in values})
    triples = {path: (messages[0].get(path), messages[1].get(path), messages[2].get(path)) for path in paths}
    return {path: triple for path, triple in triples.items() if _contradicts(path, *triple)}


def _contradicts(path: str, before: Any, reported: Any, after: Any) -> bool:  # noqa: ANN401 - see above
    if path.endswith(RATE):
        return False
    if reported is None or before is None or after is None:
        # a value that appears or disappears between the two messages may be reported or not
        return (reported is None) != (before is None) and (reported is None) != (after is None)
    if isinstance(reported, VaryingNumber):
        return not (min(before, after) <= reported * SIZE and reported <= max(before, after) * SIZE)
    if path.endswith("timestamp"):
        return not before <= reported <= after
    # where the others differ, the value changed meanwhile, and any value may have been current
    return bool(before == after != reported)
