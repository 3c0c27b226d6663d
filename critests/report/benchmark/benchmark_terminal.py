"""The summary of a benchmark on the terminal after the run; at most 100 columns wide, or the whole width of a
terminal of at least 120 columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from critests.catalogue.words import Outcome
from critests.record.run_record import RunRecord
from critests.report.benchmark.benchmark_views import OperationRow, ScenarioView, cares, scenarios, side_names
from critests.report.facts.operation_growth import Grown, growth_differences, growths
from critests.report.terminal.console import STYLES, print_end, print_more
from critests.report.wording.texts import duration, one_line, plural, utc_time

WIDTH: Final = 100
WIDE: Final = 120
"""From this number of columns on, the summary uses the whole width."""
LISTED: Final = 10
COLUMNS: Final = ("samples", "errors", "median ± 95 %", "tail", "min", "max", "MAD", "client", "/ OCI")
OPTIONAL: Final = (frozenset({"min", "max", "MAD"}), frozenset({"/ OCI"}), frozenset({"client"}))
"""Columns that a narrow terminal omits, in this order."""
ALWAYS: Final = frozenset({"samples", "median ± 95 %"})
"""Columns that are shown even if they are empty."""
FAILURES: Final = "errors"
"""A column that is shown if a call failed; otherwise a sentence says that none failed."""
MEANINGS: Final = {
    "MAD": "MAD: median absolute deviation from the median",
    "client": "client: the client's own share of the median",
    "/ OCI": "/ OCI: the median as a multiple of that of the OCI runtime alone for the same work",
}
MOST: Final = 60
"""With more operations, the table has only the headlines and the failures."""
GAP: Final = 2
NARROWEST: Final = 24


def print_benchmark(record: RunRecord, out: Console, run_dir: Path | None = None) -> None:
    """Print the summary of a benchmark run.

    Args:
        record: The run.
        out: Where to print.
        run_dir: Folder of the run, for the paths of its files.
    """
    _print_head(record, out)
    print_operations(record, out)
    _print_growth(record, out)
    _print_care(record, out)
    _print_unmeasured(scenarios(record), out)
    places = ("report: {}/report.html", "record: {}/run.json and samples/") if run_dir else ()
    print_end(record, out, *(place.format(run_dir) for place in places))


@dataclass(frozen=True)
class _Layout:
    """The columns of a table.

    Attributes:
        columns: Place among `COLUMNS` and width of each that is shown.
        name_width: Columns of the terminal for the names of operations.
        width: Of the whole table.
    """

    columns: list[tuple[int, int]]
    name_width: int
    width: int


def print_operations(record: RunRecord, out: Console) -> None:
    """Print the table of operations, grouped by scenario; nothing without operations."""
    shown = [scenario for scenario in scenarios(record) if scenario.rows]
    if not shown:
        return
    every = [each for scenario in shown for each in scenario.rows]
    rows = every if len(every) <= MOST else [each for scenario in shown for each in _foremost(scenario.rows)]
    longest = max((len(each.spread) for each in rows), default=0)
    cells = {id(each): _cells(each, longest) for each in rows}
    failed = any(each.failed for each in every)
    layout = _layout(list(cells.values()), out.width, failed=failed)
    out.print()
    _print_header(layout, out)
    if not failed:
        out.print(Text("no call failed", "dim"))
    for scenario in shown:
        _print_scenario(scenario, cells, layout, out)
    if len(rows) < len(every):
        out.print()
        _print_line(
            Text(f"… and {plural(len(every) - len(rows), 'more operation')} in the report", "dim"), out
        )
    if any(each.client_bound for each in rows):
        out.print()
        _print_line(
            Text("! client-bound: the client itself takes more than a third of the median", "yellow"), out
        )


def _layout(rows: Sequence[Sequence[Text]], available: int, *, failed: bool) -> _Layout:
    """Choose the columns: those with content, without the optional ones that do not fit."""
    width = available if available >= WIDE else min(available, WIDTH)
    columns = [
        (place, max(len(name), *(row[place].cell_len for row in rows)))
        for place, name in enumerate(COLUMNS)
        if name in ALWAYS or (failed if name == FAILURES else any(row[place] for row in rows))
    ]

    def left() -> int:
        return width - sum(GAP + each for _, each in columns)

    for optional in OPTIONAL:
        if left() < NARROWEST:
            columns = [(place, each) for place, each in columns if COLUMNS[place] not in optional]
    return _Layout(columns, max(left(), NARROWEST), width)


def _print_scenario(
    scenario: ScenarioView, cells: Mapping[int, Sequence[Text]], layout: _Layout, out: Console
) -> None:
    out.print()
    title = f"{one_line(scenario.id, 20)}  {one_line(scenario.title)}".rstrip()
    _print_line(Text(cut_to(title, layout.width), "bold cyan"), out)
    named = ""
    for each in (each for each in scenario.rows if id(each) in cells):
        name = Text(f"  {one_line(each.name)}", "bold" if each.headline else "")
        if each.side:  # the operation has its own line above those of its sides
            if named != each.name:
                _print_line(Text(cut_to(name.plain, layout.width), name.style), out)
            named, name = each.name, Text(f"    {one_line(each.side)}")
        _print_row(name, cells[id(each)], layout, out)
    for note in dict.fromkeys(
        one_line(each.result.note) for each in scenario.rows if each.headline and each.result.note
    ):
        out.print(Text(f"  {note}", "dim"))


def _print_row(name: Text, cells: Sequence[Text], layout: _Layout, out: Console) -> None:
    """Print a row, each cell in its width; a name that is too long gets its own line."""
    if name.cell_len > layout.name_width:
        _print_line(Text(cut_to(name.plain, layout.width), name.style), out)
        name = Text("")
    name.pad_right(layout.name_width - name.cell_len)
    for place, width in layout.columns:
        name.append(" " * (GAP + width - cells[place].cell_len)).append_text(cells[place])
    _print_line(name, out)


def _print_header(layout: _Layout, out: Console) -> None:
    """Print the names of the columns, and the meanings of the abbreviations."""
    header = Text("operation".ljust(layout.name_width), "dim")
    for place, width in layout.columns:
        header.append(" " * GAP + COLUMNS[place].rjust(width))
    _print_line(header, out)
    for place, _ in layout.columns:
        if COLUMNS[place] in MEANINGS:
            out.print(Text(MEANINGS[COLUMNS[place]], "dim"), width=min(out.width, WIDTH))


def cut_to(text: str, width: int) -> str:
    """Return the text, truncated to a number of columns."""
    return text if len(text) <= width else text[: width - 1] + "…"


def _foremost(rows: Sequence[OperationRow]) -> Sequence[OperationRow]:
    """Return the rows of a scenario in a long table: its headlines and the failures; all rows without a
    headline.
    """
    if not any(each.headline for each in rows):
        return rows
    return [each for each in rows if each.headline or each.failed]


def _cells(each: OperationRow, longest: int) -> tuple[Text, ...]:
    """Return the cells of a row.

    Args:
        each: The row.
        longest: Width of the widest spread.
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
        *(Text(each.extremes.get(name, ""), "dim") for name in COLUMNS if name in OPTIONAL[0]),
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
        names = [(found.name, found.version) for _, found in sorted(facts.sides.items())]
    runtimes = " against ".join(f"{one_line(name, 60)} {one_line(version, 60)}" for name, version in names)
    head = Text.assemble(
        ("critests ", "bold"), one_line(record.suite_version), " benchmark · ", (runtimes, "bold")
    )
    endpoint, available = one_line(runtime.endpoint), min(out.width, WIDTH)
    _print_line(
        head.append(f" · {endpoint}")
        if endpoint and head.cell_len + len(endpoint) + 3 <= available
        else head,
        out,
    )
    settings = (
        f", profile {one_line(facts.profile, 30)}, seed {facts.seed}"
        if facts is not None and facts.profile
        else ""
    )
    took = duration(record.finished - record.started)
    out.print(
        Text(f"{utc_time(record.started)}, {took}{settings}, run {one_line(record.run_id)}", "dim"),
        width=min(out.width, WIDTH),
    )


def _print_growth(record: RunRecord, out: Console) -> None:
    """Print the cost of one more object, for the operations that were measured at several numbers of it;
    count the operations that do not grow.
    """
    names = side_names(record)
    every = growths(record.operations)
    together: dict[str, list[Grown]] = {}
    for each in every:
        name = f"{each.scenario} {one_line(each.name, 60)}, by {one_line(each.of, 30)}"
        together.setdefault(name, []).append(each)
    growing = {name: some for name, some in together.items() if any(each.grows for each in some)}
    if not every:
        return
    out.print()
    out.print(Text("What one more costs", "bold"))
    for name, some in list(growing.items())[: 2 * LISTED]:
        _print_item(Text(name, "bold cyan"), out)
        for each in some:
            side = f"{one_line(names.get(each.side, each.side.upper()))}: " if each.side else ""
            sentence = Text(one_line(each.sentence, 200), "bold red" if each.worse else "")
            _print_item(Text.assemble("  ", side, sentence), out)
    print_more(len(growing) - 2 * LISTED, out)
    if len(growing) < len(together):
        flat = plural(len(together) - len(growing), "operation")
        _print_item(Text(f"no measurable growth: {flat}, see the report", "dim"), out)
    for difference in growth_differences(every, names)[:LISTED]:
        _print_item(Text(f"{difference.scenario} {one_line(difference.sentence, 300)}", "bold"), out)


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
    out.print(Text(f"Not measured, or only in part ({len(unmeasured)})", "bold"))
    for scenario in unmeasured[: 2 * LISTED]:
        style = STYLES[Outcome(scenario.outcome)]
        reason = one_line(scenario.reason, 300) or "no reason recorded"
        _print_item(
            Text.assemble((f"{one_line(scenario.id, 60)} {scenario.outcome}", style), f": {reason}"), out
        )
    print_more(len(unmeasured) - 2 * LISTED, out)


def _print_item(text: Text, out: Console) -> None:
    out.print(Padding(text, (0, 0, 0, 2), expand=False), width=min(out.width, WIDTH))
