"""How the operations of a benchmark run grow with a number of things, as CSV (RFC 4180, UTF-8): a row for
each number, so that a plot has its points and its line, in base units.
"""

import csv
import io
from typing import Final

from critests.report.facts.growth import Grown, growths
from critests.report.formats.operations_csv import cell
from critests.report.formats.source import NotExported, Source

COLUMNS: Final = (
    "scenario",
    "operation",
    "side",
    "dimensions",
    "unit",
    "by",
    "number",
    "median",
    "deviation",
    "line",
    "growth",
    "one_more",
    "one_more_low",
    "one_more_high",
    "exponent",
    "exponent_low",
    "exponent_high",
    "next_one",
)


def render(source: Source) -> str:
    """Return the table.

    Raises:
        NotExported: no operation of the run was measured at three numbers of anything.
    """
    found = growths(source.record.operations)
    if not found:
        msg = "nothing in this run was measured at three numbers of anything: there is no growth to tell"
        raise NotExported(msg)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([cell(value) for value in row] for each in found for row in _rows(each))
    return out.getvalue()


def _rows(each: Grown) -> list[list[object]]:
    found = each.growth
    dimensions = " ".join(f"{name}={value}" for name, value in sorted(each.dimensions.items()))
    return [
        [
            each.scenario,
            each.operation,
            each.side,
            dimensions,
            each.unit,
            each.of,
            level.number,
            level.value,
            level.deviation,
            found.line(level.number),
            each.form,
            found.slope,
            found.slope_interval.low,
            found.slope_interval.high,
            found.exponent,
            found.exponent_interval.low,
            found.exponent_interval.high,
            found.marginal,
        ]
        for level in found.levels
    ]
