"""What changed since an earlier run, as a person reads it at the end of a benchmark."""

from pathlib import Path
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from critests.record.errors import RecordUnreadable
from critests.report.comparison.compare import NotComparable
from critests.report.comparison.model import CompareSettings, Operation
from critests.report.comparison.since import NO_EARLIER, Open, Since, changed_since, earlier_run
from critests.report.comparison.stored import read_run
from critests.report.comparison.wording import (
    amount,
    error_words,
    interval,
    operation_label,
    percent,
    quantile_name,
    ratio,
    verdict_word,
)
from critests.report.wording.texts import moment, one_line, plural
from critests.statistics import Verdict

WIDTH: Final = 100
LISTED: Final = 12
STYLES: Final = {Verdict.SLOWER.value: "bold red", Verdict.FASTER.value: "bold green"}


def print_since(found: Since, out: Console) -> None:
    """Print what changed, and what those operations lack of which it cannot be told."""
    side, speed = found.comparison.a, found.comparison.speed
    out.print()
    out.print(
        Text.assemble(
            ("Since ", "bold"),
            (f"{one_line(side.name, 80)}, run {one_line(side.run_id, 60)}, {moment(side.started)}", "bold"),
        ),
        width=min(out.width, WIDTH),
    )
    if speed is None or speed.refused:
        _item(
            Text(one_line(f"speed is not compared: {speed.refused}" if speed else "nothing was measured")),
            out,
        )
        return
    if not found.changed:
        _item(Text(f"no operation is proven to have changed, of {found.unchanged + len(found.still)}"), out)
    for each in found.changed[:LISTED]:
        style = STYLES.get(each.verdict, "bold red" if each.errors_verdict == "more" else "bold green")
        _item(Text.assemble((_verdict(each), style), f"  {_numbers(each)}"), out)
    _more(len(found.changed) - LISTED, out)
    if found.changed and found.unchanged:
        _item(Text(f"{plural(found.unchanged, 'operation')} without evidence of a difference", "dim"), out)
    if found.still:
        _item(Text(f"Cannot be told yet ({len(found.still)})", "yellow"), out)
    for opened in found.still[:LISTED]:
        _item(Text(f"  {_lacks(opened)}"), out)
    _more(len(found.still) - LISTED, out)
    _item(Text(_method(found.comparison.settings), "dim"), out)


def tell_since(named: str, results: Path, folder: Path, out: Console) -> None:
    """Print what changed since the run that a user names; that it cannot be said is said too.

    Args:
        named: `last`, or the folder of an earlier run or its record.
        results: Root of all results.
        folder: Of the run.
        out: Where to print.
    """
    try:
        run = read_run(folder)
        earlier = earlier_run(named, results, run.record)
        if earlier is None:
            _print_none(named, NO_EARLIER, out)
        else:
            print_since(changed_since(earlier, run, CompareSettings()), out)
    except (NotComparable, RecordUnreadable) as error:
        _print_none(named, str(error), out)


def _print_none(named: str, why: str, out: Console) -> None:
    out.print()
    out.print(Text(one_line(f"--baseline {named}: {why}", 400), "yellow"), width=min(out.width, WIDTH))


def _verdict(operation: Operation) -> str:
    if operation.verdict in STYLES:
        return verdict_word(operation.verdict, operation.unit)
    return f"fails {operation.errors_verdict}"


def _numbers(operation: Operation) -> str:
    label = operation_label(operation.scenario, operation.operation, operation.dimensions)
    if operation.verdict not in STYLES:
        told = [error_words(side.failed, side.calls, side.errors) for side in (operation.a, operation.b)]
        return one_line(f"{label}: {told[0]}; now {told[1]}", 300)
    values = f"{amount(operation.a.value, operation.unit)} to {amount(operation.b.value, operation.unit)}"
    bounds = interval(operation.low, operation.high)
    return one_line(
        f"{label}: {quantile_name(operation.quantile)} {values}, {ratio(operation.ratio)}"
        + (f" ({bounds})" if bounds else ""),
        300,
    )


def _lacks(opened: Open) -> str:
    operation = opened.operation
    label = operation_label(operation.scenario, operation.operation, operation.dimensions)
    now = f"{ratio(operation.ratio)} of before, {one_line(opened.why, 120)}"
    if opened.lacks.obstacle:
        return one_line(f"{label}: {now}; {opened.lacks.obstacle}: measure that one longer", 300)
    times = (operation.b.count + opened.lacks.more) / max(operation.b.count, 1)
    return one_line(
        f"{label}: {now}; about {plural(opened.lacks.more, 'sample')} more, {times:.1f} times this run", 300
    )


def _method(settings: CompareSettings) -> str:
    floor = settings.statistics(settings.quantile, live=False).smallest_effect
    return (
        f"Differences below {percent(floor)}, and of durations below {amount(settings.time_floor, 's')}, are"
        " not called: two starts of one daemon differ by that much. critests gate decides what may pass."
    )


def _more(number: int, out: Console) -> None:
    if number > 0:
        _item(Text(f"… and {number} more; critests compare shows all", "dim"), out)


def _item(text: Text, out: Console) -> None:
    out.print(Padding(text, (0, 0, 0, 2), expand=False), width=min(out.width, WIDTH))
