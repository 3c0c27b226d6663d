"""The choice of plots for the samples of a run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias, TypeVar

from critests.record.samples import Series
from critests.record.summaries import summarised
from critests.record.units import BYTES, COUNT, SECONDS
from critests.report.facts.operation_growth import CONCURRENCY, counted
from critests.report.facts.operation_names import label
from critests.report.plots.drawing import COLOURS
from critests.report.plots.ecdf_plot import Sample, distribution
from critests.report.plots.phase_bars import phase_split
from critests.report.plots.scaling_plot import ScalingPoint, against_number
from critests.report.plots.throughput import throughput
from critests.report.plots.timeline import timeline

PHASE: Final = "phase"
RATES: Final = frozenset({"1/s", "B/s"})
AGAINST: Final = {SECONDS: "Latency", BYTES: "Bytes", COUNT: "Count"}
"""Units of values that are drawn against a number of objects, and the titles of such plots."""
UNLIKE: Final = 10.0
"""Curves whose heights differ by more than this factor do not share a plot: the lower one would lie on the
axis.
"""
T = TypeVar("T")
Curve: TypeAlias = tuple[str, list[ScalingPoint]]
"""A name, and its points."""
ENOUGH: Final = 8
"""Fewest samples for a plot of a distribution or a time series."""


@dataclass(frozen=True)
class RunPlot:
    """A plot of a run.

    Attributes:
        scenario: Id of the scenario that it shows.
        kind: `distribution`, `number`, `throughput`, `timeline` or `phases`.
        title: What it shows.
        svg: The plot.
    """

    scenario: str
    kind: str
    title: str
    svg: str


def figures(series: Iterable[Series], sides: dict[str, str] | None = None) -> list[RunPlot]:
    """Return the plots of a run by scenario: phases, curves against a number, throughput, distributions, time
    series.

    Args:
        series: The samples of the run.
        sides: `a` and `b` to the names of the sides; the letters by default.
    """
    names = sides or {}
    scenarios: dict[str, list[Series]] = {}
    for each in series:
        if each.value:
            scenarios.setdefault(each.scenario, []).append(each)
    found: list[RunPlot] = []
    for scenario in sorted(scenarios):
        members = scenarios[scenario]
        timed = [each for each in members if each.unit == SECONDS and PHASE not in each.dimensions]
        found += _phases(scenario, [each for each in members if PHASE in each.dimensions], names)
        covered: set[int] = set()
        for unit, what in AGAINST.items():
            same = timed if unit == SECONDS else [each for each in members if each.unit == unit]
            curves, drawn = _against(scenario, same, names, what, unit)
            found += curves
            covered |= drawn
        found += _throughput(scenario, [each for each in members if each.unit in RATES], names)
        # no distributions of series that a curve already shows
        found += _distributions(scenario, [each for each in timed if id(each) not in covered], names)
        found += _timelines(scenario, [each for each in timed if id(each) not in covered], names)
    return [figure for figure in found if figure.svg]


def _phases(scenario: str, members: Sequence[Series], names: dict[str, str]) -> list[RunPlot]:
    bars: dict[str, dict[str, dict[str, float]]] = {}
    for each in members:
        steady = each.steady()
        if steady:
            rest = {name: value for name, value in each.dimensions.items() if name != PHASE}
            bar = _named(label(each.operation, rest), each.side, names)
            bars.setdefault(each.operation, {}).setdefault(bar, {})[each.dimensions[PHASE]] = median(steady)
    return [
        RunPlot(scenario, "phases", title, phase_split(list(found.items()), title=f"{scenario}: {title}"))
        for operation, found in bars.items()
        for title in [f"Phases of {operation}"]
    ]


def _against(
    scenario: str, members: Sequence[Series], names: dict[str, str], what: str, unit: str
) -> tuple[list[RunPlot], set[int]]:
    """Draw series of one unit against the numbers in their dimensions.

    Args:
        scenario: Id of the scenario.
        members: Its series of that unit.
        names: Sides to their names.
        what: Name of the values, for the titles.
        unit: Unit of the values.

    Returns:
        The plots, and the ids of the series that they show.
    """
    found: list[RunPlot] = []
    covered: set[int] = set()
    for dimension in dict.fromkeys(name for each in members for name in each.dimensions):
        curves: dict[tuple[str, str], list[tuple[float, Series]]] = {}
        for each in members:
            number = counted(dimension, each.dimensions)
            if number is not None and each.steady():
                rest = {name: value for name, value in each.dimensions.items() if name != dimension}
                curves.setdefault((label(each.operation, rest), each.side), []).append((number, each))
        curves = {
            name: points for name, points in curves.items() if len({number for number, _ in points}) > 1
        }
        covered |= {id(each) for points in curves.values() for _, each in points}
        same: dict[str, list[Curve]] = {}
        for (name, side), points in curves.items():
            drawn = _named(name, side, names), [_level(number, each) for number, each in points]
            if any(level.median for level in drawn[1]):
                same.setdefault(name, []).append(drawn)
        title = f"{what} against the number of {dimension}"
        for some in _together(list(same.values())):
            svg = against_number(some, of=dimension, title=f"{scenario}: {title}", unit=unit)
            found.append(RunPlot(scenario, "number", title, svg))
    return found, covered


def _together(operations: Sequence[Sequence[Curve]]) -> list[list[Curve]]:
    """Return which curves share a plot: always the sides of an operation, and operations of similar height as
    long as the colours suffice.
    """
    plots: list[list[list[Curve]]] = []
    for curves in sorted(operations, key=_height, reverse=True):
        last = plots[-1] if plots else []
        if (
            not last
            or sum(map(len, last)) + len(curves) > COLOURS
            or _height(last[0]) > UNLIKE * _height(curves)
        ):
            plots.append([list(curves)])
        else:
            last.append(list(curves))
    return [[curve for curves in each for curve in curves] for each in plots]


def _height(curves: Sequence[Curve]) -> float:
    return max(level.median for _, levels in curves for level in levels)


def _level(number: float, series: Series) -> ScalingPoint:
    result = summarised(series)
    middle = result.quantiles.get("0.5")
    tail = result.quantiles.get("0.99")
    return ScalingPoint(
        number=number,
        median=middle.value if middle else median(series.steady()),
        low=middle.low if middle else None,
        high=middle.high if middle else None,
        p99=tail.value if tail else None,
    )


def _throughput(scenario: str, members: Sequence[Series], names: dict[str, str]) -> list[RunPlot]:
    curves: dict[tuple[str, str], dict[str, dict[float, list[float]]]] = {}
    for each in members:
        for dimension in CONCURRENCY & each.dimensions.keys():
            number = _number(each.dimensions[dimension])
            if number is not None:
                rest = {name: value for name, value in each.dimensions.items() if name != dimension}
                name = _named(label(each.operation, rest), each.side, names)
                curves.setdefault((each.operation, each.unit), {}).setdefault(name, {}).setdefault(
                    number, []
                ).extend(each.steady())
    return [
        RunPlot(
            scenario,
            "throughput",
            title,
            throughput(list(found.items()), title=f"{scenario}: {title}", unit=unit),
        )
        for (operation, unit), found in curves.items()
        for title in [f"Throughput of {operation} against concurrency"]
    ]


def _distributions(scenario: str, members: Sequence[Series], names: dict[str, str]) -> list[RunPlot]:
    """Return a plot for all series of an operation, or several, with the sides of the same dimensions
    together.
    """
    operations: dict[str, dict[str, list[Sample]]] = {}
    for each in members:
        if len(each.steady()) >= ENOUGH:
            dimensions = label("", each.dimensions).strip()
            sample = Sample(_named(dimensions, each.side, names) or each.operation, each.steady())
            operations.setdefault(each.operation, {}).setdefault(dimensions, []).append(sample)
    found = []
    for operation, same in operations.items():
        title = f"Distribution of {operation}"
        together = max(COLOURS // max(map(len, same.values())), 1)
        for some in _portions(list(same.values()), together):
            svg = distribution(
                [sample for samples in some for sample in samples], title=f"{scenario}: {title}"
            )
            found.append(RunPlot(scenario, "distribution", title, svg))
    return found


def _timelines(scenario: str, members: Sequence[Series], names: dict[str, str]) -> list[RunPlot]:
    found = []
    for each in members:
        if len(each.value) >= ENOUGH:
            title = f"{_named(label(each.operation, each.dimensions), each.side, names)} over time"
            failed = [int(index) for index in each.codes]
            svg = timeline(
                each.value,
                each.at,
                title=f"{scenario}: {title}",
                unit=each.unit,
                warm_up=each.warm_up,
                failed=failed,
            )
            found.append(RunPlot(scenario, "timeline", title, svg))
    return found


def _portions(items: Sequence[T], most: int = COLOURS) -> list[Sequence[T]]:
    """Split items into parts of similar size that one plot can distinguish."""
    number = -(-len(items) // most)
    return [items[len(items) * part // number : len(items) * (part + 1) // number] for part in range(number)]


def _named(name: str, side: str, names: dict[str, str]) -> str:
    return " · ".join(filter(None, (name, names.get(side) or side)))


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
