"""The run as metrics in Prometheus' text format, for node_exporter's textfile collector.

Samples have no timestamps, which that collector rejects. Units are base units.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Final

from critests.catalogue.words import Outcome
from critests.record.blocking import BREACHES
from critests.record.identity import OCI_RUNTIME, RuntimeIdentity
from critests.record.operations import OperationResult
from critests.record.run_record import RunRecord
from critests.report.facts.explanations import title_of
from critests.report.facts.operation_names import quantiles
from critests.report.facts.run_facts import runtime_of
from critests.report.formats.source import Source
from critests.report.wording.texts import one_line

FAMILIES: Final = {
    "s": "seconds",
    "B": "bytes",
    "B/s": "bytes_per_second",
    "1/s": "per_second",
}
"""Unit of an operation to the suffix of the metric's name."""
VALUE_LIMIT: Final = 200
_Labels = dict[str, str]


@dataclass
class Family:
    """One metric family.

    Attributes:
        name: Its name.
        kind: `gauge` or `summary`.
        text: Help text, one line.
        samples: Suffix of the name, labels, value.
    """

    name: str
    kind: str
    text: str
    samples: list[tuple[str, _Labels, float]] = field(default_factory=list)

    def add(self, value: float, suffix: str = "", /, **labels: str) -> None:
        """Add a sample without its empty labels; a value that is not finite is not added."""
        if math.isfinite(value):
            self.samples.append((suffix, {name: text for name, text in labels.items() if text}, value))


def render(source: Source) -> str:
    """Return the text. `--output` writes it atomically, as the collector requires."""
    record = source.record
    common = _runtime_labels(record.runtime)
    lines = []
    for family in _families(record):
        lines += [f"# HELP {family.name} {_escaped(family.text)}", f"# TYPE {family.name} {family.kind}"]
        seen = set()  # the collector rejects a file in which two samples have the same labels
        for suffix, labels, value in family.samples:
            texts = ",".join(
                f'{key}="{_escaped(text, quotes=True)}"' for key, text in (common | labels).items() if text
            )
            series = f"{family.name}{suffix}{{{texts}}}"
            if series not in seen:
                seen.add(series)
                lines.append(f"{series} {value:.12g}")
    return "\n".join(lines) + "\n"


def _families(record: RunRecord) -> list[Family]:
    run = Family("critests_run_info", "gauge", "The run.")
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
        "Exit code: 0 no new failure, 1 a new failure, 2 interrupted, 3 the suite failed, 5 not tested.",
    )
    code.add(record.exit_code)
    began = Family("critests_run_start_time_seconds", "gauge", "Start of the run, since the epoch.")
    began.add(record.started)
    took = Family("critests_run_duration_seconds", "gauge", "How long the run took.")
    took.add(max(record.finished - record.started, 0))
    tests = Family("critests_tests", "gauge", "Number of tests by area and outcome.")
    for area, numbers in sorted(record.counts.areas.items()):
        for outcome, number in sorted(numbers.items()):
            if outcome != Outcome.DISABLED:
                tests.add(number, area=area, outcome=outcome)
    results = Family(
        "critests_result",
        "gauge",
        "Always 1: the outcome of a requirement that was selected, and its promise if it is broken.",
    )
    for requirement, verdict in sorted(record.requirements.items()):
        if verdict.outcome is Outcome.DISABLED:
            continue
        promise = title_of(requirement) if verdict.outcome in BREACHES else ""
        results.add(1, requirement=requirement, outcome=verdict.outcome.value, promise=promise)
    capabilities = Family(
        "critests_capability",
        "gauge",
        "1 if the capability is present, 0 if it is not; unknown ones are left out.",
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
            ending = FAMILIES.get(operation.unit, "value")
            text = (
                "Measurements of an operation, in"
                f" {operation.unit if operation.unit in FAMILIES else 'its own unit'}."
            )
            family = found.setdefault(ending, Family(f"critests_operation_{ending}", "summary", text))
            for at, estimate in quantiles(operation):
                family.add(estimate.value, quantile=f"{at:g}", **labels)
            if operation.mean is not None:
                family.add(operation.mean * operation.count, "_sum", **labels)
            family.add(operation.count, "_count", **labels)
    return [*found.values(), errors]


def _runtime_labels(runtime: RuntimeIdentity) -> _Labels:
    return {
        "runtime": runtime.name,
        "runtime_version": runtime.version,
        "handler": ",".join(filter(None, runtime.handlers)),
        "oci_runtime": runtime.parts.get(OCI_RUNTIME, ""),
    }


def _labels(record: RunRecord, operation: OperationResult) -> _Labels:
    runtime = runtime_of(record, operation)
    dimensions = {
        f"dimension_{re.sub('[^A-Za-z0-9_]', '_', name)}": value
        for name, value in sorted(operation.dimensions.items())
    }
    return (
        _runtime_labels(runtime)
        | {
            "scenario": operation.scenario,
            "operation": operation.operation,
            "side": operation.side,
        }
        | dimensions
    )


def _escaped(text: str, *, quotes: bool = False) -> str:
    plain = one_line(text, VALUE_LIMIT).replace("\\", r"\\")
    return plain.replace('"', r"\"") if quotes else plain
