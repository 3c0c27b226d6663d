"""Documents that differ from a valid one in one place, derived from what is known of its fields."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from critests.documents.document_fields import ESCAPE, Expected, Field, FieldType, Path, path_text

LONG_TEXT = "x" * 40_000
"""More than NAME_MAX (255), PATH_MAX (4,096) and what one line of a configuration file usually has. Less than
a pipe holds (65,536 bytes): an OCI runtime that quotes a longer text in its error waits for a reader until
the call's deadline, and stays.
"""
LONG_PATH = "/" + "x" * 5_000
"""More than PATH_MAX; an error that quotes it several times, as for mounts, still fits into a pipe."""
MANY = 10_000
"""Entries of a long list or map: far more than any writer has, and quickly read."""
DEEP = 10_000
"""Levels of a deeply nested value; encoding/json of Go ends with an error at this depth."""
LARGEST = (1 << 63) - 1

HOSTILE_PATHS = {
    "leads upwards": f"../../../../../../{ESCAPE}",
    "leads upwards from an absolute path": f"/../../../../{ESCAPE}",
    "with a NUL": "/critests\0escape",
    "with a line break": "/critests\nescape",
}
"""Paths that leave the directory to which they are appended, or that end early for system calls."""


@dataclass(frozen=True)
class Variant:
    """A document that differs from a valid one in one place.

    Attributes:
        field: the changed field; empty where the document as a whole is changed.
        change: what is unusual, in words.
        content: the document.
        expected: what its reader does with it.
    """

    field: str
    change: str
    content: bytes
    expected: Expected = Expected.EITHER

    def __str__(self) -> str:
        return f"{self.field} {self.change}" if self.field else self.change

    def is_of(self, part: str, parts: Sequence[str]) -> bool:
        """Return whether the changed field is in this part, and in none before it.

        Args:
            part: a field, with those below it; the empty one stands for all.
            parts: all of them, the last one empty.
        """
        return part == next(each for each in parts if self.field.startswith(each))


def variants(document: Mapping[str, object], fields: Sequence[Field]) -> Iterator[Variant]:
    """Yield the variants of a JSON document: those of its fields, then those of the document as a whole.

    Args and errors: see `field_variants`.
    """
    yield from field_variants(document, fields, lambda changed: json.dumps(changed).encode())
    yield from whole_document_variants(document)


def field_variants(
    document: Mapping[str, object],
    fields: Sequence[Field],
    write: Callable[[Mapping[str, object]], bytes | None],
) -> Iterator[Variant]:
    """Yield the variants of each field, in the order of the fields.

    Args:
        document: a valid one, which has the objects and lists of all `fields`.
        fields: those that the specification has.
        write: returns a document in its format; None if the format cannot express it.

    Raises:
        LookupError: the document lacks an object or list that leads to a field.
    """
    for field in fields:
        for change, value, expected in _changes(field, _value_at(document, field.path)):
            changed = copy.deepcopy(dict(document))
            _put(changed, field.path, value)
            content = write(changed)
            if content is not None:
                yield Variant(str(field), change, content, expected)


ABSENT = object()
"""Stands for a field that is taken away."""

Change = tuple[str, object, Expected]


def _changes(field: Field, present: object) -> Iterator[Change]:
    """Yield change, value and expectation for each unusual value of a field."""
    optional = Expected.EITHER if field.required else Expected.ACCEPTED
    yield "is absent", ABSENT, optional
    yield "is null", None, optional if field.null_is_absent else Expected.EITHER
    for what, value in _OF_TYPE[field.type](present).items():
        yield what, value, Expected.EITHER
    if field.type is FieldType.INTEGER:
        yield from _bounds(field)
    for odd in field.odd:
        yield odd.name, odd.value, odd.expected


def _bounds(field: Field) -> Iterator[Change]:
    if field.least is not None:
        yield "is at its lower bound", field.least, Expected.ACCEPTED
        yield "is below its lower bound", field.least - 1, Expected.EITHER
    if field.most is not None:
        yield "is at its upper bound", field.most, Expected.ACCEPTED
        yield "is above its upper bound", field.most + 1, Expected.EITHER


def _texts(_present: object) -> dict[str, object]:
    return {
        "is empty": "",
        "is a number": 7,
        "is a list": ["x"],
        "is long": LONG_TEXT,
        "has a NUL": "a\0b",
        "has a line break": "a\nb",
    }


def _paths(present: object) -> dict[str, object]:
    return {**_texts(present), **HOSTILE_PATHS, "is long": LONG_PATH}


def _digests(present: object) -> dict[str, object]:
    digest = str(present)
    algorithm, _, encoded = digest.partition(":")
    return {
        **_texts(present),
        "is without its algorithm": encoded,
        "is of an unknown algorithm": f"critests+b64u:{encoded}",
        "is in upper case": f"{algorithm}:{encoded.upper()}",
        "is too short": digest[:-1],
        "leads upwards": f"{algorithm}:../../../../{ESCAPE}",
    }


def _integers(_present: object) -> dict[str, object]:
    return {
        "is a text": "7",
        "is a fraction": 1.5,
        "is negative": -1,
        "is 0": 0,
        "is the largest": LARGEST,
        "is more than 64 bits hold": LARGEST * 4,
    }


def _booleans(_present: object) -> dict[str, object]:
    return {"is a text": "true", "is a number": 1, "is a list": [True]}


def _lists(present: object) -> dict[str, object]:
    entries: list[Any] = list(present) if isinstance(present, list) else []
    return {
        "is an empty list": [],
        "is an object": {},
        "is a text": "x",
        "has null in it": [*entries, None],
        "has an empty text in it": [*entries, ""],
        "has a list in it": [*entries, []],
        "has its entries twice": [*entries, *entries],
        "has many entries": (entries[:1] or ["x"]) * MANY,
    }


def _objects(present: object) -> dict[str, object]:
    members: dict[str, Any] = dict(present) if isinstance(present, dict) else {}
    return {
        "is an empty object": {},
        "is a list": [],
        "is a text": "x",
        "has an unknown key": {**members, "org.critests.unknown": {"x": [1]}},
    }


def _maps(present: object) -> dict[str, object]:
    members: dict[str, Any] = dict(present) if isinstance(present, dict) else {}
    return {
        "is an empty object": {},
        "is a list": [],
        "is a text": "x",
        "has an empty key": {**members, "": "x"},
        "has an empty value": {**members, "x": ""},
        "has a number as a value": {**members, "x": 7},
        "has null as a value": {**members, "x": None},
        "has a long value": {**members, "x": LONG_TEXT},
        "has a path upwards as a key": {**members, f"../../../{ESCAPE}": "x"},
        "has many entries": {**members, **{f"x{number}": "x" for number in range(MANY)}},
    }


_OF_TYPE: Mapping[FieldType, Callable[[object], dict[str, object]]] = {
    FieldType.TEXT: _texts,
    FieldType.PATH: _paths,
    FieldType.DIGEST: _digests,
    FieldType.INTEGER: _integers,
    FieldType.BOOLEAN: _booleans,
    FieldType.LIST: _lists,
    FieldType.OBJECT: _objects,
    FieldType.MAP: _maps,
}


def whole_document_variants(document: Mapping[str, object]) -> Iterator[Variant]:
    """Yield texts that are not the document, or are it in an unusual form."""
    valid = json.dumps(document).encode()
    first = next(iter(document))
    twice = json.dumps({first: None}).encode()[:-1] + b", " + valid[1:]
    yield Variant("", "is indented", json.dumps(document, indent=4).encode(), Expected.ACCEPTED)
    yield Variant("", "is empty", b"")
    yield Variant("", "is a line break", b"\n")
    yield Variant("", "is null", b"null")
    yield Variant("", "is a list", b"[]")
    yield Variant("", "is an empty object", b"{}")
    yield Variant("", "ends in its middle", valid[: len(valid) // 2])
    yield Variant("", "has text after its end", valid + b" x")
    yield Variant("", "is there twice", valid + b"\n" + valid)
    yield Variant("", "begins with a byte order mark", b"\xef\xbb\xbf" + valid)
    yield Variant("", "is not UTF-8", valid[:-1] + b', "x": "\xff\xfe"}')
    yield Variant("", "has a key twice", twice)
    yield Variant("", "is deeply nested", valid[:-1] + b', "x": ' + b"[" * DEEP + b"]" * DEEP + b"}")
    yield Variant("", "is long", valid[:-1] + b', "x": "' + b"x" * (8 << 20) + b'"}')


def _value_at(document: Mapping[str, object], path: Path) -> object:
    """Return the value at a path; None where only its last key is absent."""
    holder: Any = document
    for part in path[:-1]:
        holder = holder[part]
    last = path[-1]
    if isinstance(holder, dict):
        return holder.get(last)
    if isinstance(holder, list) and isinstance(last, int):
        return holder[last]
    msg = f"the document has nothing that could hold {path_text(path)}"
    raise LookupError(msg)


def _put(document: dict[str, Any], path: Path, value: object) -> None:
    holder: Any = document
    for part in path[:-1]:
        holder = holder[part]
    if value is not ABSENT:
        holder[path[-1]] = value
    elif isinstance(holder, dict):
        holder.pop(path[-1], None)
    else:
        del holder[path[-1]]
