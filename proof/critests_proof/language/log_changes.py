"""The changes of a fault to the log of a container, line by line in the CRI's format."""

import datetime as dt
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from critests_proof.language.descriptors import FaultError, near


@dataclass(frozen=True)
class LogLine:
    """One line of a log: `<time> <stream> <tag> <payload>`."""

    time: bytes
    stream: bytes
    tag: bytes
    payload: bytes

    @classmethod
    def parse(cls, raw: bytes) -> "LogLine | None":
        """Parse a line without its newline; None if it has another format."""
        parts = raw.split(b" ", 3)
        return cls(*parts) if len(parts) == 4 else None

    def __bytes__(self) -> bytes:
        return b" ".join((self.time, self.stream, self.tag, self.payload)) + b"\n"


@dataclass
class LogState:
    """The state of a change for one container's log: number of lines, and pieces of an incomplete line."""

    lines: int = 0
    pieces: dict[bytes, bytes] = field(default_factory=dict)
    held: LogLine | None = None


LineChange = Callable[[LogLine, float, LogState], Iterator[LogLine | bytes]]


@dataclass(frozen=True)
class LogChange:
    """One kind of change to a log.

    Attributes:
        breaks: the main requirement that it breaks.
        says: description, one sentence.
        change: yields the replacement of a line; bytes are written unchanged.
        argument: name of its numeric argument; empty without one.
        default: default of the argument.
    """

    breaks: str
    says: str
    change: LineChange
    argument: str = ""
    default: float = 0


def _payload(how: Callable[[bytes], bytes]) -> LineChange:
    def change(line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
        yield replace(line, payload=how(line.payload))

    return change


def _truncate(line: LogLine, length: float, _state: LogState) -> Iterator[LogLine]:
    yield replace(line, payload=line.payload[: int(length)])


def _drop_empty(line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
    if line.payload or line.tag != b"F":
        yield line


def _tag(tag: bytes) -> LineChange:
    def change(line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
        yield replace(line, tag=tag)

    return change


def _swap_streams(line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
    yield replace(line, stream={b"stdout": b"stderr", b"stderr": b"stdout"}.get(line.stream, line.stream))


def _one_stream(line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
    yield replace(line, stream=b"stdout")


def _drop_stderr(line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
    if line.stream != b"stderr":
        yield line


def _drop_last_partial(line: LogLine, _argument: float, state: LogState) -> Iterator[LogLine]:
    """Hold pieces back until their line is complete; pieces of a line that is never completed are lost."""
    state.pieces.setdefault(line.stream, b"")
    state.pieces[line.stream] += bytes(line)
    if line.tag.startswith(b"F"):
        yield from _as_bytes(state.pieces.pop(line.stream))


def _as_bytes(raw: bytes) -> Iterator[LogLine]:
    for one in raw.splitlines(keepends=True):
        line = LogLine.parse(one.removesuffix(b"\n"))
        if line:
            yield line


def _merge_split(line: LogLine, _argument: float, state: LogState) -> Iterator[LogLine]:
    pieces = state.pieces.pop(line.stream, b"") + line.payload
    if line.tag.startswith(b"P"):
        state.pieces[line.stream] = pieces
    else:
        yield replace(line, payload=pieces)


def _first_piece_only(line: LogLine, _argument: float, state: LogState) -> Iterator[LogLine]:
    continued = line.stream in state.pieces
    if line.tag.startswith(b"P"):
        state.pieces[line.stream] = b""
    else:
        state.pieces.pop(line.stream, None)
    if not continued:
        yield line


def _shift(line: LogLine, seconds: float, _state: LogState) -> Iterator[LogLine]:
    shifted = dt.datetime.fromisoformat(line.time[:19].decode() + "+00:00") + dt.timedelta(seconds=seconds)
    yield replace(line, time=shifted.strftime("%Y-%m-%dT%H:%M:%S").encode() + line.time[19:])


def _backwards(line: LogLine, _argument: float, state: LogState) -> Iterator[LogLine]:
    yield from _shift(line, -state.lines, state)


def _time(how: Callable[[bytes], bytes]) -> LineChange:
    def change(line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
        yield replace(line, time=how(line.time))

    return change


def _unix_time(_time_of_line: bytes) -> bytes:
    return str(int(time.time())).encode()


def _drop_nth(line: LogLine, number: float, state: LogState) -> Iterator[LogLine]:
    if state.lines % int(number):
        yield line


def _duplicate_nth(line: LogLine, number: float, state: LogState) -> Iterator[LogLine]:
    yield line
    if state.lines % int(number) == 0:
        yield line


def _swap_pairs(line: LogLine, _argument: float, state: LogState) -> Iterator[LogLine]:
    if state.held is None:
        state.held = line
        return
    first, state.held = state.held, None
    yield line
    yield first


def _no_tag(line: LogLine, _argument: float, _state: LogState) -> Iterator[bytes]:
    yield b" ".join((line.time, line.stream, line.payload)) + b"\n"


def _raw(line: LogLine, _argument: float, _state: LogState) -> Iterator[bytes]:
    yield line.payload + (b"\n" if line.tag.startswith(b"F") else b"")


def _cr_lf(line: LogLine, _argument: float, _state: LogState) -> Iterator[bytes]:
    yield bytes(line)[:-1] + b"\r\n"


def _same(line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
    yield line


def _nothing(_line: LogLine, _argument: float, _state: LogState) -> Iterator[LogLine]:
    return iter(())


def _clean(payload: bytes) -> bytes:
    return payload.replace(b"\0", b"").decode("utf-8", "replace").encode()


LOG_CHANGES: dict[str, LogChange] = {
    "strip-spaces": LogChange(
        "LOG-14", "payloads lose leading and trailing spaces", _payload(lambda payload: payload.strip(b" "))
    ),
    "strip-cr": LogChange(
        "LOG-11", "payloads lose carriage returns", _payload(lambda payload: payload.replace(b"\r", b""))
    ),
    "squeeze-spaces": LogChange(
        "LOG-14", "runs of spaces become one space", _payload(lambda payload: re.sub(rb" +", b" ", payload))
    ),
    "upper": LogChange("LOG-06", "payloads in capitals", _payload(bytes.upper)),
    "clean": LogChange("LOG-10", "NUL is dropped, invalid UTF-8 is replaced", _payload(_clean)),
    "truncate": LogChange("LOG-06", "payloads keep their first N bytes", _truncate, "N", 3),
    "drop-empty": LogChange("LOG-09", "empty lines are left out", _drop_empty),
    "tag-full": LogChange("LOG-06", "every piece claims to be a whole line", _tag(b"F")),
    "tag-partial": LogChange("LOG-05", "every line claims to be a piece", _tag(b"P")),
    "no-tag": LogChange("LOG-02", "lines have no tag", _no_tag),
    "swap-streams": LogChange("LOG-04", "stdout and stderr change places", _swap_streams),
    "one-stream": LogChange("LOG-04", "everything claims to be stdout", _one_stream),
    "drop-stderr": LogChange("LOG-04", "stderr is lost", _drop_stderr),
    "drop-last-partial": LogChange("LOG-08", "a last line without a newline is lost", _drop_last_partial),
    "merge-split": LogChange("LOG-06", "pieces of a line are joined to one record", _merge_split),
    "first-piece": LogChange("LOG-06", "only the first piece of a long line is written", _first_piece_only),
    "shift-time": LogChange("LOG-03", "timestamps are N seconds off", _shift, "SECONDS", 3600),
    "backwards-time": LogChange("LOG-03", "timestamps go backwards", _backwards),
    "whole-seconds": LogChange(
        "LOG-03", "timestamps lose their fraction", _time(lambda time: time[:19] + b"Z")
    ),
    "unix-time": LogChange("LOG-02", "timestamps are seconds since the epoch", _time(_unix_time)),
    "drop-nth": LogChange("LOG-15", "every Nth line is lost", _drop_nth, "N", 2),
    "duplicate-nth": LogChange("LOG-06", "every Nth line comes twice", _duplicate_nth, "N", 2),
    "swap-pairs": LogChange("LOG-12", "neighbouring lines change places", _swap_pairs),
    "raw": LogChange("LOG-02", "payloads only, without time, stream and tag", _raw),
    "cr-lf": LogChange("LOG-02", "lines end in CR LF", _cr_lf),
    "nothing": LogChange("LOG-01", "the file stays empty", _nothing),
    "no-file": LogChange("LOG-01", "there is no file", _nothing),
    # longer than a runtime may take to write the end of the log
    "late": LogChange("LOG-15", "lines come N seconds late", _same, "SECONDS", 20),
    "ignore-reopen": LogChange("LOG-21", "ReopenContainerLog continues in the old file", _same),
    "truncate-on-reopen": LogChange("LOG-21", "ReopenContainerLog empties the file it finds", _same),
    "follow-links": LogChange(
        "LOG-20", "ReopenContainerLog follows a symbolic link in the place of the log", _same
    ),
    "truncate-on-start": LogChange("LOG-17", "an existing file is truncated", _same),
    "world-writable": LogChange("LOG-19", "the file's mode is 0666", _same),
    "remove-with-container": LogChange("CTR-33", "the file is removed with its container", _same),
}


def parse_log_change(name: str, argument: str) -> float:
    """Return the argument of a change to logs.

    Raises:
        FaultError: the change is unknown, or its argument is wrong.
    """
    change = LOG_CHANGES.get(name)
    if change is None:
        msg = (
            f"no change to logs is called {name!r}{near(name, LOG_CHANGES)}; there are:"
            f" {', '.join(LOG_CHANGES)}"
        )
        raise FaultError(msg)
    if not argument:
        return change.default
    try:
        number = float(argument.removesuffix("s"))
    except ValueError as error:
        msg = (
            f"{name} takes {'the number ' + change.argument if change.argument else 'nothing'}, not"
            f" {argument!r}"
        )
        raise FaultError(msg) from error
    if not change.argument or (change.argument == "N" and number < 1):
        msg = f"{name} takes {'a number from 1' if change.argument else 'nothing'}, not {argument!r}"
        raise FaultError(msg)
    return number
