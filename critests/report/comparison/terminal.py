"""A comparison as a person reads it in a terminal."""

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from critests.report.comparison.differences import Conformance, RequirementDifference
from critests.report.comparison.fairness import warning
from critests.report.comparison.headline import headline
from critests.report.comparison.model import Operation, OperationSide, RunComparison, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.summary import (
    conformance_sentence,
    method_sentence,
    too_noisy,
    verdict_text,
    why,
)
from critests.report.comparison.wording import (
    amount,
    error_words,
    interval,
    operation_label,
    ratio,
)
from critests.report.terminal.console import STYLES, new_console
from critests.report.wording.texts import moment, one_line, plural
from critests.statistics import Verdict

LISTED: Final = 12
"""Lines of each list; the rest is counted, and is in the other forms."""
WIDE: Final = 100
"""Columns from which on a table has room for the names of operations."""
NAMED: Final = 30
"""Ids of requirements that were not tested."""
VERDICT_STYLES: Final = {
    Verdict.SLOWER.value: "bold red",
    Verdict.FASTER.value: "bold green",
    Verdict.TOO_NOISY.value: "yellow",
}


def print_comparison(comparison: RunComparison, console: Console | None = None) -> None:
    """Print a comparison.

    Args:
        comparison: What to print.
        console: Where; standard output by default.
    """
    out = console or new_console()
    names = names_of(comparison.a, comparison.b)
    for name, side in ((names.a, comparison.a), (names.b, comparison.b)):
        when = f"{side.kind} run {one_line(side.run_id, 60)}, {moment(side.started)}"
        when += f", partial: {one_line(side.partial, 160)}" if side.partial else ""
        out.print(Text.assemble((name, "bold"), f"  {one_line(side.name, 120)}", (f"  {when}", "dim")))
    out.print()
    told = [*headline(comparison), conformance_sentence(comparison)]
    for sentence in (*told, warning(comparison, names), *comparison.notes):
        if sentence:
            out.print(Text(one_line(sentence, 600)))
    if comparison.machines.differences and comparison.speed is not None:
        _print_machines(comparison, names, out)
    if comparison.speed is not None and not comparison.speed.refused:
        _print_speed(comparison, comparison.speed, names, out)
    if comparison.conformance is not None:
        _print_conformance(comparison.conformance, names, out)


def _print_machines(comparison: RunComparison, names: Names, out: Console) -> None:
    _title(out, "Machines")
    table = _table("", names.a, names.b)
    for difference in comparison.machines.differences:
        table.add_row(*(Text(one_line(text, 80)) for text in (difference.name, difference.a, difference.b)))
    out.print(table)


def _print_speed(comparison: RunComparison, speed: Speed, names: Names, out: Console) -> None:
    _title(out, "Speed")
    out.print(Text(method_sentence(comparison), "dim"))
    failing = [operation for operation in speed.operations if operation.a.failed or operation.b.failed]
    heads = ["operation", names.a, names.b, "ratio", "interval", f"{names.b} is"]
    rows = [_cells(operation, comparison, names) for operation in speed.operations]
    if rows and out.width < WIDE:
        _print_narrow(heads, rows, out)
    elif rows:
        table = _table(*heads, numbers=(3, 4))
        for row in rows:
            table.add_row(*row)
        out.print(table)
    for reason, operations in too_noisy(speed):
        out.print(Text(one_line(f"too noisy: {', '.join(operations)}: {reason}", 600), "dim"))
    for label, unpaired in ((names.a, speed.only_a), (names.b, speed.only_b)):
        if unpaired:
            lines = [
                Text(one_line(operation_label(each.scenario, each.operation, each.dimensions)))
                for each in unpaired
            ]
            _lines(out, f"Measured on {label} only ({len(lines)})", lines)
    lines = [
        Text(
            one_line(f"{_label(each)}: {names.a} {_errors(each.a)}; {names.b} {_errors(each.b)}", 400),
            "bold red" if each.errors_verdict else "",
        )
        for each in failing
    ]
    _lines(out, f"Calls that failed ({plural(len(failing), 'operation')})", lines)


def _print_narrow(heads: Sequence[str], rows: Sequence[Sequence[Text]], out: Console) -> None:
    """Print every operation with its verdict in a line of its own, and its numbers below it."""
    widths = [max(len(head), *(row[at].cell_len for row in rows)) for at, head in enumerate(heads)]
    numbers = range(1, len(heads) - 1)
    out.print(Text("  " + "  ".join(heads[at].rjust(widths[at]) for at in numbers), "dim"))
    for row in rows:
        verdict = row[-1]
        out.print(Text.assemble(row[0], ": ", verdict))
        line = Text("  ")
        for at in numbers:
            line.append(" " * (widths[at] - row[at].cell_len)).append_text(row[at]).append("  ")
        out.print(line)


def _cells(operation: Operation, comparison: RunComparison, names: Names) -> list[Text]:
    style = VERDICT_STYLES.get(operation.verdict, "")
    label = Text(one_line(_label(operation), 120), "bold" if operation.headline else "")
    reason = why(operation, names)
    if reason:
        label.append(f"\n  {one_line(reason, 160)}", "dim")
    bounds = interval(operation.low, operation.high)
    return [
        label,
        Text(amount(operation.a.value, operation.unit)),
        Text(amount(operation.b.value, operation.unit)),
        Text(ratio(operation.ratio), style),
        Text(bounds or "·", "" if bounds else "dim"),
        Text(verdict_text(operation, comparison), style),
    ]


def _label(operation: Operation) -> str:
    return operation_label(operation.scenario, operation.operation, operation.dimensions)


def _errors(side: OperationSide) -> str:
    return error_words(side.failed, side.calls, side.errors)


def _print_conformance(conformance: Conformance, names: Names, out: Console) -> None:
    for group, members in conformance.grouped().items():
        _title(out, f"{names.group(group)} ({len(members)})")
        told = [each for each in members if not each.not_run]
        for difference in told[:LISTED]:
            _print_difference(difference, out)
        _more(out, len(told) - LISTED)
        ids = [each.requirement for each in members if each.not_run]
        if ids:
            text = f"not tested there: {', '.join(ids[:NAMED])}" + (
                f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
            )
            out.print(Padding(Text(one_line(text, 600), "dim"), (0, 0, 0, 2), expand=False))
    differing = [pair for pair in conformance.forms if pair.differ]
    if differing:
        _title(out, f"Where the API is silent they differ ({len(differing)} of {len(conformance.forms)})")
        table = _table("aspect", names.a, names.b)
        for pair in differing[:LISTED]:
            table.add_row(
                *(
                    Text(one_line(text, 120))
                    for text in (pair.aspect, pair.a or "not recorded", pair.b or "not recorded")
                )
            )
        out.print(table)
        _more(out, len(differing) - LISTED)
    if conformance.capabilities:
        _title(out, f"Capabilities ({len(conformance.capabilities)})")
        table = _table("capability", names.a, names.b, "what was seen")
        words = {True: Text("yes", "green"), False: Text("no", "yellow"), None: Text("?", "dim")}
        for each in conformance.capabilities:
            seen = each.evidence_a if each.b else each.evidence_b
            table.add_row(
                Text(one_line(each.name, 60)), words[each.a], words[each.b], Text(one_line(seen, 120), "dim")
            )
        out.print(table)
    for label, tests in (
        (names.a, conformance.tests_only_a),
        (names.b, conformance.tests_only_b),
    ):
        _lines(
            out,
            f"Tests that {label} alone has ({len(tests)})",
            [Text(one_line(test, 160)) for test in tests],
            limit=5,
        )


def _print_difference(difference: RequirementDifference, out: Console) -> None:
    head = Text.assemble(
        (f"{one_line(difference.requirement, 40)}  ", "bold"),
        _outcome(difference.a),
        " / ",
        _outcome(difference.b),
        f"  {one_line(difference.title, 160)}",
    )
    out.print(Padding(head, (0, 0, 0, 2), expand=False))
    for aspect in difference.aspects:
        if aspect.aspect == difference.requirement and not aspect.why:
            continue
        level = f"{aspect.level}{' †' if aspect.judgement else ''}"
        line = Text.assemble(
            (f"{one_line(aspect.aspect, 60)} {level}: ", "dim"), _outcome(aspect.a), " / ", _outcome(aspect.b)
        )
        line.append(f"  {one_line(aspect.why, 200)}" if aspect.why else "", "dim")
        out.print(Padding(line, (0, 0, 0, 6), expand=False))


def _outcome(word: str) -> Text:
    return Text(word, next((style for outcome, style in STYLES.items() if outcome.value == word), "dim"))


def _table(*names: str, numbers: Sequence[int] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for index, name in enumerate(names):
        table.add_column(
            name, justify="right" if index in numbers else "left", no_wrap=index in numbers, overflow="fold"
        )
    return table


def _lines(out: Console, title: str, lines: Sequence[Text], *, limit: int = LISTED) -> None:
    if not lines:
        return
    _title(out, title)
    for line in lines[:limit]:
        out.print(Padding(line, (0, 0, 0, 2), expand=False))
    _more(out, len(lines) - limit)


def _title(out: Console, text: str) -> None:
    out.print()
    out.print(Text(text, "bold"))


def _more(out: Console, number: int) -> None:
    if number > 0:
        out.print(Text(f"  … and {number} more", "dim"))
