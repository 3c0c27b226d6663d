"""The recording of the suite without faults: tests without a current recording run once."""

import hashlib
import time
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path

import pytest

from critests.client.call_recording import READING
from critests.run.context import RunContext
from critests.run.items import judged_by
from critests_proof.sweep.exercise import Exercise, Exercised
from critests_proof.sweep.offered import absent
from critests_proof.sweep.sweep_parts import OtherParts, Part
from critests_proof.sweep.trial import Trials

SAVED_EVERY = 25
"""Number of tests after which the recording is written."""
WORTH_OTHERS = 60
"""With fewer tests this process finishes before the others have started."""
RECORD_ONLY = "--cri-sweep-record-only"
WAIT_SECONDS = 0.05

Say = Callable[[str], None]
"""Receives progress messages."""


class Recording:
    """The recording of the tests on one runtime.

    Args:
        items: the tests, by name.
        trials: runs the tests.
        context: the run.
        folder: folder of the file.
        part: the part of this process.
        say: receives progress messages.
    """

    def __init__(
        self,
        items: Mapping[str, pytest.Function],
        trials: Trials,
        context: RunContext,
        folder: Path,
        part: Part,
        say: Say,
    ) -> None:
        self._items = items
        self._trials = trials
        self._context = context
        self._folder = folder
        self._part = part
        self._say = say
        modules = sorted({item.path for item in items.values()})
        self._sources = {path: _digest(path) for path in modules}
        # the tests of a module share fixtures
        self._ours = {path for position, path in enumerate(modules) if part.has(position)}
        self._known = Exercise.load(Part().exercise(folder), runtime_of(context))

    def record(self) -> Exercise:
        """Return the recording: from the file for unchanged tests, by running the others. The first process
        starts the other processes for their parts, and records what they have not.

        Raises:
            RecordError: the file cannot be written.
        """
        if self._part.number:
            self._run(self._new(self._ours))
            return self._chosen()
        helped = self._part.of > 1 and len(self._new(self._sources)) >= WORTH_OTHERS
        others = OtherParts(self._part.of if helped else 1, self._folder, RECORD_ONLY)
        others.start()
        try:
            self._run(self._new(self._ours if helped else self._sources))
            while others.at_work(WAIT_SECONDS):
                pass
        finally:
            others.end()
            self._take_over()
        for problem in others.problems():
            self._say(problem)
        self._run(self._new(self._sources))
        self._known.absent = _absent(self._known, self._context)
        self._known.save(self._part.exercise(self._folder))
        return self._chosen()

    def _chosen(self) -> Exercise:
        """Return the recording of the selected tests only."""
        known = self._known
        tests = {name: known.tests[name] for name in self._items if name in known.tests}
        return Exercise(known.runtime, tests, known.absent)

    def _new(self, modules: Container[Path]) -> list[pytest.Function]:
        """Return the tests of some modules without a recording, or whose module has changed."""
        known = self._known.tests
        return [
            item
            for name, item in self._items.items()
            if item.path in modules and (name not in known or known[name].source != self._sources[item.path])
        ]

    def _run(self, new: Sequence[pytest.Function]) -> None:
        begun = time.monotonic()
        for number, item in enumerate(new):
            if number % SAVED_EVERY == 0:
                self._say(f"recording {number} of {len(new)} tests{left(begun, number, len(new))}")
                self._known.save(self._part.exercise(self._folder))
            ended = self._trials.run(item, (), self._context)
            self._known.add(
                Exercised(
                    item.name,
                    ended.outcome,
                    ended.seconds,
                    ended.places,
                    judged_by(item).name,
                    self._sources[item.path],
                )
            )
        if new:
            self._known.save(self._part.exercise(self._folder))

    def _take_over(self) -> None:
        """Add what the other processes have recorded so far, for unchanged modules."""
        sources = {name: self._sources[item.path] for name, item in self._items.items()}
        for number in range(1, self._part.of):
            file = Part(number, self._part.of).exercise(self._folder)
            for test in Exercise.load(file, self._known.runtime).tests.values():
                if sources.get(test.test) == test.source:
                    self._known.add(test)
            if file.exists():
                self._known.save(self._part.exercise(self._folder))
                file.unlink()


def left(begun: float, done: int, of: int) -> str:
    """Return a text with the remaining time; empty if unknown.

    Args:
        begun: start on the clock of `time.monotonic`.
        done: number of items done.
        of: number of all items.
    """
    if not done:
        return ""
    seconds = (time.monotonic() - begun) / done * (of - done)
    return f", {int(seconds // 60)}:{int(seconds % 60):02d} left"


def runtime_of(context: RunContext) -> str:
    """Return the name and version of the runtime."""
    return f"{context.version.runtime_name} {context.version.runtime_version}"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def _absent(exercise: Exercise, context: RunContext) -> frozenset[str]:
    may = [
        name
        for name in exercise.never_answered()
        if not context.settings.read_only or READING.fullmatch(name)
    ]
    connection = context.connect()
    try:
        return absent(connection, may)
    finally:
        connection.close()
