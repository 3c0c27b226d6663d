"""A benchmark run as the data items of Kubernetes' perf-dash.

perf-dash draws one line for each set of labels and wants the same quantiles and unit along a line. Which
quantiles there are follows
from the number of samples, so it is a label too: a longer run begins a line of its own instead of bending
another. Jobs of the type `benchmark` read `artifacts/BenchmarkResults_benchmark*.json` below an integer
build.
"""

import json
from typing import Final

from critests.record.operations import OperationResult
from critests.report.facts.operations import median, quantiles
from critests.report.facts.run_facts import runtime_of
from critests.report.formats.source import NotExported, Source
from critests.report.wording.quantities import percentile
from critests.report.wording.texts import one_line

VERSION: Final = "v1"
UNITS: Final = {"s": (1e3, "ms"), "B": (1e-6, "MB"), "B/s": (1e-6, "MB/s")}


def render(source: Source) -> str:
    """Return the JSON document.

    Raises:
        NotExported: the run measured nothing.
    """
    if not source.record.operations:
        msg = "this run measured nothing: perf-dash shows benchmark runs (critests bench)"
        raise NotExported(msg)
    record = source.record
    items = [
        item
        for operation in record.operations
        if (item := _item(operation, runtime_of(record, operation).name))
    ]
    return (
        json.dumps({"version": VERSION, "dataItems": items, "labels": {}}, indent=1, ensure_ascii=True) + "\n"
    )


def _item(operation: OperationResult, runtime: str) -> dict[str, object] | None:
    factor, unit = UNITS.get(operation.unit, (1.0, operation.unit))
    data = {
        f"Perc{percentile(str(at))[1:]}": round(estimate.value * factor, 6)
        for at, estimate in quantiles(operation)
    }
    middle = median(operation)
    if not data and middle:
        data = {"Average": round(middle.value * factor, 6)}
    if not data:
        return None
    labels = {
        "Metric": operation.operation,
        "Scenario": operation.scenario,
        "Runtime": runtime,
        "Buckets": " ".join(data),
        "Count": str(operation.count),
        **({"Side": operation.side} if operation.side else {}),
        **{f"{name[:1].upper()}{name[1:]}": value for name, value in sorted(operation.dimensions.items())},
    }
    return {
        "data": data,
        "unit": one_line(unit, 20),
        "labels": {one_line(name, 100): one_line(value, 200) for name, value in labels.items()},
    }
