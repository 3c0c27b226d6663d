"""The rows of the index: runs, series, and points, which are a run's measurements of a series."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Final

from critests.record.operations import OperationResult
from critests.record.scope import COMPLETE
from critests.report.facts.operation_names import quantiles
from critests.report.store.letters import JUDGED

LIVE_SIDES: Final = frozenset({"", "a"})
"""Sides of a benchmark that measured the runtime of the record."""
MEDIAN: Final = "0.5"


@dataclass(frozen=True, kw_only=True)
class RunEntry:
    """A run.

    Attributes:
        number: Its key in the index.
        path: Its folder relative to the root of the results.
        kind: `validation` or `benchmark`.
        run_id: Its id.
        runtime: Name of the runtime.
        version: Version of the runtime.
        started: Seconds since the epoch.
        finished: Seconds since the epoch.
        exit_code: Exit code of the command.
        exit_reason: Reason of the exit code.
        verdict: The verdict in a few words, `2 MUSTs broken`; empty for a benchmark.
        tone: Outcome with whose colour it is shown; empty for a benchmark.
        interrupted: It was interrupted.
        partial: Scope of the run if it is not the whole suite, else empty.
        letters: A letter per requirement of the index; shorter if the last ones were not tested.
        reasons: Requirement to why it did not pass.
        forms: Aspect to the observed behaviour where the API leaves a choice.
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
    exit_code: int = 0
    exit_reason: str = ""
    verdict: str = ""
    tone: str = ""
    interrupted: bool = False
    partial: str = ""
    letters: str = ""
    reasons: dict[str, str] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    report: bool = False
    parts: dict[str, str] = field(default_factory=dict)

    @property
    def judged_nothing(self) -> bool:
        """Whether it ended before it judged any requirement, and not because it was interrupted."""
        return (
            not self.interrupted and self.exit_code not in COMPLETE and not JUDGED.intersection(self.letters)
        )

    @property
    def whole(self) -> bool:
        """Whether it judged the whole suite, and so represents the runtime."""
        return not self.partial and not self.interrupted and self.exit_code in COMPLETE


RUN_COLUMNS: Final = tuple(each.name for each in dataclasses.fields(RunEntry))


@dataclass(frozen=True, kw_only=True)
class SeriesSummary:
    """An operation under one set of dimensions.

    Attributes:
        number: Its key in the index.
        scenario: Id of its scenario.
        operation: What was timed.
        dimensions: Fixed dimensions.
        unit: `s`, `1/s`, `B`, `B/s` or `1`.
        better: `lower`, `higher` or empty.
        headline: Whether it is the main operation of its scenario.
    """

    number: int
    scenario: str
    operation: str
    dimensions: dict[str, str]
    unit: str
    better: str
    headline: bool


SERIES_COLUMNS: Final = tuple(each.name for each in dataclasses.fields(SeriesSummary))


@dataclass(frozen=True)
class Point:
    """A run's measurements of a series, in the series' unit.

    Attributes:
        run: Key of the run.
        count: Number of samples.
        median: The median, with its 95 % interval if there is one.
        low: Lower end, or None.
        high: Upper end, or None.
        tail_at: The highest quantile that the samples support, or None.
        tail: Its value, or None.
    """

    run: int
    count: int
    median: float
    low: float | None = None
    high: float | None = None
    tail_at: float | None = None
    tail: float | None = None


POINT_COLUMNS: Final = tuple(each.name for each in dataclasses.fields(Point))


def stored(value: object) -> str | int | float | None:
    """Return a value for a column: dictionaries as JSON, and undecodable bytes as question marks, as SQLite
    stores only UTF-8.
    """
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    assert value is None or isinstance(value, int | float)
    return value


def run_entry(row: tuple[Any, ...]) -> RunEntry:
    """Build a run from its row."""
    values = dict(zip(RUN_COLUMNS, row, strict=True))
    nested = {name: json.loads(values[name]) for name in ("reasons", "forms", "parts")}
    flags = {name: bool(values[name]) for name in ("interrupted", "report")}
    return RunEntry(**values | nested | flags)


def series_of(row: tuple[Any, ...]) -> SeriesSummary:
    """Build a series from its row."""
    values = dict(zip(SERIES_COLUMNS, row, strict=True))
    dimensions = json.loads(values["dimensions"])
    return SeriesSummary(**values | {"dimensions": dimensions, "headline": bool(values["headline"])})


def point_of(run: int, operation: OperationResult) -> Point | None:
    """Return the point of a measured operation; None without a median, or for side B of a comparison."""
    middle = operation.quantiles.get(MEDIAN)
    if middle is None or operation.side not in LIVE_SIDES:
        return None
    tails = [(at, estimate.value) for at, estimate in quantiles(operation) if float(MEDIAN) < at < 1]
    at, tail = tails[-1] if tails else (None, None)
    return Point(run, operation.count, middle.value, middle.low, middle.high, at, tail)
