"""What the index holds: runs, series, and what a run measured of a series."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from critests.record.operations import OperationResult
from critests.record.scope import COMPLETE

LIVE_SIDES: Final = frozenset({"", "a"})
"""Sides of a benchmark whose numbers are about the runtime of the record."""
MEDIAN: Final = "0.5"
RUN_COLUMNS: Final = (
    "number, path, kind, run_id, runtime, version, started, finished, suite_version, catalogue_revision,"
    " exit_code, exit_reason, interrupted, partial, letters, areas, reasons, facts, report"
)


@dataclass(frozen=True, kw_only=True)
class RunEntry:
    """What the index knows of a run.

    Attributes:
        number: Its key in the index.
        path: Its folder relative to the root of the results.
        kind: `validation` or `benchmark`.
        run_id: Its id.
        runtime: Name of the runtime.
        version: Version of the runtime.
        started: Seconds since the epoch.
        finished: Seconds since the epoch.
        suite_version: Version of critests.
        catalogue_revision: Revision of the catalogue.
        exit_code: Of the command.
        exit_reason: Why.
        interrupted: It was stopped.
        partial: Why it is not a run of the whole suite; empty where it is.
        letters: A letter for each requirement of the index; shorter where the last ones were not tested.
        areas: Area to outcome to the number of tests.
        reasons: Requirement to why it is not passed.
        facts: Key of `Index.facts`: what was found of capabilities and of divergences.
        report: Whether it has a `report.html`.
    """

    number: int
    path: str
    kind: str
    run_id: str
    runtime: str
    version: str
    started: float
    finished: float
    suite_version: str = ""
    catalogue_revision: str = ""
    exit_code: int = 0
    exit_reason: str = ""
    interrupted: bool = False
    partial: str = ""
    letters: str = ""
    areas: dict[str, dict[str, int]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    facts: int = 0
    report: bool = False

    @property
    def whole(self) -> bool:
        """Whether it judged the whole suite, and so says how the runtime stands."""
        return not self.partial and not self.interrupted and self.exit_code in COMPLETE


@dataclass(frozen=True, kw_only=True)
class Series:
    """An operation under one set of dimensions.

    Attributes:
        number: Its key in the index.
        scenario: Id of its scenario.
        operation: What was timed.
        dimensions: What was held fixed.
        unit: `s`, `1/s`, `B`, `B/s` or `1`.
        better: `lower`, `higher` or empty.
        headline: Whether its scenario is about it.
    """

    number: int
    scenario: str
    operation: str
    dimensions: dict[str, str]
    unit: str
    better: str
    headline: bool


@dataclass(frozen=True)
class Point:
    """What one run measured of a series, in the series' unit.

    Attributes:
        run: Key of the run.
        count: Number of samples.
        median: The median, with its 95 % interval where there is one.
        low: Lower end, or None.
        high: Upper end, or None.
        tail_at: The highest quantile that the samples support, or None.
        tail: Its value, or None.
        tail_low: Lower end, or None.
        tail_high: Upper end, or None.
    """

    run: int
    count: int
    median: float
    low: float | None = None
    high: float | None = None
    tail_at: float | None = None
    tail: float | None = None
    tail_low: float | None = None
    tail_high: float | None = None


@dataclass(frozen=True)
class Update:
    """What bringing the index up to date found.

    Attributes:
        added: Folders of runs that are new.
        changed: Folders of runs whose record was written again.
        removed: Folders of runs that are gone.
        damaged: Folder to what is wrong with its record, for all that cannot be read.
    """

    added: list[str]
    changed: list[str]
    removed: list[str]
    damaged: dict[str, str]


def run_values(entry: RunEntry) -> tuple[str | int | float, ...]:
    """Return the values of all columns but the number. Undecodable bytes become question marks: SQLite keeps
    UTF-8 only.
    """
    areas, reasons = json.dumps(entry.areas), json.dumps(entry.reasons)
    return (
        *(_utf8(text) for text in (entry.path, entry.kind, entry.run_id, entry.runtime, entry.version)),
        *(
            entry.started,
            entry.finished,
            _utf8(entry.suite_version),
            _utf8(entry.catalogue_revision),
            entry.exit_code,
        ),
        *(
            _utf8(entry.exit_reason),
            int(entry.interrupted),
            _utf8(entry.partial),
            entry.letters,
            areas,
            reasons,
            entry.facts,
            int(entry.report),
        ),
    )


def run_entry(row: tuple[Any, ...]) -> RunEntry:
    """Build a run from its row of `RUN_COLUMNS`."""
    names = RUN_COLUMNS.split(", ")
    values = dict(zip(names, row, strict=True))
    for name in ("areas", "reasons"):
        values[name] = json.loads(values[name])
    return RunEntry(
        **{**values, "interrupted": bool(values["interrupted"]), "report": bool(values["report"])}
    )


def point_of(run: int, operation: OperationResult) -> Point | None:
    """Return what the index keeps of a measured operation; None where it has no median, or is about the other
    side of a comparison.
    """
    middle = operation.quantiles.get(MEDIAN)
    if middle is None or operation.side not in LIVE_SIDES:
        return None
    tails = sorted((float(at), estimate) for at, estimate in operation.quantiles.items() if _is_tail(at))
    if not tails:
        return Point(run, operation.count, middle.value, middle.low, middle.high)
    at, tail = tails[-1]
    return Point(
        run, operation.count, middle.value, middle.low, middle.high, at, tail.value, tail.low, tail.high
    )


def _is_tail(at: str) -> bool:
    try:
        return float(MEDIAN) < float(at) < 1
    except ValueError:
        return False


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
