"""A benchmark as a file for `pytest-benchmark compare`: one entry per operation and set of dimensions.

Only durations are written, as the format has no other unit than seconds.
"""

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pytest_benchmark.stats import Stats

from critests.record.operations import OperationResult
from critests.record.run_layout import RunFolder
from critests.record.run_record import RunRecord
from critests.record.samples import Series, read_samples
from critests.record.summaries import summarised
from critests.record.units import SECONDS
from critests.report.formats.source import NotExported, Source
from critests.report.wording.quantities import percentile
from critests.report.wording.texts import one_line

SHAPE: Final = "5.3.1"
"""Version of pytest-benchmark whose file format is written."""


def render(source: Source) -> str:
    """Return the durations of a benchmark with their samples, as `pytest --benchmark-json` writes them.

    Raises:
        NotExported: there are no samples next to the record.
        RecordUnreadable: the samples are damaged.
    """
    series = read_samples(RunFolder(source.folder).samples) if source.folder else []
    if not series:
        msg = (
            "there are no samples next to the record: pytest-benchmark's format needs a benchmark run"
            " (critests bench)"
        )
        raise NotExported(msg)
    return json.dumps(to_pytest_benchmark(source.record, series), indent=1) + "\n"


def to_pytest_benchmark(record: RunRecord, series: Iterable[Series]) -> dict[str, Any]:
    """Return the document as plain data.

    Failed calls and the warm-up are left out of the samples; `extra_info` counts them. An operation without a
    successful call has no entry, as the format requires a sample; nor has one whose samples are all 0, as
    ratios to it would be infinite.
    """
    timed = [each for each in series if each.unit == SECONDS and any(each.steady())]
    results = {(each.key, each.side): each for each in record.operations if each.unit == SECONDS}
    machine = record.machine
    processor = machine.get("cpu")
    return {
        "machine_info": {
            "node": "",  # no host names in what is published
            "system": "Linux",
            "machine": str(machine.get("architecture", "")),
            "release": str(machine.get("kernel", "")),
            "processor": str(processor.get("model", "")) if isinstance(processor, dict) else "",
            "cpu": dict(processor) if isinstance(processor, dict) else {},
            "runtime": {
                "name": record.runtime.name,
                "version": record.runtime.version,
                "endpoint": record.runtime.endpoint,
            },
        },
        "commit_info": {
            "id": "unversioned",
            "time": None,
            "author_time": None,
            "dirty": False,
            "project": "critests",
            "branch": "(unknown)",
        },
        "benchmarks": _distinct([_entry(each, results.get((each.key, each.side))) for each in timed]),
        "datetime": dt.datetime.fromtimestamp(record.started, dt.UTC).isoformat(),
        "version": SHAPE,
    }


def full_name(series: Series) -> str:
    """Return the name that pairs entries of two files, made of scenario, operation, dimensions and side."""
    return f"critests/benchmark/{series.scenario}::{_name(series)}"


def _statistics(values: Sequence[float]) -> dict[str, Any]:
    """Return pytest-benchmark's statistics of durations in seconds, at least one, with the durations."""
    # pytest-benchmark is not typed
    stats: Any = Stats()  # type: ignore[no-untyped-call]  # see above
    stats.data = list(values)
    return {**stats.as_dict(), "data": stats.data, "iterations": 1}


def _distinct(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Append a number to names that occur more than once."""
    given: dict[str, int] = {}
    for entry in entries:
        number = given[entry["fullname"]] = given.get(entry["fullname"], 0) + 1
        if number > 1:
            entry["fullname"] += f"#{number}"
    return entries


def _entry(series: Series, result: OperationResult | None) -> dict[str, Any]:
    found = result or summarised(series)
    params = series.dimensions | ({"side": series.side} if series.side else {})
    return {
        "group": series.scenario,
        "name": _name(series),
        "fullname": full_name(series),
        "params": params or None,
        "param": _param(params) or None,
        "extra_info": _extra(series, found),
        "options": {
            "disable_gc": True,
            "timer": "perf_counter",
            "min_rounds": 1,
            "max_time": 0.0,
            "min_time": 0.0,
            "warmup": bool(series.warm_up),
        },
        "stats": _statistics(series.steady()),
    }


def _extra(series: Series, found: OperationResult) -> dict[str, Any]:
    quantiles = {
        percentile(at): {"value": estimate.value, "low": estimate.low, "high": estimate.high}
        for at, estimate in found.quantiles.items()
    }
    return {
        "scenario": series.scenario,
        "operation": series.operation,
        "dimensions": dict(series.dimensions),
        "side": series.side,
        "quantiles": quantiles,
        "errors": dict(found.errors),
        "calls": len(series.value),
        "warm_up": found.warm_up,
        "steadiness": found.steadiness,
        "stopped": found.stopped,
        "client_seconds": found.client_seconds,
        "client_bound": found.client_bound,
        "over_reference": found.over_reference,
        "resources": dict(found.resources),
    }


def _name(series: Series) -> str:
    param = _param(series.dimensions | ({"side": series.side} if series.side else {}))
    return one_line(series.operation) + (f"[{param}]" if param else "")


def _param(params: Mapping[str, str]) -> str:
    return one_line("-".join(f"{name}={value}" for name, value in sorted(params.items())))
