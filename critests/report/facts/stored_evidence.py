"""Reading the evidence of a failed test: calls, logs and other files, bounded, whatever their content."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from critests.report.wording.texts import cut

FILE_BYTES: Final = 48 * 1024
"""Bytes that are shown of one text file: a quarter from its start, the rest from its end."""
CALLS_BYTES: Final = 8 * 1024 * 1024
CALLS_SHOWN: Final = 60
MESSAGE_CHARACTERS: Final = 6 * 1024
FILES_LISTED: Final = 40
TITLES: Final = {"container.log": "Container log", "runtime.log": "Runtime log", "traceback.txt": "Traceback"}
TEXT_SUFFIXES: Final = frozenset({".log", ".txt", ".json", ".yaml", ".toml", ".conf", ".out", ".err"})


@dataclass(frozen=True, kw_only=True)
class CallView:
    """One recorded call, as reports show it.

    Attributes:
        rpc: Its name.
        started: Its start, seconds since the epoch; 0 if that was not recorded.
        milliseconds: Its duration.
        code: Name of the gRPC status code.
        details: The runtime's error message.
        request: The request as indented JSON, bounded.
        response: The response as indented JSON, bounded; empty if there was none.
        streamed: Number of messages of a stream.
        offset: Its start as a share of the time from the start of the first to the end of the last call.
        share: Its duration as a share of that time.
    """

    rpc: str
    milliseconds: float
    code: str
    details: str
    request: str
    response: str
    streamed: int
    offset: float
    share: float
    started: float = 0.0


@dataclass(frozen=True)
class FileView:
    """One file of the evidence.

    Attributes:
        name: Its name.
        title: What it is.
        size: Its size in bytes.
        text: Its text, bounded; empty for a file that is not shown.
    """

    name: str
    title: str
    size: int
    text: str


@dataclass(frozen=True)
class StoredEvidence:
    """The evidence of a test.

    Attributes:
        calls: Its last calls.
        left_out: Number of calls before those.
        files: Its files, those with text first.
        note: Why something is not shown, or empty.
    """

    calls: list[CallView] = field(default_factory=list)
    left_out: int = 0
    files: list[FileView] = field(default_factory=list)
    note: str = ""


class Budget:
    """How many more characters of evidence fit a page."""

    def __init__(self, characters: int) -> None:
        self.left = characters

    def take(self, text: str) -> str:
        """Return the text, or an empty one if the page is full."""
        if self.left <= 0:
            return ""
        self.left -= len(text)
        return text


def read_evidence(run_dir: Path, relative: str, budget: Budget) -> StoredEvidence:
    """Read the evidence of one test.

    Nothing outside the run's folder is read and links are not followed.

    Args:
        run_dir: Folder of the run.
        relative: Folder of the evidence, from `TestResult.evidence`.
        budget: Space that is left on the page.
    """
    folder = (run_dir / relative).resolve()
    if not relative or not folder.is_relative_to(run_dir.resolve()) or not folder.is_dir():
        return StoredEvidence(note="none was stored" if not relative else f"{relative} is missing")
    if budget.left <= 0:
        return StoredEvidence(note=f"this page is full; the evidence is in {relative}")
    try:
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        calls, left_out, note = _read_calls(folder, budget)
        listed = [path for path in paths if not path.name.startswith("calls.jsonl")]
        files = [_read_file(path, folder, budget) for path in listed[:FILES_LISTED]]
    except OSError as error:
        return StoredEvidence(note=f"{relative} cannot be read: {error.strerror or error}")
    return StoredEvidence(calls, left_out, sorted(files, key=lambda file: not file.text), note)


def _read_file(path: Path, folder: Path, budget: Budget) -> FileView:
    name = path.relative_to(folder).as_posix()
    size = path.stat().st_size
    text = ""
    if path.suffix in TEXT_SUFFIXES and size:
        head, tail = FILE_BYTES // 4, FILE_BYTES - FILE_BYTES // 4
        with path.open("rb") as file:
            data = file.read(FILE_BYTES if size <= FILE_BYTES else head)
            text = data.decode("utf-8", "surrogateescape")
            if size > FILE_BYTES:
                file.seek(size - tail)
                rest = file.read(tail).decode("utf-8", "surrogateescape")
                text = (
                    f"{text}\n… [{size - FILE_BYTES:,} bytes are left out here; see {name} for all of them]"
                    f"\n{rest}"
                )
        text = budget.take(text)
    return FileView(name, TITLES.get(name, name), size, text)


def _read_calls(folder: Path, budget: Budget) -> tuple[list[CallView], int, str]:
    """Return the last calls, the number of calls before them, and a note if a line could not be read."""
    lines, note = list(_call_lines(folder)), ""
    shown: list[dict[str, Any]] = []
    # from the end, as parsing the calls that are not shown would take most of the time for a long test
    while lines and len(shown) < CALLS_SHOWN:
        try:
            call = json.loads(lines.pop())
        except ValueError:
            note = "a line of the recorded calls could not be read"
            continue
        if isinstance(call, dict):
            shown.insert(0, call)
    return views_of(shown, budget), len(lines), note


def views_of(shown: list[dict[str, Any]], budget: Budget) -> list[CallView]:
    """Return recorded calls as reports show them."""
    begin, length = _line(shown)
    return [
        CallView(
            rpc=str(call.get("rpc", "?")),
            milliseconds=_number(call.get("ms")),
            code=str(call.get("code", "?")),
            details=budget.take(cut(str(call.get("details") or ""), MESSAGE_CHARACTERS)),
            request=budget.take(_pretty(call.get("request"))),
            response=budget.take(_pretty(call.get("response"))),
            streamed=int(_number(call.get("streamed"))),
            offset=min(1.0, max(0.0, (_number(call.get("started")) - begin) / length)),
            share=min(1.0, _number(call.get("ms")) / 1000 / length),
            started=_number(call.get("started")),
        )
        for call in shown
    ]


def _line(calls: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the start of the first call, and the seconds until the end of the last one."""
    begin = min((_number(call.get("started")) for call in calls), default=0.0)
    ends = [_number(call.get("started")) + _number(call.get("ms")) / 1000 for call in calls]
    return begin, max(max(ends, default=0.0) - begin, 1e-6)


def _call_lines(folder: Path) -> Iterator[str]:
    plain, packed = folder / "calls.jsonl", folder.parent.parent / "calls" / f"{folder.name}.jsonl.gz"
    data = b""
    if plain.is_file() and not plain.is_symlink():
        with plain.open("rb") as file:
            data = file.read(CALLS_BYTES)
    elif packed.is_file() and not packed.is_symlink():
        try:
            with gzip.open(packed, "rb") as file:
                data = file.read(CALLS_BYTES)
        except EOFError:
            data = b"{cut off"
    yield from (line for line in data.decode("utf-8", "replace").split("\n") if line.strip())


def _pretty(message: object) -> str:
    if message is None:
        return ""
    return cut(json.dumps(message, indent=2, ensure_ascii=False), MESSAGE_CHARACTERS)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
