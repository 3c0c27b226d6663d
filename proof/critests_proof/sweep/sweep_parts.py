"""A sweep in several processes, each with its own runtime: every process records a part of the tests, and
tries a part of the faults.

The process of the user starts the others, once for the tests, and again after the recording, and reads their
results from the files that they write.
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from critests.record.codec import from_plain
from critests_proof.record import FaultResult

END_SECONDS = 60.0
"""Time limit for the clean-up of a process after SIGINT."""
ENDS_WELL = (0, 1)


@dataclass(frozen=True)
class Part:
    """One of several equal parts, counted from 0."""

    number: int = 0
    of: int = 1

    @classmethod
    def read(cls, text: str) -> "Part":
        """Parse `K/N`."""
        number, _, of = text.partition("/")
        return cls(int(number), int(of))

    def has(self, position: int) -> bool:
        """Return whether this part includes the module or fault at a position."""
        return position % self.of == self.number

    def exercise(self, folder: Path) -> Path:
        """Return the recording file of this part; that of the first part finally has all tests."""
        return folder / (f"exercise-{self.number}.json" if self.number else "exercise.json")

    def verdicts(self, folder: Path) -> Path:
        """Return the result file of this part; that of the first part finally has all results."""
        return folder / (f"verdicts-{self.number}.jsonl" if self.number else "verdicts.jsonl")


def read_results(file: Path) -> dict[str, FaultResult]:
    """Return the results of faults by id; empty without a file."""
    results = (from_plain(FaultResult, json.loads(row)) for row in _rows(file))
    return {result.fault: result for result in results}


def _rows(file: Path) -> list[str]:
    """Return the complete lines of a file; the last line may be incomplete."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return []
    return text[: text.rfind("\n") + 1].splitlines()


class OtherParts:
    """The processes of all parts except the first.

    Args:
        parts: number of all parts; 1 for no others.
        folder: folder of their files.
        only: additional options.
    """

    def __init__(self, parts: int, folder: Path, *only: str) -> None:
        self._only = only
        self._parts = [Part(number, parts) for number in range(1, parts)]
        self._folder = folder
        self._processes: dict[Part, subprocess.Popen[bytes]] = {}
        self._taken: dict[Part, int] = dict.fromkeys(self._parts, 0)

    def start(self) -> None:
        """Start them with the arguments of this process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for part in self._parts:
            part.verdicts(self._folder).unlink(missing_ok=True)
            with self._log(part).open("wb") as log:
                self._processes[part] = subprocess.Popen(
                    [*sys.orig_argv, *self._only, f"--cri-sweep-part={part.number}/{part.of}"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )

    def _log(self, part: Part) -> Path:
        return self._folder / f"part-{part.number}.log"

    def found(self) -> Iterator[FaultResult]:
        """Yield their results since the previous call."""
        for part in self._parts:
            rows = _rows(part.verdicts(self._folder))
            for row in rows[self._taken[part] :]:
                yield from_plain(FaultResult, json.loads(row))
            self._taken[part] = len(rows)

    def at_work(self, seconds: float = 0.0) -> bool:
        """Return whether one of them is still running.

        Args:
            seconds: how long to wait for the exit of one.
        """
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
                continue
            return True
        return False

    def problems(self) -> list[str]:
        """Return a sentence for each process with an unexpected exit code."""
        return [
            f"part {part.number} ended with {process.returncode}: {self._log(part)}"
            for part, process in self._processes.items()
            if process.poll() is not None and process.returncode not in ENDS_WELL
        ]

    def end(self) -> None:
        """Stop the running ones, and wait for their clean-up."""
        running = [process for process in self._processes.values() if process.poll() is None]
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
