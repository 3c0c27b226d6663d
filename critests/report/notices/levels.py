"""What a benchmark run changed: series whose level is proven to be another one, and was not before this run.

A notice of it is a JSON document of the same schema as that of a validation run; its changes stand in
`levels`.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from critests.record.samples import LOWER
from critests.report.notices.changed import SCHEMA, SCHEMA_VERSION, Changed, run_as_json
from critests.report.store import Index, RunEntry, Series
from critests.report.store.levels import JUDGED_RUNS, SHORTEST, levels
from critests.report.wording.quantities import quantity
from critests.report.wording.texts import one_line
from critests.statistics import ChangePoint

LEVELS_LIMIT: Final = 50
"""Series that a notice names; it counts all of them."""


class Moved(StrEnum):
    """How a level changed."""

    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"
    """Neither more nor less of it is better."""


@dataclass(frozen=True)
class LevelChange:
    """One series on another level.

    Attributes:
        series: What was measured.
        state: For better or worse.
        since: The first run of the new level.
        before: Median of the old level, in the series' unit.
        now: Median of the new one.
    """

    series: Series
    state: Moved
    since: RunEntry
    before: float
    now: float

    @property
    def name(self) -> str:
        """`B-11 pod cycle, containers 10`."""
        held = [f"{name} {value}" for name, value in sorted(self.series.dimensions.items())]
        return one_line(", ".join([f"{self.series.scenario} {self.series.operation}", *held]))

    @property
    def sentence(self) -> str:
        """What changed, by how much and since when."""
        unit = self.series.unit
        size = f", {(self.now / self.before - 1) * 100:+.0f} %" if self.before else ""
        return (
            f"{self.name} {self.state.value} ({quantity(self.before, unit)}, now"
            f" {quantity(self.now, unit)}{size}) since {one_line(self.since.path)}"
        )


@dataclass(frozen=True)
class LevelNotice:
    """What is proven since a benchmark run.

    Attributes:
        run: The run.
        baseline: The benchmark run of the same version before it, or None.
        changes: The series on another level, those that became worse first.
    """

    run: RunEntry
    baseline: RunEntry | None
    changes: list[LevelChange]

    @property
    def worth_sending(self) -> bool:
        """Whether anything changed."""
        return bool(self.changes)

    @property
    def summary(self) -> str:
        """One sentence."""
        counted = Counter(change.state for change in self.changes)
        what = ", ".join(f"{counted[state]} {state.value}" for state in Moved if counted[state])
        return one_line(f"{self.run.runtime} {self.run.version}, benchmark: {what or 'no level changed'}")


def level_notice_of(index: Index, run: RunEntry) -> LevelNotice:
    """Look for levels that are proven to have changed, with this run and not without it.

    Looked at are the newest runs of the same version: another version has another history. A change is told
    once, when its level has more than five runs and so a beginning that is known.
    """
    runs = [
        entry
        for entry in index.runs(runtime=run.runtime, kind=run.kind)
        if entry.version == run.version and (entry.started, entry.path) <= (run.started, run.path)
    ][:JUDGED_RUNS]
    points = index.points([entry.number for entry in runs])
    known = index.series()
    found = []
    for number, measured in points.items():
        if run.number not in measured:
            continue
        members = [entry for entry in reversed(runs) if entry.number in measured]
        change = _news(known[number], members, [measured[entry.number].median for entry in members])
        if change is not None:
            found.append(change)
    found.sort(key=lambda change: (list(Moved).index(change.state), not change.series.headline, change.name))
    return LevelNotice(run, runs[1] if len(runs) > 1 else None, found)


def level_notice_to_json(notice: LevelNotice) -> dict[str, Any]:
    """Return the document that is sent; `text` makes it readable for chat services that show only that."""
    counted = Counter(change.state.value for change in notice.changes)
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "text": "\n".join([notice.summary, *(change.sentence for change in notice.changes[:10])]),
        "runtime": one_line(notice.run.runtime),
        "version": one_line(notice.run.version),
        "run": run_as_json(notice.run),
        "baseline": run_as_json(notice.baseline) if notice.baseline else None,
        "counts": {state.value: 0 for state in Changed}
        | {state.value: counted[state.value] for state in Moved},
        "changes": [],
        "levels": [
            {
                "scenario": one_line(change.series.scenario, 100),
                "operation": one_line(change.series.operation, 100),
                "dimensions": {
                    one_line(name, 100): one_line(value, 100)
                    for name, value in sorted(change.series.dimensions.items())
                },
                "unit": change.series.unit,
                "state": change.state.value,
                "before": change.before,
                "now": change.now,
                "since": run_as_json(change.since),
            }
            for change in notice.changes[:LEVELS_LIMIT]
        ],
        "left_out": max(len(notice.changes) - LEVELS_LIMIT, 0),
    }


def _settled(medians: list[float]) -> list[ChangePoint]:
    """Return the changes of level of which it is known where they lie: a level has at least five runs, and so
    one that is younger is found too early.
    """
    return [each for each in levels(medians) if each.index < len(medians) - SHORTEST]


def _news(series: Series, runs: list[RunEntry], medians: list[float]) -> LevelChange | None:
    """Return the newest change of level where the last run is what proves it.

    Args:
        series: What was measured.
        runs: The oldest first, as the medians.
        medians: Of each run.
    """
    found = _settled(medians)
    if not found:
        return None
    newest = found[-1]
    if any(abs(each.index - newest.index) < SHORTEST for each in _settled(medians[:-1])):
        return None
    state = Moved.CHANGED
    if series.better:
        lower = newest.after < newest.before
        state = Moved.BETTER if lower == (series.better == LOWER) else Moved.WORSE
    return LevelChange(series, state, runs[newest.index], newest.before, newest.after)
