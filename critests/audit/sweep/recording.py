"""The recording of the suite without any fault: what is not known yet of the tests is found out by running
them once.
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from critests.audit.sweep.exercise import Exercise, Exercised
from critests.audit.sweep.offered import absent
from critests.audit.sweep.trial import Trials
from critests.client.recording import READING
from critests.run.context import RunContext
from critests.run.items import judged_by

FILE = "exercise.json"
SAVED_EVERY = 25
"""Tests after which what is known by then is written."""

Say = Callable[[int, int], None]
"""Is told how many of how many tests are recorded."""


def record(
    items: Mapping[str, pytest.Function], trials: Trials, context: RunContext, folder: Path, say: Say
) -> Exercise:
    """Return what the tests do on this runtime: what a file tells of those that are still the same, and for
    the others what they do when they are run.

    Args:
        items: the tests, by name.
        trials: runs them.
        context: the run.
        folder: where the file is.
        say: hears of the progress.

    Raises:
        RecordError: the file cannot be written.
    """
    runtime = runtime_of(context)
    exercise = Exercise.load(folder / FILE, runtime)
    sources = {path: _digest(path) for path in {item.path for item in items.values()}}
    new = [
        item
        for name, item in items.items()
        if name not in exercise.tests or exercise.tests[name].source != sources[item.path]
    ]
    for number, item in enumerate(new):
        if number % SAVED_EVERY == 0:
            say(number, len(new))
            exercise.save(folder / FILE)
        ended = trials.run(item, (), context)
        exercise.add(
            Exercised(
                item.name,
                ended.outcome,
                ended.seconds,
                ended.places,
                judged_by(item).name,
                sources[item.path],
            )
        )
    exercise.absent = _absent(exercise, context)
    exercise.save(folder / FILE)
    chosen = {name: exercise.tests[name] for name in items}
    return Exercise(runtime, chosen, exercise.absent)


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
