"""The recording of the suite without any fault: what is not known yet of the tests is found out by running
them once.
"""

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
"""Tests after which what is known by then is written."""
WORTH_OTHERS = 60
"""Of fewer tests the others would only begin when this process is done with all of them."""
RECORD_ONLY = "--cri-sweep-record-only"
WAIT_SECONDS = 0.05

Say = Callable[[str], None]
"""Is told of the progress."""


class Recording:
    """What the tests do on one runtime.

    Args:
        items: the tests, by name.
        trials: runs them.
        context: the run.
        folder: where the file is.
        part: which of them are this process's.
        say: hears of the progress.
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
        # the tests of a module share what they set up
        self._ours = {path for position, path in enumerate(modules) if part.has(position)}
        self._known = Exercise.load(Part().exercise(folder), runtime_of(context))

    def record(self) -> Exercise:
        """Return what the tests do: what a file tells of those that are still the same, and for the others
        what they do when they are run. The first process has the others record their part, and records itself
        what they have not.

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
        """Return what is known of these tests alone: the file may tell of others."""
        known = self._known
        tests = {name: known.tests[name] for name in self._items if name in known.tests}
        return Exercise(known.runtime, tests, known.absent)

    def _new(self, modules: Container[Path]) -> list[pytest.Function]:
        """Return the tests of some modules of which nothing is known, or whose module has changed since."""
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
        """Keep what the others have recorded by now, of modules that are still the same."""
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
    """Return how long it takes yet, in words that go behind others; empty where that is not known.

    Args:
        begun: when, by `time.monotonic`.
        done: how many have been done since.
        of: how many there were to do.
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
