"""The summary of a benchmark that a person reads when the run is over; at most 100 columns wide."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from critests.catalogue.words import Outcome
from critests.record.run import RunRecord
from critests.report.benchmark.views import Row, ScenarioView, cares, scenarios
from critests.report.terminal.console import STYLES, print_end, print_more
from critests.report.wording.texts import duration, moment, one_line, plural

WIDTH: Final = 100
LISTED: Final = 10
COLUMNS: Final = ("samples", "errors", "median ± 95 %", "tail", "client", "/ OCI")
ALWAYS: Final = frozenset({"samples", "median ± 95 %"})
"""Columns that are there even when nothing is in them."""
FAILURES: Final = "errors"
"""A column that is there where a call failed; else one sentence says that none did."""
MEANINGS: Final = {
    "client": "client: the client's own part of the median",
    "/ OCI": "/ OCI: the median as a multiple of what the bare OCI runtime takes for the same",
}
MOST: Final = 60
"""Operations from which on the table has only what the scenarios are about."""
GAP: Final = 2
NARROWEST: Final = 24


def print_benchmark(record: RunRecord, out: Console, run_dir: Path | None = None) -> None:
    """Print the summary of a benchmark run.

    Args:
        record: The run.
        out: Where to print.
        run_dir: Folder of the run, for the places of its files.
    """
    _print_head(record, out)
    print_operations(record, out)
    _print_care(record, out)
    _print_unmeasured(scenarios(record), out)
    places = ("report: {}/report.html", "record: {}/run.json, samples beside it") if run_dir else ()
    print_end(record, out, *(place.format(run_dir) for place in places))


def print_operations(record: RunRecord, out: Console) -> None:
    """Print the table of operations, grouped by scenario; nothing where there is none."""
    shown = [scenario for scenario in scenarios(record) if scenario.rows]
    if not shown:
        return
    width = min(out.width, WIDTH)
    every = [each for scenario in shown for each in scenario.rows]
    rows = every if len(every) <= MOST else [each for scenario in shown for each in _foremost(scenario.rows)]
    kept = {id(each) for each in rows}
    longest = max((len(each.spread) for each in rows), default=0)
    cells = {id(each): _cells(each, longest) for each in rows}
    widths = [
        max(len(name), *(line[column].cell_len for line in cells.values()))
        for column, name in enumerate(COLUMNS)
    ]
    failed = any(each.failed for each in every)
    used = [
        column
        for column, name in enumerate(COLUMNS)
        if name in ALWAYS or (failed if name == FAILURES else any(line[column] for line in cells.values()))
    ]
    name_width = max(width - sum(widths[column] + GAP for column in used), NARROWEST)
    out.print()
    _print_header([(COLUMNS[column], widths[column]) for column in used], name_width, out)
    if not failed:
        out.print(Text("no call failed", "dim"))
    for scenario in shown:
        out.print()
        _print_line(
            Text(
                cut_to(f"{one_line(scenario.id, 20)}  {one_line(scenario.title)}".rstrip(), width),
                "bold cyan",
            ),
            out,
        )
        for each in (each for each in scenario.rows if id(each) in kept):
            name = Text(
                "  " + one_line(each.name) + (f" [{each.result.side}]" if each.side else ""),
                "bold" if each.headline else "",
            )
            if name.cell_len > name_width:
                _print_line(Text(cut_to(name.plain, width), name.style), out)
                name = Text("")
            name.pad_right(name_width - name.cell_len)
            for column in used:
                cell = cells[id(each)][column]
                name.append(" " * (GAP + widths[column] - cell.cell_len)).append_text(cell)
            _print_line(name, out)
        for note in dict.fromkeys(
            one_line(each.result.note) for each in scenario.rows if each.headline and each.result.note
        ):
            out.print(Text(f"  {note}", "dim"))
    if len(rows) < len(every):
        out.print()
        _print_line(
            Text(f"… and {plural(len(every) - len(rows), 'more operation')}, in the report", "dim"), out
        )
    if any(each.client_bound for each in rows):
        out.print()
        _print_line(
            Text("! client-bound: the client itself takes more than a third of the median", "yellow"), out
        )


def _print_header(columns: Sequence[tuple[str, int]], name_width: int, out: Console) -> None:
    """Print the names of the columns, each with its width, and what those mean that do not say it."""
    header = Text("operation".ljust(name_width), "dim")
    for name, width in columns:
        header.append(" " * GAP + name.rjust(width))
    _print_line(header, out)
    for name, _ in columns:
        if name in MEANINGS:
            out.print(Text(MEANINGS[name], "dim"), width=min(out.width, WIDTH))


def cut_to(text: str, width: int) -> str:
    """Return the text, cut to a number of columns."""
    return text if len(text) <= width else text[: width - 1] + "…"


def _foremost(rows: Sequence[Row]) -> Sequence[Row]:
    """Return what a long table shows of a scenario: what it is about, and what failed; where it is about
    nothing, all of it.
    """
    if not any(each.headline for each in rows):
        return rows
    return [each for each in rows if each.headline or each.failed]


def _cells(each: Row, longest: int) -> tuple[Text, ...]:
    """The cells of a row.

    Args:
        each: The row.
        longest: Width of the spreads; a range of too few samples may stand below median and spread.
    """
    client = Text(each.client_share or each.client, "yellow" if each.client_bound else "dim")
    if each.client_bound:
        client.append(" !")
    middle = Text(each.median or "no sample", "bold" if each.headline else "")
    if each.spread:
        middle.append("  " + each.spread.rjust(longest), "dim")
    return (
        Text(each.count),
        Text(each.errors, "bold red" if each.failed else "dim"),
        middle,
        Text(each.tail),
        client,
        Text(each.over, "dim"),
    )


def _print_line(text: Text, out: Console) -> None:
    text.rstrip()
    out.print(text, soft_wrap=True)


def _print_head(record: RunRecord, out: Console) -> None:
    runtime, facts = record.runtime, record.benchmark
    names = [(runtime.name, runtime.version)]
    if facts is not None and facts.sides:
        names = [
            (f"{side.upper()} {found.name}", found.version) for side, found in sorted(facts.sides.items())
        ]
    runtimes = " against ".join(f"{one_line(name, 60)} {one_line(version, 60)}" for name, version in names)
    head = Text.assemble(
        ("critests ", "bold"), one_line(record.suite_version), " benchmark · ", (runtimes, "bold")
    )
    where = one_line(runtime.endpoint)
    _print_line(
        head.append(f" · {where}") if where and head.cell_len + len(where) + 3 <= WIDTH else head, out
    )
    made = (
        f", profile {one_line(facts.profile, 30)}, seed {facts.seed}"
        if facts is not None and facts.profile
        else ""
    )
    took = duration(record.finished - record.started)
    out.print(
        Text(f"{moment(record.started)}, {took}{made}, run {one_line(record.run_id)}", "dim"), soft_wrap=True
    )


def _print_care(record: RunRecord, out: Console) -> None:
    sentences = cares(record)
    if not sentences:
        return
    out.print()
    out.print(Text(f"Read with care ({len(sentences)})", "bold yellow"))
    for sentence in sentences[:LISTED]:
        _print_item(Text(one_line(sentence, 500)), out)
    print_more(len(sentences) - LISTED, out)


def _print_unmeasured(shown: Sequence[ScenarioView], out: Console) -> None:
    unmeasured = [
        scenario for scenario in shown if scenario.outcome not in {Outcome.PASSED.value, "untested"}
    ]
    if not unmeasured:
        return
    out.print()
    out.print(Text(f"Not measured, or not wholly ({len(unmeasured)})", "bold"))
    for scenario in unmeasured[: 2 * LISTED]:
        style = STYLES[Outcome(scenario.outcome)]
        reason = one_line(scenario.reason, 300) or "no reason was given"
        _print_item(
            Text.assemble((f"{one_line(scenario.id, 60)} {scenario.outcome}", style), f": {reason}"), out
        )
    print_more(len(unmeasured) - 2 * LISTED, out)


def _print_item(text: Text, out: Console) -> None:
    out.print(Padding(text, (0, 0, 0, 2), expand=False), width=min(out.width, WIDTH))
