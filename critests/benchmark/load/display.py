"""What a person sees of a load run: a line while it goes on, and a table at its end."""

import time
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from critests.benchmark.load.outcome import CAPACITY, INTENDED, MEASURED
from critests.record.operations import OperationResult
from critests.record.run import RunRecord
from critests.record.samples import PER_SECOND

LINE_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""
SHOWN = ("0.5", "0.9", "0.99", "0.999")
WORDS = {
    "starting": "starting the processes that put load on",
    "page": "Locust's page: http://127.0.0.1:{port}",
    "waiting": "waiting for workers: {workers} of {wanted} are there",
    "preparing": "making what stands during the load: {workers} of {wanted} workers are ready",
    "working": "working for the master at {master}; Ctrl-C leaves",
    "cleaning up": "cleaning up",
}


class Display:
    """Shows how far a run is: a line that changes on a terminal, now and then a new one elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._last, self._last_at = "", -LINE_EVERY
        if console.is_terminal and not console.is_dumb_terminal:
            self._live = Live(console=console, refresh_per_second=4, transient=True)
            self._live.start()

    def tell(self, facts: dict[str, Any]) -> None:
        """Show the latest news."""
        line = _progress(facts) if facts["now"] == "load" else WORDS[facts["now"]].format(**facts)
        if self._live is not None:
            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"))
            return
        now, moving = time.monotonic(), facts["now"] == "load"
        if line != self._last and (not moving or now - self._last_at >= LINE_EVERY):
            self._console.print(Text(line), soft_wrap=True)
            self._last = line
            self._last_at = now if moving else -LINE_EVERY

    def close(self) -> None:
        """Stop showing."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def print_load(record: RunRecord, folder: Path, console: Console) -> None:
    """Print what a load run found.

    Args:
        record: the run.
        folder: where its files are.
        console: where to print.
    """
    runtime = record.runtime
    console.print(Text(f"{runtime.name} {runtime.version} at {runtime.endpoint}", "bold"), soft_wrap=True)
    if any(operation.operation == CAPACITY for operation in record.operations):
        console.print(
            _steps(
                [
                    operation
                    for operation in record.operations
                    if operation.headline and operation.operation != CAPACITY
                ]
            )
        )
    else:
        console.print(Text(_heading(record.operations), "bold"), soft_wrap=True)
        console.print(_table(record.operations))
    for note in record.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)
    console.print(Text(f"results: {folder}"), soft_wrap=True)
    style = {0: "green", 2: "yellow"}.get(record.exit_code, "bold red")
    console.print(Text(f"{record.exit_reason} (exit code {record.exit_code})", style), soft_wrap=True)


def _steps(operations: list[OperationResult]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("per second", justify="right")
    _add_numbers(table)
    table.add_column("late", justify="right")
    table.add_column("")
    for operation in operations:
        late = f"{operation.late_share:.1%}" if operation.late_share is not None else "-"
        table.add_row(operation.dimensions.get("rate", "-"), *_numbers(operation), late, operation.note)
    return table


def _heading(operations: list[OperationResult]) -> str:
    if not operations:
        return "nothing was measured"
    fixed = {name: value for name, value in operations[0].dimensions.items() if name != MEASURED}
    title = ", ".join([operations[0].scenario, *(f"{name} {value}" for name, value in fixed.items())])
    throughput = next((operation for operation in operations if operation.unit == PER_SECOND), None)
    late = next((operation.late_share for operation in operations if operation.late_share is not None), None)
    if throughput is not None and throughput.mean is not None:
        title += f": {throughput.mean:.3g} per second completed"
    if late is not None:
        title += f", {late:.2%} began late"
    return title


def _table(operations: list[OperationResult]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("milliseconds")
    _add_numbers(table)
    for operation in operations:
        if operation.unit == PER_SECOND:
            continue
        from_start = operation.dimensions.get(MEASURED) == INTENDED
        name = f"{operation.operation}, from the intended start" if from_start else operation.operation
        table.add_row(name, *_numbers(operation), style="bold" if operation.headline else "")
        repeats = not operation.headline and operation.operation == operations[0].operation
        for code, number in sorted(({} if repeats else operation.errors).items()):
            table.add_row(Text(f"  {code}", "red"), "", str(number))
    return table


def _add_numbers(table: Table) -> None:
    for heading in ("count", "failed", *(f"p{float(at) * 100:g}" for at in SHOWN), "max"):
        table.add_column(heading, justify="right")


def _numbers(operation: OperationResult) -> list[str]:
    failed = sum(operation.errors.values())
    quantiles = [operation.quantiles.get(at) for at in SHOWN]
    return [
        str(operation.count),
        f"{failed} ({failed / (operation.count + failed):.1%})" if failed else "0",
        *(_milliseconds(estimate.value) if estimate else "-" for estimate in quantiles),
        _milliseconds(operation.maximum) if operation.maximum is not None else "-",
    ]


def _milliseconds(seconds: float) -> str:
    value = seconds * 1000
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _progress(facts: dict[str, Any]) -> str:
    elapsed = min(float(facts["elapsed"]), float(facts["whole"]))
    phase = "warming up" if elapsed < facts["warm_up"] else f"{elapsed:.0f} of {facts['whole']:.0f} s"
    rate = f"{facts['rate']:.3g} per second, " if facts["rate"] else ""
    median = f", median {_milliseconds(facts['median'])} ms" if facts["median"] is not None else ""
    late = f", {facts['late']} late" if facts["late"] else ""
    return (
        f"load {rate}{phase}: {facts['ended']} cycles over, {facts['errors']} failed, {facts['under_way']}"
        f" under way{late}{median}"
    )
