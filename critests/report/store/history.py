"""The history of verdicts of a runtime and version: columns of runs and weeks, and the state of each
requirement.

A history is a text with a letter per run, the newest first (see `critests.report.store.letters`).
"""

import datetime as dt
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from critests.report.store.entries import RunEntry
from critests.report.store.letters import DEVIATING, JUDGED, UNTESTED, worst_letter

RECENT: Final = 30
"""Number of newest runs that have their own column; changes are counted in them."""
WEEKS: Final = 52
"""Number of weeks before these runs that have a column."""
VERSION_LENGTH: Final = 20
"""Characters of a version in the label of a column."""
BAND: Final = re.compile(r"(.)\1*", re.DOTALL)


@dataclass(frozen=True)
class Column:
    """A column of a grid.

    Attributes:
        first: Index of its newest run in the list of runs.
        last: Index after its oldest run.
        label: Time of the run, or the week.
        week: Whether the column has all runs of a week.
    """

    first: int
    last: int
    label: str
    week: bool


@dataclass(frozen=True, slots=True)
class State:
    """The state of a requirement.

    Attributes:
        letter: The newest verdict, or `.`.
        at: Index of the run with that verdict.
        since: Index of the oldest run of the current streak; for a deviation the first bad run.
        runs: Number of runs of the streak that tested it.
        before: The verdict before the streak, or empty.
        changes: Number of changes of the verdict among the recent runs.
        flaky: Whether it breaks again and again by itself; see `critests.report.store.incidents`.
    """

    letter: str
    at: int = 0
    since: int = 0
    runs: int = 0
    before: str = ""
    changes: int = 0
    flaky: bool = False

    @property
    def deviating(self) -> bool:
        """Whether the newest verdict is a deviation."""
        return self.letter in DEVIATING

    @property
    def changed(self) -> bool:
        """Whether the verdict changed among the recent runs."""
        return self.changes > 0


def columns(runs: Sequence[RunEntry], *, with_version: bool = False) -> list[Column]:
    """Return a column for each of the newest runs, and for at most `WEEKS` weeks before them.

    Args:
        runs: The newest first.
        with_version: Include the version in the label of a run.
    """
    found = []
    for place, entry in enumerate(runs[:RECENT]):
        version = f" {entry.version[:VERSION_LENGTH]}" if with_version else ""
        found.append(Column(place, place + 1, stamp(entry.started) + version, week=False))
    older = itertools.groupby(enumerate(runs[RECENT:], start=RECENT), key=lambda item: _week(item[1].started))
    for label, members in itertools.islice(older, WEEKS):
        places = [place for place, _ in members]
        found.append(Column(places[0], places[-1] + 1, label, week=True))
    return found


def histories(runs: Sequence[RunEntry], count: int) -> list[str]:
    """Return the histories of requirements from the verdicts of runs.

    Args:
        runs: The newest first.
        count: Number of requirements.
    """
    if not runs:
        return [""] * count
    return [
        "".join(letters)
        for letters in zip(*(entry.letters.ljust(count, UNTESTED)[:count] for entry in runs), strict=True)
    ]


def shown(history: str, visible: Sequence[Column]) -> str:
    """Return the letter of each column: that of its run, or the worst of its week."""
    recent = sum(not column.week for column in visible)
    weeks = visible[recent:]
    older = history[weeks[0].first : weeks[-1].last] if weeks else ""
    if older and older == older[0] * len(older):
        return history[:recent] + older[0] * len(weeks)
    return history[:recent] + "".join(worst_letter(history[column.first : column.last]) for column in weeks)


def bands(letters: str) -> Iterator[tuple[str, int, int]]:
    """Yield the runs of equal letters: letter, first index, and index after the last."""
    for match in BAND.finditer(letters):
        yield match[1], match.start(), match.end()


def state(history: str, versions: Sequence[str] = ()) -> State:
    """Return the state of a requirement.

    Args:
        history: Its letters.
        versions: The version of each run, if they differ: a change together with the version does not count.
    """
    if not history:
        return State(UNTESTED)
    newest = history[0]
    if newest == UNTESTED and history.count(UNTESTED) == len(history):
        return State(UNTESTED)
    if history == newest * len(history):
        return State(newest, 0, len(history) - 1, len(history))
    tested = [(place, letter) for place, letter in enumerate(history) if letter != UNTESTED]
    at, letter = tested[0]
    if letter in DEVIATING:
        # a run that could not judge it does not end its deviation
        tested = [item for item in tested if item[1] in JUDGED]
    streak = list(itertools.takewhile(lambda item: _kind(item[1]) == _kind(letter), tested))
    before = tested[len(streak)][1] if len(streak) < len(tested) else ""
    return State(letter, at, streak[-1][0], len(streak), before, changes(history[:RECENT], versions))


def changes(history: str, versions: Sequence[str] = ()) -> int:
    """Count the changes of the verdict within one version; runs without a verdict are skipped."""
    judged = [
        (letter, versions[place] if versions else "")
        for place, letter in enumerate(history)
        if letter in JUDGED
    ]
    return sum(left[0] != right[0] and left[1] == right[1] for left, right in itertools.pairwise(judged))


@cache
def stamp(epoch_seconds: float) -> str:
    """Return the time of a run as a short label, in UTC: `2026-11-20 10:42`."""
    return _date(epoch_seconds).strftime("%Y-%m-%d %H:%M")


@cache
def _week(epoch_seconds: float) -> str:
    return _date(epoch_seconds).strftime("%G-W%V")


def _date(epoch_seconds: float) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(epoch_seconds, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return dt.datetime.fromtimestamp(0, dt.UTC)


def _kind(letter: str) -> str:
    """Return the kind of streak of a letter; all deviations are one kind, because a failure that becomes
    known is not new.
    """
    return "deviating" if letter in DEVIATING else letter
