"""The operations of a benchmark run as CSV (RFC 4180, UTF-8), one per row, in base units."""

import csv
import io
from typing import Final

from critests.record.operations import OperationResult
from critests.report.facts.operation_names import quantiles
from critests.report.formats.source import NotExported, Source
from critests.report.wording.quantities import percentile
from critests.report.wording.texts import one_line

FIRST: Final = {
    **{name: name for name in ("scenario", "operation", "side", "dimensions", "unit", "better")},
    "samples": "count",
    **{name: name for name in ("warm_up", "errors", "minimum", "mean", "maximum")},
}
"""Columns before the quantiles, each with the name of its field."""
LAST: Final = ("steadiness", "client_seconds", "client_bound", "over_reference", "note")


def render(source: Source) -> str:
    """Return the table; a quantile has columns if the samples of any operation support it.

    Raises:
        NotExported: the run measured nothing.
    """
    operations = source.record.operations
    if not operations:
        msg = "this run measured nothing: the CSV format needs a benchmark run (critests bench)"
        raise NotExported(msg)
    levels = sorted({at for operation in operations for at, _ in quantiles(operation)})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    names = [percentile(str(at)) for at in levels]
    writer.writerow(
        [*FIRST, *(column for name in names for column in (name, f"{name}_low", f"{name}_high")), *LAST]
    )
    for operation in operations:
        writer.writerow([cell(value) for value in _row(operation, levels)])
    return out.getvalue()


def _row(operation: OperationResult, levels: list[float]) -> list[object]:
    found = dict(quantiles(operation))
    numbers: list[object] = []
    for at in levels:
        estimate = found.get(at)
        numbers += [estimate.value, estimate.low, estimate.high] if estimate else [None, None, None]
    fields = [getattr(operation, name) for name in (*FIRST.values(), *LAST)]
    return [*fields[: len(FIRST)], *numbers, *fields[len(FIRST) :]]


def cell(value: object) -> str:
    """Return a value as a cell; a text that a spreadsheet would interpret as a formula gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict):
        value = " ".join(f"{name}={each}" for name, each in sorted(value.items()))
    text = one_line(str(value), 500)
    return f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text
