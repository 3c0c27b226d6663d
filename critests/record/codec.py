"""Converts dataclasses of this package to plain JSON values and back."""

import dataclasses
import math
import types
import typing
from collections.abc import Hashable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

SCALARS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
UNCHANGED = frozenset({str, int, bool, type(None)})
"""Types whose values are plain; not their subclasses, such as enums."""


class FieldMismatch(ValueError):
    """A JSON value does not match its dataclass; the message has the path."""


def to_plain(value: object) -> Json:
    """Return the value as dicts, lists, strings, numbers, booleans and None."""
    plain: Json
    if type(value) in UNCHANGED:
        plain = typing.cast("Json", value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {name: to_plain(getattr(value, name)) for name in _field_names(type(value))}
    elif isinstance(value, Mapping):
        plain = {str(key): to_plain(item) for key, item in value.items()}
    elif isinstance(value, (list, tuple, set, frozenset)):
        plain = [to_plain(item) for item in value]
    elif isinstance(value, Enum):
        plain = to_plain(value.value)
    elif isinstance(value, float) and not math.isfinite(value):
        plain = None
    elif value is None or isinstance(value, (str, int, float, bool)):
        plain = value
    else:
        plain = str(value)
    return plain


def from_plain(cls: type[T], data: object, where: str = "") -> T:
    """Build a dataclass from its plain form.

    Missing fields get their default, unknown fields are ignored: records of older and slightly newer versions
    can be read.

    Raises:
        FieldMismatch: a value has another type than its field, or a field without a default is missing.
    """
    if not isinstance(data, Mapping):
        raise _mismatch(where or "the file", "an object", data)
    hints = type_hints(typing.cast("Hashable", cls))
    arguments: dict[str, Any] = {}
    for item in dataclasses.fields(cls):  # type: ignore[arg-type]  # every caller passes a dataclass
        path = f"{where}.{item.name}" if where else item.name
        if item.name in data:
            value, hint = data[item.name], hints[item.name]
            # a record has a hundred thousand strings, numbers and booleans
            arguments[item.name] = value if type(value) is hint else _build(hint, value, path)
        elif item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            msg = f"{path} is missing"
            raise FieldMismatch(msg)
    return cls(**arguments)


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    return tuple(item.name for item in dataclasses.fields(cls))


@cache
def type_hints(cls: Hashable) -> dict[str, Any]:
    """Return the resolved type of every field of a dataclass."""
    return typing.get_type_hints(cls)


def _build(hint: object, value: object, where: str) -> object:
    """Build one value of a field."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    built: object = value
    if origin is types.UnionType:
        if value is not None or type(None) not in arguments:
            built = _build(next(item for item in arguments if item is not type(None)), value, where)
    elif origin in {list, tuple}:
        if not isinstance(value, list):
            raise _mismatch(where, "a list", value)
        built = origin(_build(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    elif origin is dict:
        if not isinstance(value, Mapping):
            raise _mismatch(where, "an object", value)
        built = {str(key): _build(arguments[1], item, f"{where}.{key}") for key, item in value.items()}
    elif isinstance(hint, type) and hint is not Any:
        built = (
            from_plain(hint, value, where)
            if dataclasses.is_dataclass(hint)
            else _build_scalar(hint, value, where)
        )
    return built


def _build_scalar(hint: type, value: object, where: str) -> object:
    """Build an enum member, a path, a number, a string or a boolean."""
    if issubclass(hint, Enum):
        try:
            return hint(value)
        except ValueError:
            raise _mismatch(where, "one of " + ", ".join(str(item.value) for item in hint), value) from None
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise _mismatch(where, SCALARS.get(hint, str(hint)), value)
    return value


def _mismatch(where: str, wanted: str, value: object) -> FieldMismatch:
    """Return the error with the path, the expected type and the value."""
    if isinstance(value, str):
        found = f'"{value[:40]}"'
    elif isinstance(value, Mapping):
        found = "an object"
    elif isinstance(value, list):
        found = "a list"
    else:
        found = {"None": "null", "True": "true", "False": "false"}.get(repr(value), repr(value))
    return FieldMismatch(f"{where} should be {wanted}, not {found}")
