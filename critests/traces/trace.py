"""A trace: a file of JSON lines; the first says where it comes from, and each other one is a call."""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO, cast

from critests.exit_codes import UsageError

VERSION: Final = 1


class TraceUnreadable(UsageError):
    """A file is no trace; the message says which and why."""


@dataclass(frozen=True)
class Origin:
    """Where a trace comes from.

    Attributes:
        runtime: as Version names it, with its version.
        begun: seconds since the epoch.
        trace: version of the format.
    """

    runtime: str = ""
    begun: float = 0.0
    trace: int = VERSION


@dataclass(frozen=True)
class Entry:
    """One call.

    Attributes:
        at: when it began, in seconds since the recording did.
        seconds: how long it took.
        rpc: its name in the service.
        request: the message, by field names of the API.
        code: name of the gRPC status code.
        response: likewise; empty where the call failed or its answer was a stream.
        messages: of a stream.
    """

    at: float
    seconds: float
    rpc: str
    request: dict[str, Any] = field(default_factory=dict)
    code: str = "OK"
    response: dict[str, Any] = field(default_factory=dict)
    messages: int = 0

    @property
    def ended(self) -> float:
        """When it was answered, in seconds since the recording began."""
        return self.at + self.seconds


def opened(path: Path, mode: str) -> TextIO:
    """Open a trace, compressed where its name ends so; `mode` is `r` or `w`."""
    if path.suffix == ".gz":
        return cast("TextIO", gzip.open(path, f"{mode}t", encoding="utf-8"))
    return cast("TextIO", path.open(mode, encoding="utf-8"))


def line_of(part: Origin | Entry) -> str:
    """Return a part of a trace as it stands in the file."""
    return json.dumps(asdict(part), ensure_ascii=False, separators=(",", ":")) + "\n"


def write(path: Path, origin: Origin, entries: Iterable[Entry]) -> None:
    """Write a whole trace."""
    with opened(path, "w") as file:
        file.write(line_of(origin))
        file.writelines(map(line_of, entries))


def read(path: Path) -> tuple[Origin, list[Entry]]:
    """Read a trace; the calls in the order in which they began.

    Raises:
        TraceUnreadable: it cannot be read, or is none.
    """
    try:
        with opened(path, "r") as file:
            origin = Origin(**json.loads(file.readline()))
            entries = sorted(_entries(file), key=lambda entry: entry.at)
    except (OSError, ValueError, TypeError) as error:
        msg = f"{path}: no trace: {error}"
        raise TraceUnreadable(msg) from error
    if origin.trace != VERSION:
        msg = f"{path}: a trace of version {origin.trace}; this critests reads {VERSION}"
        raise TraceUnreadable(msg)
    return origin, entries


def _entries(lines: Iterable[str]) -> Iterator[Entry]:
    for line in lines:
        if line.endswith("\n"):  # the last line of a recording that was ended hard may be half a line
            yield Entry(**json.loads(line))
