"""Incidents: requirements that broke in the same run, until all of them pass again.

A history is a text with a letter per run, the newest first (see `critests.report.store.letters`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from critests.report.store.history import RECENT
from critests.report.store.letters import BROKEN, JUDGED

FLAKY_SPELLS: Final = 3
"""Spells of failures that make a requirement flaky: one is a failure, two can be one cause that came back."""
FLAKY_RUNS: Final = 10
"""Newest runs in which they are counted."""
TOGETHER: Final = 3
"""So many requirements that break in one run have one cause, and none of them is flaky because of it."""


@dataclass(frozen=True)
class Spell:
    """Consecutive runs in which a requirement was broken; runs that could not judge it do not count.

    Attributes:
        first: Index of the oldest of them.
        last: Index of the newest.
        good: Index of the newest run before them that passed the requirement.
        over: Index of the oldest run after them that passed it; None while it is broken.
    """

    first: int
    last: int
    good: int
    over: int | None


@dataclass(frozen=True)
class Incident:
    """Requirements that broke in the same run.

    Attributes:
        places: The requirements, as indices of the letters of a run, in ascending order.
        first: Index of the run in which they broke.
        last: Index of the newest run in which one of them was broken.
        good: Index of the newest run before `first` that passed one of them.
        over: Index of the run since which all pass again; None while one is broken.
        earlier: Index of the newest run of an earlier incident in which at least half of these
            requirements were broken; None if there is none.
    """

    places: tuple[int, ...]
    first: int
    last: int
    good: int
    over: int | None
    earlier: int | None = None


def spells(history: str) -> Iterator[Spell]:
    """Yield the spells of a requirement that began after a run that passed it, the oldest first."""
    good = first = last = None
    for place in range(len(history) - 1, -1, -1):
        letter = history[place]
        if letter not in JUDGED:
            continue
        if letter in BROKEN:
            first, last = place if first is None else first, place
            continue
        if first is not None and last is not None and good is not None:
            yield Spell(first, last, good, place)
        good, first = place, None
    if first is not None and last is not None and good is not None:
        yield Spell(first, last, good, None)


def spells_of(histories: Sequence[str]) -> list[list[Spell]]:
    """Return the spells of each requirement, from its history."""
    return [[] if BROKEN.isdisjoint(history) else list(spells(history)) for history in histories]


def incidents(broken: Sequence[Sequence[Spell]], runs: int = RECENT) -> list[Incident]:
    """Return the incidents of a runtime, the newest first.

    Args:
        broken: The spells of each requirement.
        runs: Number of newest runs in which incidents begin.
    """
    found: dict[int, list[tuple[int, Spell]]] = {}
    for place, own in enumerate(broken):
        for spell in own:
            if spell.first < runs:
                found.setdefault(spell.first, []).append((place, spell))
    listed: list[Incident] = []
    for first in sorted(found, reverse=True):
        members = found[first]
        ends = [spell.over for _, spell in members]
        places = tuple(place for place, _ in members)
        listed.append(
            Incident(
                places=places,
                first=first,
                last=min(spell.last for _, spell in members),
                good=min(spell.good for _, spell in members),
                over=None if None in ends else min(end for end in ends if end is not None),
                earlier=_earlier(places, listed),
            )
        )
    return listed[::-1]


def _earlier(places: tuple[int, ...], before: Sequence[Incident]) -> int | None:
    for incident in reversed(before):
        if 2 * len(set(places).intersection(incident.places)) >= len(places):
            return incident.last
    return None


def flaky(broken: Sequence[Sequence[Spell]], known: Sequence[Incident]) -> frozenset[int]:
    """Return the requirements that break again and again without a cause that others share.

    Args:
        broken: The spells of each requirement.
        known: The incidents of the same runs.
    """
    shared = {
        (place, incident.first)
        for incident in known
        if len(incident.places) >= TOGETHER
        for place in incident.places
    }
    return frozenset(
        place
        for place, own in enumerate(broken)
        if sum(spell.first < FLAKY_RUNS and (place, spell.first) not in shared for spell in own)
        >= FLAKY_SPELLS
    )
