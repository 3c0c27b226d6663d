"""Values in the text of a fault, by the type of the field: enums by name, messages, lists and maps as
JSON.
"""

import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from critests_proof.language.descriptors import FaultError, held_enum, held_message, is_map, near

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
}


def kind_of(field: FieldDescriptor, *, element: bool) -> str:
    """Return the kind of a field: `message`, `list`, `map`, `number`, `bool`, `enum`, `text` or `bytes`.

    Args:
        field: the field.
        element: return the kind of an element, if it is a list or a map.
    """
    if is_map(field):
        return kind_of(held_message(field).fields_by_name["value"], element=False) if element else "map"
    if field.is_repeated and not element:
        return "list"
    if field.message_type:
        return "message"
    if field.type == FieldDescriptor.TYPE_BYTES:
        return "bytes"
    return {
        FieldDescriptor.CPPTYPE_BOOL: "bool",
        FieldDescriptor.CPPTYPE_ENUM: "enum",
        FieldDescriptor.CPPTYPE_STRING: "text",
    }.get(field.cpp_type, "number")


def unquote(text: str) -> str:
    r"""Return a text without its quotes; `\n`, `\t`, `\"` and `\u00e9` are parsed as in JSON.

    Raises:
        FaultError: the closing quote is missing.
    """
    text = text.strip()
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except json.JSONDecodeError as error:
        msg = f"{text} is not a quoted text: {error.msg}"
        raise FaultError(msg) from error


# the type is the field's
def parse_value(text: str, field: FieldDescriptor, *, element: bool) -> Any:  # noqa: ANN401 - see above
    """Parse a text as a value of a field or of its elements.

    Raises:
        FaultError: the text is not such a value.
    """
    kind = kind_of(field, element=element)
    if is_map(field) and element:
        field = held_message(field).fields_by_name["value"]
    if kind in {"list", "map"}:
        return _collection(text, field, kind)
    if kind == "message":
        return _message(text, field)
    return _scalar(text, field, kind)


def _scalar(text: str, field: FieldDescriptor, kind: str) -> object:
    plain = unquote(text)
    if kind == "text":
        return plain
    if kind == "bytes":
        return plain.encode("utf-8")
    if kind == "bool":
        if plain not in {"true", "false"}:
            msg = f"{field.name} is true or false, not {plain!r}"
            raise FaultError(msg)
        return plain == "true"
    if kind == "enum":
        return _enum(plain, field)
    limits = _INTEGERS.get(field.cpp_type)
    try:
        number = int(plain, 0) if limits else float(plain)
    except ValueError as error:
        msg = f"{field.name} is a number, not {plain!r}"
        raise FaultError(msg) from error
    if limits and not limits[0] <= number <= limits[1]:
        msg = f"{field.name} holds numbers from {limits[0]} to {limits[1]}, not {plain}"
        raise FaultError(msg)
    return number


def _enum(plain: str, field: FieldDescriptor) -> int:
    known = held_enum(field).values_by_name
    if plain in known:
        return int(known[plain].number)
    if plain.lstrip("-").isdigit():
        return int(plain)
    msg = f"{held_enum(field).name} has no value {plain!r}{near(plain, known)}; there are: {', '.join(known)}"
    raise FaultError(msg)


def _message(text: str, field: FieldDescriptor) -> object:
    message = GetMessageClass(held_message(field))()
    try:
        return json_format.Parse(text, message)
    except json_format.ParseError as error:
        msg = f"{text} is no {held_message(field).name} written as JSON: {error}"
        raise FaultError(msg) from error


def _collection(text: str, field: FieldDescriptor, kind: str) -> object:
    wanted = dict if kind == "map" else list
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        msg = f"{field.name} is a {kind}, so its value is written as JSON: {error.msg}"
        raise FaultError(msg) from error
    if not isinstance(value, wanted):
        msg = f"{field.name} is a {kind}, so its value is a JSON {'object' if kind == 'map' else 'array'}"
        raise FaultError(msg)
    if isinstance(value, dict):
        return {str(key): str(one) for key, one in value.items()}
    if field.message_type:
        return [_message(json.dumps(one), field) for one in value]
    return [_scalar(json.dumps(one), field, kind_of(field, element=True)) for one in value]


def as_text(value: object, field: FieldDescriptor) -> str:
    """Format a value as in a fault, for comparisons."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if field.enum_type and isinstance(value, int):
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else str(value)
    return str(value)
