"""The published JSON schema of the run record, derived from its dataclasses.

`run-2.json` in this folder is the published form; a test compares the two. `python -m
critests.record.schema` prints it.
"""

import dataclasses
import re
import types
import typing
from enum import Enum
from pathlib import Path
from typing import Any, Final

from critests.record.codec import Json, type_hints
from critests.record.run_record import SCHEMA, SCHEMA_VERSION, RunRecord

PUBLISHED: Final = Path(__file__).parent / f"run-{SCHEMA_VERSION}.json"
_SCALARS: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema() -> dict[str, Json]:
    """Return the schema (JSON Schema, draft 2020-12). Unknown properties are allowed: a minor version may add
    some.
    """
    definitions: dict[str, Json] = {}
    root = _object(RunRecord, definitions)
    properties = root["properties"]
    assert isinstance(properties, dict)
    properties["schema"] = {"const": SCHEMA}
    properties["schema_version"] = {"const": SCHEMA_VERSION}
    head: dict[str, Json] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"critests/record/schema/{PUBLISHED.name}",
        "title": "critests run record",
    }
    return head | root | {"$defs": definitions}


def _object(cls: type, definitions: dict[str, Json]) -> dict[str, Json]:
    """Describe one dataclass, with the texts of its docstring."""
    texts = _attribute_texts(cls)
    hints = type_hints(cls)
    properties: dict[str, Json] = {}
    for item in dataclasses.fields(cls):
        text = texts.get(item.name, "")
        properties[item.name] = _type(hints[item.name], definitions) | ({"description": text} if text else {})
    return {
        "type": "object",
        "description": (cls.__doc__ or "").split("\n", 1)[0],
        "properties": properties,
        "required": [item.name for item in dataclasses.fields(cls)],
    }


def _type(hint: object, definitions: dict[str, Json]) -> dict[str, Json]:
    """Describe the type of one field."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    described: dict[str, Json] = {}
    if origin is types.UnionType:
        described = {"anyOf": [_type(item, definitions) for item in arguments]}
    elif origin is list:
        described = {"type": "array", "items": _type(arguments[0], definitions)}
    elif origin is dict:
        described = {"type": "object", "additionalProperties": _type(arguments[1], definitions)}
    elif hint is Any:
        described = {}
    elif hint is type(None):
        described = {"type": "null"}
    elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _object(hint, definitions)
        described = {"$ref": f"#/$defs/{hint.__name__}"}
    elif isinstance(hint, type) and issubclass(hint, Enum):
        described = {"enum": [str(item.value) for item in hint]}
    elif isinstance(hint, type):
        described = {"type": _SCALARS[hint]}
    return described


def _attribute_texts(cls: type) -> dict[str, str]:
    """Return the `Attributes` section of a docstring, name to text."""
    section = (cls.__doc__ or "").partition("Attributes:\n")[2]
    joined = re.sub(r"\n {12,}", " ", section)
    return dict(re.findall(r"^ {8}(\w+): (.+)$", joined, re.MULTILINE))
