"""The run as metrics: OpenMetrics text with the time of the run, or Prometheus text without.

The first is what `promtool tsdb create-blocks-from openmetrics` fills a history with; the second what
node_exporter's textfile collector reads, which refuses a file with times. Units are base units. Formats: the
OpenMetrics 1.0 and Prometheus text exposition documents.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Final

from critests.record.operations import OperationResult
from critests.record.run import RunRecord
from critests.report.facts.operations import quantiles
from critests.report.facts.run_facts import runtime_of
from critests.report.formats.source import Source
from critests.report.wording.texts import one_line

FAMILIES: Final = {
    "s": ("seconds", "seconds"),
    "B": ("bytes", "bytes"),
    "B/s": ("bytes_per_second", ""),
    "1/s": ("per_second", ""),
}
"""Unit of an operation to the end of its family's name, and the unit that OpenMetrics knows it by."""
VALUE_LIMIT: Final = 200
_Labels = dict[str, str]


@dataclass
class Family:
    """One metric.

    Attributes:
        name: Its name.
        kind: `gauge`, `summary` or `info`.
        text: What it is, one line.
        unit: `seconds`, `bytes` or empty.
        samples: Suffix of the name, labels, value.
    """

    name: str
    kind: str
    text: str
    unit: str = ""
    samples: list[tuple[str, _Labels, float]] = field(default_factory=list)

    def add(self, value: float, suffix: str = "", /, **labels: str) -> None:
        """Add a sample; labels without a value are left out, and so is a value that is no number."""
        if math.isfinite(value):
            self.samples.append((suffix, {name: text for name, text in labels.items() if text}, value))


def openmetrics(source: Source) -> str:
    """Return OpenMetrics text; every sample has the time at which the run ended."""
    return _written(source.record, stamp=f" {max(source.record.finished, 0):.3f}", strict=True)


def prometheus(source: Source) -> str:
    """Return Prometheus text without times. Write it beside its place and rename it: `--output` does so."""
    return _written(source.record, stamp="", strict=False)


def _written(record: RunRecord, *, stamp: str, strict: bool) -> str:
    common = {"runtime": record.runtime.name, "runtime_version": record.runtime.version}
    lines = []
    for family in _families(record):
        # Prometheus' own text format knows no info; there it is a gauge, whose name has the ending itself
        name = f"{family.name}_info" if family.kind == "info" and not strict else family.name
        lines += [f"# HELP {name} {_escaped(family.text, strict)}"]
        lines += [f"# TYPE {name} {'gauge' if family.kind == 'info' and not strict else family.kind}"]
        lines += [f"# UNIT {name} {family.unit}"] if strict and family.unit else []
        seen = set()  # a collector refuses a file in which two samples have the same labels
        for suffix, labels, value in family.samples:
            ending = "_info" if family.kind == "info" else suffix
            texts = ",".join(
                f'{key}="{_escaped(text, quotes=True)}"' for key, text in (common | labels).items()
            )
            series = f"{family.name}{ending}{{{texts}}}"
            if series not in seen:
                seen.add(series)
                lines.append(f"{series} {value:.12g}{stamp}")
    return "\n".join([*lines, *(["# EOF"] if strict else [])]) + "\n"


def _families(record: RunRecord) -> list[Family]:
    run = Family("critests_run", "info", "The run.")
    run.add(
        1,
        run=record.run_id,
        kind=record.kind,
        suite_version=record.suite_version,
        catalogue=record.catalogue_revision,
        cri_api=record.runtime.api_version,
        api_level=record.api_level.declared or record.api_level.proven,
        kernel=str(record.machine.get("kernel") or ""),
        profile=record.benchmark.profile if record.benchmark else "",
    )
    code = Family(
        "critests_exit_code",
        "gauge",
        "Exit code: 0 conforms, 1 broken, 2 interrupted, 3 the suite failed, 5 not tested.",
    )
    code.add(record.exit_code)
    began = Family(
        "critests_run_start_time_seconds", "gauge", "Start of the run, since the epoch.", "seconds"
    )
    began.add(record.started)
    took = Family("critests_run_duration_seconds", "gauge", "How long the run took.", "seconds")
    took.add(max(record.finished - record.started, 0))
    tests = Family("critests_tests", "gauge", "Number of tests by area and outcome.")
    for area, numbers in sorted(record.counts.areas.items()):
        for outcome, number in sorted(numbers.items()):
            tests.add(number, area=area, outcome=outcome)
    results = Family("critests_result", "gauge", "Always 1: the outcome of a requirement.")
    for requirement, verdict in sorted(record.requirements.items()):
        results.add(1, requirement=requirement, outcome=verdict.outcome.value)
    capabilities = Family(
        "critests_capability",
        "gauge",
        "1 where the capability is offered, 0 where it is not; unknown ones are left out.",
    )
    for fact in record.capabilities:
        if fact.present is not None:
            capabilities.add(int(fact.present), capability=fact.name)
    return [
        each
        for each in (run, code, began, took, tests, results, capabilities, *_operations(record))
        if each.samples
    ]


def _operations(record: RunRecord) -> list[Family]:
    found: dict[str, Family] = {}
    errors = Family("critests_operation_errors", "gauge", "Number of calls that failed, by gRPC status code.")
    for operation in record.operations:
        labels = _labels(record, operation)
        for code, number in sorted(operation.errors.items()):
            errors.add(number, code=code, **labels)
        if operation.count:
            ending, unit = FAMILIES.get(operation.unit, ("value", ""))
            text = (
                "What was measured of an operation, in"
                f" {operation.unit if operation.unit in FAMILIES else 'its own unit'}."
            )
            family = found.setdefault(ending, Family(f"critests_operation_{ending}", "summary", text, unit))
            for at, estimate in quantiles(operation):
                family.add(estimate.value, quantile=f"{at:g}", **labels)
            if operation.mean is not None:
                family.add(operation.mean * operation.count, "_sum", **labels)
            family.add(operation.count, "_count", **labels)
    return [*found.values(), errors]


def _labels(record: RunRecord, operation: OperationResult) -> _Labels:
    runtime = runtime_of(record, operation)
    dimensions = {
        f"dimension_{re.sub('[^A-Za-z0-9_]', '_', name)}": value
        for name, value in sorted(operation.dimensions.items())
    }
    return {
        "runtime": runtime.name,
        "runtime_version": runtime.version,
        "scenario": operation.scenario,
        "operation": operation.operation,
        "side": operation.side,
    } | dimensions


def _escaped(text: str, quotes: bool) -> str:  # noqa: FBT001 - help texts differ from labels in just that
    plain = one_line(text, VALUE_LIMIT).replace("\\", r"\\")
    return plain.replace('"', r"\"") if quotes else plain
