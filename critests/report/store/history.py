"""The history of verdicts of a runtime and version: columns of runs and weeks, and what each requirement's
history says.

A history is a text with a letter for each run, the newest first (see `critests.report.store.letters`).
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
"""Runs that have a column of their own, and in which changes are counted."""
WEEKS: Final = 52
"""Weeks before them that have a column."""
VERSION_LENGTH: Final = 20
"""Characters of a version in the label of a column."""
FLAKY_CHANGES: Final = 2
"""From so many changes among the recent runs on, a requirement is flaky: it came back at least once."""
BAND: Final = re.compile(r"(.)\1*", re.DOTALL)


@dataclass(frozen=True)
class Column:
    """A column of a grid.

    Attributes:
        first: The newest run of the column, as a place in the list of runs.
        last: The place after its oldest run.
        label: Time of the run, or the week.
        week: Whether it stands for all runs of a week.
    """

    first: int
    last: int
    label: str
    week: bool


@dataclass(frozen=True, slots=True)
class State:
    """What a history says.

    Attributes:
        letter: The newest verdict, `.` where there is none.
        at: Place of the run that gave it.
        since: Place of the oldest run of the present spell; for a deviation the first bad run.
        runs: Number of runs of the spell that tested it.
        before: The verdict before that, or empty.
        changes: How often the verdict on the runtime changed among the recent runs.
    """

    letter: str
    at: int = 0
    since: int = 0
    runs: int = 0
    before: str = ""
    changes: int = 0

    @property
    def flaky(self) -> bool:
        """Whether it changed and changed back without a change of the runtime's version."""
        return self.changes >= FLAKY_CHANGES

    @property
    def deviating(self) -> bool:
        """Whether the runtime does not keep the promise now."""
        return self.letter in DEVIATING

    @property
    def changed(self) -> bool:
        """Whether the verdict on the runtime changed lately."""
        return self.changes > 0


def columns(runs: Sequence[RunEntry], *, with_version: bool = False) -> list[Column]:
    """Give the newest runs a column each, and at most `WEEKS` weeks before them.

    Args:
        runs: The newest first.
        with_version: Name the version in the label of a run.
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
    """Turn the verdicts of runs into histories of requirements.

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


def shown(history: str, wanted: Sequence[Column]) -> str:
    """Return the letter of each column: of its run, or the worst of its week."""
    recent = sum(not column.week for column in wanted)
    weeks = wanted[recent:]
    older = history[weeks[0].first : weeks[-1].last] if weeks else ""
    if older and older == older[0] * len(older):
        return history[:recent] + older[0] * len(weeks)
    return history[:recent] + "".join(worst_letter(history[column.first : column.last]) for column in weeks)


def bands(letters: str) -> Iterator[tuple[str, int, int]]:
    """Return the spells of equal letters: letter, first place, and the place after the last."""
    for match in BAND.finditer(letters):
        yield match[1], match.start(), match.end()


def state(history: str, versions: Sequence[str] = ()) -> State:
    """Say what a history says.

    Args:
        history: Its letters.
        versions: The version of each run, where they differ: a change with the version is no flake.
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
    spell = list(itertools.takewhile(lambda item: _kind(item[1]) == _kind(letter), tested))
    before = tested[len(spell)][1] if len(spell) < len(tested) else ""
    return State(letter, at, spell[-1][0], len(spell), before, changes(history[:RECENT], versions))


def changes(history: str, versions: Sequence[str] = ()) -> int:
    """Count how often the verdict on the runtime changed while its version did not; runs without a verdict
    are passed over.
    """
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
    """Whatever deviates is one spell: a failure that was then listed as known is not newer than the
    failure.
    """
    return "deviating" if letter in DEVIATING else letter
