"""The actions that a wrapper can do at an operation, and the plan file with them.

The plan is text, one action per line: `OPERATION ACTION ARGUMENTS`. `*` stands for every operation,
`bridge/ADD` for one of one CNI plugin. Within an operation the order is always: edit, change, delay, fail
or skip, rewrite; a record covers all of them.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_MESSAGE = re.compile(r"[^\x00-\x1f\"\\ ]([^\x00-\x1f\"\\]*[^\x00-\x1f\"\\ ])?")
_OPERATION = re.compile(r"[^\s]+")
_LONGEST_DELAY = 3600.0


@dataclass(frozen=True)
class Record:
    """Record each invocation: begin, end, operation, id and exit code."""


def _check_turns(every: int, first: int) -> None:
    if every < 1:
        raise ValueError(f"`every` must be at least 1, not {every}")
    if not 0 <= first <= every:
        raise ValueError(f"`first` must be from 0 to `every`, not {first}")


@dataclass(frozen=True)
class Delay:
    """Wait before the program starts. Starting `sleep` takes additional time; `own_cost` measures it.

    Raises:
        ValueError: the time is negative or longer than an hour, or `every` or `first` is out of range.
    """

    seconds: float
    every: int = 1
    """Every N-th invocation of the operation is delayed, counted from the change of the plan."""
    first: int = 0
    """The first of these invocations, counted from 1; 0 for the N-th."""

    def __post_init__(self) -> None:
        _check_turns(self.every, self.first)
        if not 0 <= self.seconds <= _LONGEST_DELAY:
            raise ValueError(f"a delay of {self.seconds} s is not between 0 and {_LONGEST_DELAY:.0f} s")


@dataclass(frozen=True)
class Fail:
    """Do not run the program: exit with a code, and report a message where the caller reads it.

    An OCI runtime's message goes to its log file and stderr, a CNI plugin's as an error object to stdout, a
    monitor's to stderr.

    Raises:
        ValueError: the code is not one of 1 to 255, or the message is not one plain line without quotes and
            backslashes, or `every` is less than 1.
    """

    exit_code: int
    message: str
    every: int = 1
    """Every N-th invocation of the operation fails, counted from the change of the plan."""
    first: int = 0
    """The first of these invocations, counted from 1; 0 for the N-th."""

    def __post_init__(self) -> None:
        _check_turns(self.every, self.first)
        if not 1 <= self.exit_code <= 255:
            raise ValueError(f"{self.exit_code} is not the exit code of a failure")
        if not _MESSAGE.fullmatch(self.message):
            raise ValueError(
                f"{self.message!r} is not one line of text without quotes, backslashes and spaces around it"
            )


@dataclass(frozen=True)
class Edit:
    """Replace all occurrences of a text, literally as in the file (JSON has its own escapes).

    For an OCI runtime, the file is the bundle's `config.json` (create, run), the process file (exec) or the
    resources file (update), before the program starts; for a CNI plugin it is the result. `Invocation.edits`
    counts the edits whose text was found.

    Raises:
        ValueError: a text has several lines, or `old` is empty.
    """

    old: str
    new: str

    def __post_init__(self) -> None:
        if not self.old or any(character in text for text in (self.old, self.new) for character in "\n\0"):
            raise ValueError(
                f"{self.old!r} cannot be replaced by {self.new!r}: both must be on one line, and the first"
                " not empty"
            )

    @property
    def name(self) -> str:
        """Return the name of the edit's files: the same for the same edit, so that a plan can change while it
        is read.
        """
        return hashlib.sha256(f"{self.old}\0{self.new}".encode()).hexdigest()[:16]

    def write(self, directory: Path) -> None:
        """Write the searched text, and the sed script that replaces it."""
        old = re.sub(r"[][\\.*^$/]", r"\\\g<0>", self.old)
        new = re.sub(r"[\\&/]", r"\\\g<0>", self.new)
        _write_whole(directory / f"{self.name}.old", f"{self.old}\n")
        _write_whole(directory / f"{self.name}.sed", f"s/{old}/{new}/g\n")


@dataclass(frozen=True)
class _ByProgram:
    """An action that a program does; its path has no white space."""

    program: Path

    def __post_init__(self) -> None:
        if not _OPERATION.fullmatch(str(self.program)):
            raise ValueError(f"{self.program} cannot be in a plan: its path has white space in it")


@dataclass(frozen=True)
class ChangeInput(_ByProgram):
    """Let a program change the input, in ways that `Edit` cannot express.

    For an OCI runtime, the input is the file that `Edit` names; for a CNI plugin it is the configuration. The
    program gets the path of the file as its last argument, and exits with 0 if it changed something;
    `Invocation.edits` counts that.

    Raises:
        ValueError: the program's path has white space in it.
    """


@dataclass(frozen=True)
class ChangeResult(_ByProgram):
    """Let a program change the result of a CNI plugin that has succeeded.

    Raises:
        ValueError: the program's path has white space in it.
    """


@dataclass(frozen=True)
class SkipCommand:
    """Do not run the program, and exit with 0 as if it had succeeded.

    `Invocation.edits` counts it.
    """

    signals: tuple[str, ...] = ()
    """Only a kill by an OCI runtime with one of these signals, as written in the command; empty for every
    command.
    """


@dataclass(frozen=True)
class ReplaceSignal:
    """Let an OCI runtime's kill send another signal. `Invocation.edits` counts it."""

    signals: tuple[str, ...]
    """The replaced signals, as written in the command."""
    new: str


LATE_FAILURE = Edit('"ociVersion"', '"hooks":{"createRuntime":[{"path":"/bin/false"}]},"ociVersion"')
"""Lets an OCI runtime's create fail when cgroup, namespaces and mounts exist: by a hook, which fails."""

Action = Record | Delay | Fail | Edit | ChangeInput | ChangeResult | SkipCommand | ReplaceSignal

ALL = "*"
"""Stands for every operation."""


def write_plan(plan: Mapping[str, Sequence[Action]], path: Path, edit_files: Path) -> None:
    """Write a plan atomically: an invocation reads either the previous plan or this one.

    Raises:
        ValueError: the name of an operation has spaces in it, or is empty.
    """
    for operation in plan:
        if not _OPERATION.fullmatch(operation):
            raise ValueError(f"{operation!r} is not the name of an operation")
    for edit in (action for actions in plan.values() for action in actions if isinstance(action, Edit)):
        edit.write(edit_files)
    lines = [f"{operation} {_words(action)}\n" for operation, actions in plan.items() for action in actions]
    _write_whole(path, "".join(lines))


def _words(action: Action) -> str:
    match action:
        case Record():
            words = "record"
        case Delay(seconds, every, first):
            words = f"delay {every} {first} {seconds:.6f}"
        case Fail(code, message, every, first):
            words = f"fail {every} {first} {code} {message}"
        case Edit():
            words = f"edit {action.name}"
        case ChangeInput(program):
            words = f"change {program}"
        case ChangeResult(program):
            words = f"rewrite {program}"
        case SkipCommand(signals):
            words = f"skip {' '.join(signals)}".rstrip()
        case ReplaceSignal(signals, new):
            words = f"signal {new} {' '.join(signals)}"
    return words


def _write_whole(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
