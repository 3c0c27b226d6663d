"""Benchmark series over the runs of a runtime and version: points, changes of level, and their plot."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from critests import statistics
from critests.report.comparison.wording import amount, dimension_text
from critests.report.dashboard.lines import RuntimeLine
from critests.report.store import Index, Point, SeriesSummary
from critests.report.store.history import Column, columns, stamp

if TYPE_CHECKING:
    from critests.statistics.change_points import ChangePoint

SERIES_LIMIT: Final = 120
"""Series on one page; main operations of scenarios come first."""
FEW: Final = 8
"""Up to so many series, all plots are visible; else the scenarios are folded."""
WIDTH, HEIGHT, TOP, BOTTOM = 640, 132, 10, 14
JUDGED_RUNS: Final = 120
"""Newest runs in which changes of level are detected run by run."""
SHORTEST: Final = 5
"""Runs of the shortest level, so that one outlier is not a change."""
SEED: Final = 20_261_120


@dataclass(frozen=True)
class LevelChange:
    """A change of level.

    Attributes:
        when: The first run of the new level.
        before: The median of the old level, in words.
        after: The median of the new one.
        ratio: The change in percent of the old level, such as `+12 %`; empty if that is 0.
        tone: `failed` for worse, `passed` for better, else `untested`.
    """

    when: str
    before: str
    after: str
    ratio: str
    tone: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The plot of a series; coordinates are in pixels.

    Attributes:
        label: Description of the plot.
        points: x, and y of the median and of the ends of its interval, the oldest first.
        changes: x of the changes of level.
        seam: x between weeks and runs, or None.
        top: Value at the upper edge.
        bottom: Value at the lower edge.
        oldest: The first run or week; empty if there is only one.
        newest: The last one.
    """

    label: str
    points: list[tuple[float, float, float, float]]
    changes: list[float]
    seam: float | None
    top: str
    bottom: str
    oldest: str
    newest: str


@dataclass(frozen=True)
class History:
    """A series as the page shows it.

    Attributes:
        anchor: Its anchor on the page.
        scenario: Id of its scenario.
        title: Operation.
        dimensions: Fixed dimensions, in words.
        headline: Whether it is the main operation of its scenario.
        newest: The newest median, in words.
        interval: Its 95 % interval, in words, or empty.
        tail: The highest quantile that the samples support, in words, or empty.
        count: Number of samples of the newest run.
        runs: Number of runs with a value.
        when: Time of the newest run.
        changes: Changes of level, the newest first.
        picture: The plot.
        table: Time, median, interval and tail of the newest runs, in words.
    """

    anchor: str
    scenario: str
    title: str
    dimensions: str
    headline: bool
    newest: str
    interval: str
    tail: str
    count: int
    runs: int
    when: str
    changes: list[LevelChange]
    picture: Picture
    table: list[tuple[str, str, str, str]]


def series_of(index: Index, line: RuntimeLine) -> list[History]:
    """Return the series of a line by scenario, main operations first; at most `SERIES_LIMIT`."""
    runs = line.benchmarks
    points = index.points([entry.number for entry in runs])
    known = index.series()
    found = sorted((known[number] for number in points), key=lambda each: (not each.headline, _place(each)))[
        :SERIES_LIMIT
    ]
    found.sort(key=lambda each: (each.scenario, not each.headline, _place(each)))
    return [_history(line, each, points[each.number]) for each in found]


def newest_change(found: Sequence[History]) -> tuple[History, LevelChange] | None:
    """Return the newest change of level of all series, preferably that of a main operation, or None."""
    changes = [(change.when, each.headline, each, change) for each in found for change in each.changes]
    newest = max(changes, key=lambda item: item[:2], default=None)
    return (newest[2], newest[3]) if newest else None


def levels(medians: Sequence[float]) -> "list[ChangePoint]":
    """Return the changes of level among the medians of runs, both the oldest first."""
    return statistics.change_points.change_points(medians, seed=SEED, shortest=SHORTEST)


def _place(series: SeriesSummary) -> tuple[str, str, list[tuple[str, str]]]:
    return series.scenario, series.operation, sorted(series.dimensions.items())


def _history(line: RuntimeLine, series: SeriesSummary, points: dict[int, Point]) -> History:
    runs = [entry for entry in line.benchmarks if entry.number in points]
    values = [points[entry.number] for entry in runs]
    wanted = line.bench_columns if len(runs) == len(line.benchmarks) else columns(runs)
    newest = values[0]
    found = _changes(values, wanted)
    unit = series.unit
    return History(
        anchor=f"s{series.number}",
        scenario=series.scenario,
        title=series.operation,
        dimensions=dimension_text(series.dimensions),
        headline=series.headline,
        newest=amount(newest.median, unit),
        interval=_interval(newest.low, newest.high, unit),
        tail=_tail(newest, unit),
        count=newest.count,
        runs=len(runs),
        when=stamp(runs[0].started),
        changes=[_change(each, stamp(runs[place].started), series) for place, each in sorted(found.items())],
        picture=picture(series, [_of_column(column, values) for column in wanted], wanted, sorted(found)),
        table=[
            (
                stamp(entry.started),
                amount(point.median, unit),
                _interval(point.low, point.high, unit),
                _tail(point, unit),
            )
            for entry, point in itertools.islice(zip(runs, values, strict=True), 10)
        ],
    )


def _changes(values: Sequence[Point], wanted: Sequence[Column]) -> "dict[int, ChangePoint]":
    """Return the changes of level by the index of their first run: run by run among the newest runs, week by
    week before them.
    """
    nights = [point.median for point in values[:JUDGED_RUNS]][::-1]
    found = {len(nights) - 1 - each.index: each for each in levels(nights)}
    weeks = [column for column in wanted if column.week][::-1]
    medians = [_of_column(column, values)[0] for column in weeks]
    older = {weeks[each.index].last - 1: each for each in levels(medians)}
    return found | {place: each for place, each in older.items() if place >= JUDGED_RUNS}


def _change(change: "ChangePoint", when: str, series: SeriesSummary) -> LevelChange:
    worse = (change.after > change.before) == (series.better == "lower")
    tone = "untested" if not series.better else "failed" if worse else "passed"
    ratio = f"{(change.ratio - 1) * 100:+.1f} %" if change.ratio else ""
    return LevelChange(
        when, amount(change.before, series.unit), amount(change.after, series.unit), ratio, tone
    )


def _of_column(column: Column, values: Sequence[Point]) -> tuple[float, float, float]:
    """Return median, low and high of a column; for a week the medians of its runs."""
    members = values[column.first : column.last]
    middle = median(point.median for point in members)
    low = median(point.median if point.low is None else point.low for point in members)
    high = median(point.median if point.high is None else point.high for point in members)
    return middle, min(low, middle), max(high, middle)


def picture(
    series: SeriesSummary,
    newest_first: Sequence[tuple[float, float, float]],
    wanted: Sequence[Column],
    places: Sequence[int],
) -> Picture:
    """Return the plot of medians with their intervals and changes of level, the oldest on the left."""
    values, shown = list(newest_first)[::-1], list(wanted)[::-1]
    least, most = min(low for _, low, _ in values), max(high for _, _, high in values)
    margin = (most - least) * 0.08 or abs(most) * 0.1 or 1.0
    least, most = least - margin, most + margin
    left, step = (WIDTH / 2, 0.0) if len(values) == 1 else (0.0, WIDTH / (len(values) - 1))

    def y(value: float) -> float:
        return TOP + (most - value) / (most - least) * (HEIGHT - TOP - BOTTOM)

    weeks = sum(column.week for column in shown)
    changed = [
        at for at, column in enumerate(shown) if any(column.first <= run < column.last for run in places)
    ]
    first, last = amount(values[0][0], series.unit), amount(values[-1][0], series.unit)
    return Picture(
        label=f"{series.operation} {dimension_text(series.dimensions)}: median from {first}"
        f" ({shown[0].label}) to {last} ({shown[-1].label})",
        points=[
            (left + at * step, y(median), y(low), y(high)) for at, (median, low, high) in enumerate(values)
        ],
        changes=[left + at * step for at in changed],
        seam=left + weeks * step if 0 < weeks < len(shown) else None,
        top=amount(most, series.unit),
        bottom=amount(least, series.unit),
        oldest=shown[0].label if len(shown) > 1 else "",
        newest=shown[-1].label,
    )


def _interval(low: float | None, high: float | None, unit: str) -> str:
    return f"{amount(low, unit)} to {amount(high, unit)}" if low is not None and high is not None else ""


def _tail(point: Point, unit: str) -> str:
    return f"p{point.tail_at * 100:g} {amount(point.tail, unit)}" if point.tail_at is not None else ""
