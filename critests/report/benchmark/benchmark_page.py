"""The page of a benchmark run: self-contained like that of a validation, without a script, with inline plots.

The template escapes all texts (see `critests.report.page.templating`); the plots escape their own texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from markupsafe import Markup

from critests.catalogue.words import Outcome
from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import RunFolder
from critests.record.run_record import RunRecord
from critests.record.samples import Series, read_samples
from critests.record.units import SECONDS
from critests.report.benchmark.benchmark_views import (
    MEDIAN,
    OperationRow,
    ScenarioView,
    cares,
    row,
    scenarios,
    side_names,
    spread_of,
    supported,
    verdict_word,
)
from critests.report.facts.display_order import columns
from critests.report.facts.operation_growth import Grown, GrowthDifference, growth_differences, growths
from critests.report.facts.run_facts import flat
from critests.report.page.templating import SYMBOLS, environment, source
from critests.report.plots.drawing import STYLE
from critests.report.plots.figures import RunPlot, figures
from critests.report.plots.strip import strip
from critests.report.wording.quantities import quantity, share
from critests.report.wording.texts import plural

PLOTS_BUDGET: Final = 3 * 1024 * 1024
"""Characters of plots in one page."""
T = TypeVar("T", Grown, GrowthDifference)
TILES: Final = 6
PLOTS_OPEN: Final = 3
"""Up to this number of scenarios, all rows and plots are open; with more, the page would consist of plots."""
ROWS_OPEN: Final = 100
"""Up to this number of rows in all scenarios, they are open: growth with two sides alone has more."""
ROWS_SHOWN: Final = 4
"""Open rows of a scenario on a larger page; the others are folded."""
GROWTH_PLOTS_SHOWN: Final = 1
"""Open growth plots of a scenario on a larger page."""
KINDS: Final = ("phases", "throughput", "number", "distribution", "timeline")
"""Kinds of plots by priority, for a page with too many."""


@dataclass(frozen=True)
class TileValue:
    """A median of the headline.

    Attributes:
        side: Name of its side; empty with one runtime.
        value: The median.
        details: Its confidence interval, and its tail.
    """

    side: str
    value: str
    details: str


@dataclass(frozen=True)
class Tile:
    """An operation of the headline.

    Attributes:
        name: The operation.
        values: Its median, of each side.
        errors: Number of failed calls, as a text.
        failed: Whether a call failed.
    """

    name: str
    values: list[TileValue]
    errors: str
    failed: bool


def benchmark_to_html(
    record: RunRecord, run_dir: Path | None = None, series: Sequence[Series] | None = None
) -> str:
    """Return the page of a benchmark run, or of the operations of a mixed one.

    Args:
        record: The run.
        run_dir: Folder of the run, from which the samples are read; without it the page has no plots.
        series: The samples, if already read.
    """
    templates = environment("critests.report.benchmark")
    missing = ""
    grown, names = growths(record.operations), side_names(record)
    if series is None:
        try:
            series = read_samples(RunFolder(run_dir).samples) if run_dir is not None else []
        except RecordUnreadable as error:
            series, missing = [], str(error)
    plots, left_out = _within(figures(series, names))
    if not series and not missing and record.operations:
        missing = "there are no samples next to the run record"
    word, tone = verdict_word(record)
    shown = scenarios(record)
    return templates.get_template("benchmark.html.j2").render(
        record=record,
        word=word,
        tone=tone,
        tiles=_tiles(record),
        two_sides=bool(side_names(record)),
        cares=cares(record),
        scenarios=shown,
        has_rows=any(scenario.rows for scenario in shown),
        outcomes=[
            (outcome.value, record.counts.outcomes[outcome])
            for outcome in columns(record)
            if outcome is not Outcome.DISABLED and record.counts.outcomes.get(outcome)
        ],
        plots=plots,
        folded=len(shown) > PLOTS_OPEN or sum(len(each.rows) for each in shown) > ROWS_OPEN,
        first_rows=ROWS_SHOWN,
        first_plots=GROWTH_PLOTS_SHOWN,
        strips=_strips(shown),
        row_id=id,
        growth=_by_scenario(grown),
        differences=_by_scenario(growth_differences(grown, names)),
        sides=names,
        left_out=left_out,
        missing=missing,
        facts=_facts(record),
        references=_references(record),
        machine=flat(record.machine),
        symbols=SYMBOLS,
        style=Markup(source(templates, "style.css") + STYLE + source(templates, "benchmark.css")),  # noqa: S704 - our own files
    )


def _tiles(record: RunRecord) -> list[Tile]:
    """Return the headline operations with a median, with the sides of each together; the first of each
    scenario takes precedence over a second one.
    """
    grouped: dict[tuple[str, str], list[OperationRow]] = {}
    names = side_names(record)
    for each in record.operations:
        if each.headline and each.unit == SECONDS:
            found = row(each, names)
            if MEDIAN in dict(supported(each)):
                grouped.setdefault((each.scenario, found.name), []).append(found)
    first = dict(reversed(list(grouped)))
    order = sorted(grouped, key=lambda key: first[key[0]] != key[1])[:TILES]
    return [_tile(name, grouped[scenario, name]) for scenario, name in grouped if (scenario, name) in order]


def _tile(name: str, rows: Sequence[OperationRow]) -> Tile:
    failed = sum(sum(each.result.errors.values()) for each in rows)
    return Tile(
        name,
        [
            TileValue(each.side, each.median, ", ".join(filter(None, (each.interval, each.tail))))
            for each in rows
        ],
        f"{plural(failed, 'call')} failed" if failed else "no errors",
        failed=bool(failed),
    )


def _strips(shown: Sequence[ScenarioView]) -> dict[int, Markup]:
    """Return the strips of the rows by the id of the row; rows of one operation share an axis."""
    found: dict[int, Markup] = {}
    for scenario in shown:
        together: dict[tuple[str, str], list[OperationRow]] = {}
        for each in scenario.rows:
            together.setdefault((each.result.operation, each.name), []).append(each)
        for rows in together.values():
            spreads = [(each, spread_of(each)) for each in rows]
            known = [spread for _, spread in spreads if spread]
            if known:
                axis = min(each.least for each in known), max(each.most for each in known)
                found |= {
                    id(each): strip(spread, axis, f"{each.name} {each.side}: {each.range}")
                    for each, spread in spreads
                    if spread
                }
    return found


def _by_scenario(found: Sequence[T]) -> dict[str, list[T]]:
    """Group growths by scenario."""
    grouped: dict[str, list[T]] = {}
    for each in found:
        grouped.setdefault(each.scenario, []).append(each)
    return grouped


def _within(found: Sequence[RunPlot]) -> tuple[dict[str, list[tuple[RunPlot, Markup]]], int]:
    """Return the plots that fit the size budget of the page, and the number of the others."""
    budget = PLOTS_BUDGET
    selected: set[int] = set()
    for index in sorted(range(len(found)), key=lambda index: KINDS.index(found[index].kind)):
        if budget >= len(found[index].svg):
            budget -= len(found[index].svg)
            selected.add(index)
    plots: dict[str, list[tuple[RunPlot, Markup]]] = {}
    for index in sorted(selected):
        # plots escape their texts
        plots.setdefault(found[index].scenario, []).append((found[index], Markup(found[index].svg)))  # noqa: S704 - see above
    return plots, len(found) - len(selected)


def _facts(record: RunRecord) -> list[tuple[str, str]]:
    facts = record.benchmark
    if facts is None:
        return []
    names = side_names(record)
    sides = [
        (
            names.get(side, side.upper()),
            " · ".join(
                filter(
                    None,
                    [
                        f"{runtime.name} {runtime.version}",
                        runtime.endpoint,
                        ", ".join(filter(None, runtime.handlers)),
                    ],
                )
            ),
        )
        for side, runtime in sorted(facts.sides.items())
    ]
    return [
        *sides,
        ("profile", facts.profile),
        ("budget", quantity(facts.budget_seconds, SECONDS) if facts.budget_seconds else ""),
        ("seed", str(facts.seed)),
        (
            "CPU time stolen by other guests",
            share(facts.steal_share) if facts.steal_share is not None else "unknown",
        ),
    ]


def _references(record: RunRecord) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the reference measurements of the run: title, description, and names with their values."""
    facts = record.benchmark
    if facts is None:
        return []
    noise = [
        (
            probe.name,
            (
                f"{quantity(probe.median_seconds, SECONDS)}, p99 {quantity(probe.p99_seconds, SECONDS)} of"
                f" {probe.count:,}"
            ),
        )
        for probe in facts.noise
    ]
    client = [(rpc, quantity(seconds, SECONDS)) for rpc, seconds in sorted(facts.client_seconds.items())]
    reference = [(step, quantity(seconds, SECONDS)) for step, seconds in facts.reference_seconds.items()]
    tables = [
        (
            "Noise of the machine before the run",
            "Duration of work of a fixed size: median and p99.",
            noise,
        ),
        (
            "Client alone",
            "Median of each call to a server that does nothing. It is never subtracted from a result.",
            client,
        ),
        (
            "OCI runtime alone",
            "Median of each step on the same bundle, without a daemon. Results are multiples of it.",
            reference,
        ),
    ]
    return [table for table in tables if table[2]]
