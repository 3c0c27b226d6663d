"""TOML documents with unusual values.

Source: TOML 1.0.0.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from critests.documents.document_fields import Expected, Field
from critests.documents.variants import MANY, Variant, field_variants

DEEP = 300
"""Levels of a deeply nested value. Administrators write these files, and nobody else: that a parser needs
minutes for thousands of levels is no danger.
"""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
"""A key that needs no quotes."""


def toml_variants(
    document: Mapping[str, object], fields: Sequence[Field], line: str, table: str
) -> Iterator[Variant]:
    """Yield the variants of a TOML document: those of its fields, then those of the document as a whole.

    Args:
        document: a valid one; see `field_variants`.
        fields: those that the specification has.
        line: one line `key = "value"` of a valid document, before its first table.
        table: the header of a table that the document has.
    """
    yield from field_variants(document, fields, _written_without_null)
    yield from _whole_document_variants(written(document), line, table)


def written(document: Mapping[str, object]) -> bytes:
    """Return a document in TOML: its objects are tables, its lists of objects arrays of tables."""
    return "\n".join(_tables("", document)).encode() + b"\n"


def _written_without_null(document: Mapping[str, object]) -> bytes | None:
    return None if _has_null(document) else written(document)


def _has_null(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_null, value.values()))
    return value is None or (isinstance(value, list) and any(map(_has_null, value)))


def _tables(name: str, members: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of a table's values, and then its tables."""
    below = {key: value for key, value in members.items() if value and _is_of_tables(value)}
    for key, value in members.items():
        if key not in below:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in below.items():
        path = f"{name}.{_key(key)}" if name else _key(key)
        if isinstance(value, Mapping):
            yield f"[{path}]"
            yield from _tables(path, value)
        elif isinstance(value, list):
            for entry in value:
                yield f"[[{path}]]"
                yield from _tables(path, entry)


def _is_of_tables(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(entry, Mapping) for entry in value)
    return isinstance(value, Mapping)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def _whole_document_variants(valid: bytes, line: str, table: str) -> Iterator[Variant]:
    key, _, value = line.partition(" = ")
    text = json.loads(value)
    first = line.encode() + b"\n"
    rest = valid.replace(first, b"", 1)
    accepted: dict[str, bytes] = {
        "has comments": b"# one\n" + valid.replace(b"\n", b" # more\n"),
        "has lines that end with CR and LF": valid.replace(b"\n", b"\r\n"),
        "has empty lines and spaces": b"\n \t\n  " + valid.replace(b"\n", b"\n\n  ").rstrip(b" "),
        "has no line feed at its end": valid.rstrip(b"\n"),
        "has a literal string": f"{key} = '{text}'\n".encode() + rest,
        "has a string of several lines": f'{key} = """\\\n  {text}"""\n'.encode() + rest,
        "has an escaped letter": f'{key} = "\\u{ord(text[0]):04x}{text[1:]}"\n'.encode() + rest,
    }
    for change, content in accepted.items():
        yield Variant("", change, content, Expected.ACCEPTED)
    either: dict[str, bytes] = {
        "is empty": b"",
        "is a line feed": b"\n",
        "is a comment": b"# nothing",
        "is JSON": b'{"a": "b"}',
        "ends in its middle": valid[: len(valid) // 2],
        "begins with a byte order mark": b"\xef\xbb\xbf" + valid,
        "is not UTF-8": first + b'x = "\xff\xfe"\n' + rest,
        "has a NUL": first + b'x = "a\0b"\n' + rest,
        "has a lone carriage return": first + b'x = "a\rb"\n' + rest,
        "has a key twice": first + first + rest,
        "has a table twice": valid + f"{table}\n{table}\n".encode(),
        "has an unknown table": valid + b"[critests]\nx = 1\n",
        "has values of every type": valid + b"[critests]\na = 1979-05-27\nb = 07:32:00\nc = inf\nd = 0xff\n",
        "has a string without an end": valid + b'x = "a\n',
        "has an array without an end": valid + b"x = [1,\n",
        "has no value": valid + b"x =\n",
        "has an invalid escape": valid + b'x = "\\q"\n',
        "has an integer that is too large": valid + b"[critests]\nx = 99999999999999999999\n",
        "is deeply nested": first + b"x = " + b"[" * DEEP + b"]" * DEEP + b"\n" + rest,
        "has deeply nested tables": first + b"x = " + b"{a=" * DEEP + b"1" + b"}" * DEEP + b"\n" + rest,
        "has a long dotted key": valid + b"[" + b"a." * DEEP + b"a]\n",
        "has many tables": valid + b"".join(b"[critests.x%d]\n" % number for number in range(MANY)),
        "is long": first + b'x = "' + b"x" * (8 << 20) + b'"\n' + rest,
    }
    for change, content in either.items():
        yield Variant("", change, content)
