"""Reads the log file of a container: one record a line, as the kubelet reads it.

The kubelet knows two formats, and decides by the first line of a file: the CRI's own, and Docker's JSON
objects. Both are read here, so that the format fails only the test that is about it.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

_TIME = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


class LogUnreadable(AssertionError):
    """The log of a container cannot be read. It is an assertion, because the runtime promises place and
    format of the file.

    Attributes:
        judge: the requirement that judges it; other tests are blocked by it.
    """

    judge: ClassVar[str]


class MalformedLog(LogUnreadable):
    """A line of a container's log is not a record."""

    judge = "LOG-02"


class NoLog(LogUnreadable):
    """The file of a container's log is not where the request says."""

    judge = "LOG-01"


@dataclass(frozen=True)
class LogRecord:
    """One record.

    Attributes:
        time_ns: nanoseconds since the epoch.
        stream: `stdout` or `stderr`.
        tags: as written, joined by `:`; the first is `F` for a full line or `P` for a part of one.
        payload: the bytes after the third space, without the newline.
        stamp: the time as written.
    """

    time_ns: int
    stream: str
    tags: str
    payload: bytes
    stamp: bytes

    @property
    def partial(self) -> bool:
        """Whether the line continues in the next record of the same stream."""
        return self.tags.split(":")[0] == "P"


def parse(content: bytes) -> list[LogRecord]:
    """Return the records of a log file; a last line without newline is still being written, and is left out.

    Raises:
        MalformedLog: a line is not a record; the message has its number and beginning.
    """
    lines = content.split(b"\n")[:-1]
    read_line = _docker_record if content.startswith(b"{") else _record
    return [read_line(number, line) for number, line in enumerate(lines, 1)]


def _record(number: int, line: bytes) -> LogRecord:
    parts = line.split(b" ", 3)
    if len(parts) != 4:
        msg = (
            f"line {number} of the log has {len(parts)} of the four parts time, stream, tags, payload:"
            f" {line[:200]!r}"
        )
        raise MalformedLog(msg)
    stamp, stream, tags, payload = parts
    if stream not in {b"stdout", b"stderr"}:
        msg = f"line {number} of the log names the stream {stream[:40]!r}: {line[:200]!r}"
        raise MalformedLog(msg)
    if tags.split(b":")[0] not in {b"F", b"P"}:
        msg = f"line {number} of the log has the tag {tags[:40]!r} instead of F or P: {line[:200]!r}"
        raise MalformedLog(msg)
    return LogRecord(time_ns(stamp), stream.decode(), tags.decode(), payload, stamp)


def _docker_record(number: int, line: bytes) -> LogRecord:
    """Parse an object with `log`, `stream` and `time`; of a line's parts only the last has the newline in
    `log`.
    """
    try:
        found = json.loads(line)
        text, stream, stamp = found["log"], found["stream"], found["time"]
        payload, written = text.encode(), stamp.encode()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"line {number} of the log is not a JSON object of Docker, unlike the first: {line[:200]!r}"
        raise MalformedLog(msg) from error
    if stream not in {"stdout", "stderr"}:
        msg = f"line {number} of the log names the stream {stream!r:.40}: {line[:200]!r}"
        raise MalformedLog(msg)
    tag = "F" if payload.endswith(b"\n") else "P"
    return LogRecord(time_ns(written), stream, tag, payload.removesuffix(b"\n"), written)


def time_ns(stamp: bytes) -> int:
    """Return nanoseconds since the epoch for an RFC 3339 time with at most nine decimals.

    Raises:
        MalformedLog: it is no such time.
    """
    found = _TIME.fullmatch(stamp)
    if found is None:
        msg = f"not an RFC 3339 time: {stamp[:60]!r}"
        raise MalformedLog(msg)
    whole, fraction, zone = found.groups()
    time = datetime.fromisoformat((whole + (b"+00:00" if zone == b"Z" else zone)).decode()).astimezone(UTC)
    return int(time.timestamp()) * 1_000_000_000 + int((fraction or b"0").ljust(9, b"0"))


def lines(records: list[LogRecord], stream: str | None = None) -> list[bytes]:
    """Return whole lines: parts joined per stream, in the order in which the lines ended.

    An unfinished line is included at the end.
    """
    whole: list[bytes] = []
    begun: dict[str, bytes] = {}
    for record in records:
        if stream is not None and record.stream != stream:
            continue
        text = begun.pop(record.stream, b"") + record.payload
        if record.partial:
            begun[record.stream] = text
        else:
            whole.append(text)
    return whole + list(begun.values())


def read(path: Path) -> list[LogRecord]:
    """Return the records of a log file; none if it does not exist yet."""
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        return []
