"""Reads `run.json` or `run.json.gz`, and writes `run.json` atomically."""

import contextlib
import dataclasses
import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any, Final, cast

from critests.record.codec import FieldMismatch, Json, from_plain, to_plain
from critests.record.record_errors import RecordUnreadable, not_written
from critests.record.result_records import DETAIL_LIMIT, REASON_LIMIT, TestResult
from critests.record.run_layout import COMPRESSED_RUN_FILE, RUN_FILE
from critests.record.run_record import SCHEMA, SCHEMA_VERSION, RunRecord

READ_LIMIT: Final = 256 * 1024 * 1024
"""Bytes; a larger file is no run record."""
DETAIL_BUDGET: Final = 1024 * 1024
"""Characters of the details of all tests of a record together; beyond it, each further one is cut short."""
SHORT_DETAIL: Final = 400
_GZIP_BEGINS: Final = b"\x1f\x8b"


def write(record: RunRecord, path: Path) -> Path:
    """Write a record as JSON, atomically and flushed to the disk; create missing folders.

    Args:
        record: The record.
        path: The file, or an existing folder, in which `run.json` is written.

    Returns:
        The file.

    Raises:
        RecordNotWritten: the file could not be written; no partial file is left.
    """
    target = path / RUN_FILE if path.is_dir() else path
    write_atomically(target, to_json(record))
    return target


def read(path: Path) -> RunRecord:
    """Read a record from a file, or from the `run.json` or `run.json.gz` of a folder.

    Raises:
        RecordUnreadable: there is no such file, it is cut off, or it is not a record that this version can
            read.
    """
    source = record_file(path) if path.is_dir() else path
    return from_json(read_text(source), str(source))


def record_file(folder: Path) -> Path:
    """Return the record's file in a run's folder; the compressed one only if there is no other."""
    plain, compressed = folder / RUN_FILE, folder / COMPRESSED_RUN_FILE
    return compressed if compressed.exists() and not plain.exists() else plain


def read_text(source: Path) -> str:
    """Read the text of a record's file, compressed or not.

    Raises:
        RecordUnreadable: there is no such file, or it is not text.
    """
    try:
        with source.open("rb") as file:
            compressed = file.read(2) == _GZIP_BEGINS
        with gzip.open(source) if compressed else source.open("rb") as file:
            data = file.read(READ_LIMIT + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        msg = f"{source} is not a run record: it was compressed and is damaged: {error}"
        raise RecordUnreadable(msg) from error
    except OSError as error:
        msg = f"cannot read the run record {source}: {error.strerror or error}"
        raise RecordUnreadable(msg) from error
    if len(data) > READ_LIMIT:
        msg = f"{source} is larger than any run record ({READ_LIMIT} bytes)"
        raise RecordUnreadable(msg)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        msg = f"{source} is not a run record: it is not UTF-8 text (byte {error.start})"
        raise RecordUnreadable(msg) from error


def to_json(record: RunRecord) -> str:
    """Return the JSON form of a record, long texts bounded."""
    plain = cast("dict[str, Json]", to_plain(bounded(record)))
    fields = (f"{_dumps(name)}: {_item_per_line(value)}" for name, value in plain.items())
    return _clean("{\n" + ",\n".join(fields) + "\n}\n")


def bounded(record: RunRecord) -> RunRecord:
    """Return the record with long texts cut and marked, as it is written. A record that was read has bounded
    texts already.
    """
    return dataclasses.replace(record, tests=_bounded(record.tests))


def from_json(text: str, source: str = "the text") -> RunRecord:
    """Build a record from its JSON form.

    Args:
        text: The JSON.
        source: Its name in messages.

    Raises:
        RecordUnreadable: the text is cut off, or it is not a record that this version can read.
    """
    return record_of(parsed(text, source), source)


def parsed(text: str, source: str) -> dict[str, Any]:
    """Return the JSON form of a record as plain data.

    Args:
        text: The JSON.
        source: Its name in messages.

    Raises:
        RecordUnreadable: the text is cut off, or it is not a record of this version.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        whole = text.strip()
        if not whole or (
            whole.startswith("{") and (not whole.endswith("}") or error.pos >= len(text.rstrip()))
        ):
            msg = (
                f"{source} is cut off after {len(text)} characters: the run that wrote it did not finish"
                " writing"
            )
        else:
            msg = f"{source}:{error.lineno}: not JSON: {error.msg}"
        raise RecordUnreadable(msg) from error
    except RecursionError as error:
        msg = f"{source} is not a run record: it is nested too deeply"
        raise RecordUnreadable(msg) from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else None
        msg = f'{source} is not a run record: its schema is {json.dumps(found)}, not "{SCHEMA}"'
        raise RecordUnreadable(msg)
    if data.get("schema_version") != SCHEMA_VERSION:
        msg = (
            f"{source} has schema version {json.dumps(data.get('schema_version'))}, this critests reads"
            f" {SCHEMA_VERSION}: use the one that wrote it, or a newer one"
        )
        raise RecordUnreadable(msg)
    return data


def record_of(data: dict[str, Any], source: str) -> RunRecord:
    """Build a record from its plain data.

    Args:
        data: The data.
        source: Its name in messages.

    Raises:
        RecordUnreadable: it is not a record that this version can read.
    """
    try:
        return from_plain(RunRecord, data)
    except FieldMismatch as error:
        msg = f"{source} is not a run record of schema version {SCHEMA_VERSION}: {error}"
        raise RecordUnreadable(msg) from error


def write_atomically(target: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Write a file atomically; create missing folders.

    An existing special file (`/dev/null`, a pipe) or symbolic link (`/dev/stdout`, possibly redirected to a
    file) is written in place, because a rename would replace it.

    Args:
        target: The file.
        content: Its content.
        durable: Flush it to the disk; too slow for thousands of files that can be created again.

    Raises:
        RecordNotWritten: with a sentence that names the file and the cause.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        if target.is_symlink() or (target.exists() and not target.is_file()):
            target.write_bytes(data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(target)
        if durable:
            _sync_folder(target.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise not_written(target, error) from error


def shortened(text: str, limit: int) -> str:
    """Cut a text to a number of characters, with a mark."""
    if len(text) <= limit:
        return text
    mark = f"… [{len(text)} characters in all]"
    return text[: max(limit - len(mark), 0)] + mark


def _bounded(tests: list[TestResult]) -> list[TestResult]:
    """Cut long texts of each result, and the details of all of them together."""
    left, bounded_tests = DETAIL_BUDGET, []
    for test in tests:
        limits = {"reason": REASON_LIMIT, "seen": REASON_LIMIT, "form": REASON_LIMIT}
        limits["detail"] = DETAIL_LIMIT if left > 0 else SHORT_DETAIL
        texts = {name: getattr(test, name) for name in limits}
        cut: dict[str, Any] = {
            name: shortened(text, limits[name]) for name, text in texts.items() if len(text) > limits[name]
        }
        left -= len(cut.get("detail", test.detail))
        bounded_tests.append(dataclasses.replace(test, **cut) if cut else test)
    return bounded_tests


def _item_per_line(value: Json) -> str:
    """Return the JSON of a field; of a list, one item a line, such as a test. To indent all of it takes three
    times as long.
    """
    if not isinstance(value, list) or not value:
        return _dumps(value)
    return "[\n" + ",\n".join(map(_dumps, value)) + "\n]"


def _dumps(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _clean(text: str) -> str:
    """Replace lone surrogates (undecodable bytes of outputs): they cannot be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
