"""The contents of a benchmark report as plain data, for the page and the terminal.

Every latency comes with its errors, and only percentiles that the number of samples supports are shown.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from critests.catalogue.words import WORST_FIRST, Outcome, worst
from critests.exit_codes import ExitCode
from critests.record.identity import OCI_RUNTIME
from critests.record.operations import OperationResult
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.record.units import HIGHER, SECONDS
from critests.report.facts.operation_names import label
from critests.report.facts.side_names import Reported, distinct_names
from critests.report.plots.strip import Spread
from critests.report.wording.quantities import digits, percentile, quantity, reading, share
from critests.report.wording.texts import one_line, plural
from critests.statistics.quantiles import supports

TIMES: Final = "\N{MULTIPLICATION SIGN}"
MEDIAN: Final = 0.5
TAIL: Final = 0.99
STEAL: Final = 0.01
"""Share of CPU time stolen by other guests above which the report warns."""
JITTER: Final = 2.0
"""A machine is noisy if p99 of the spin loop exceeds this multiple of its median."""
LATE: Final = 0.01
VERDICTS: Final[Mapping[int, tuple[str, Outcome]]] = {
    ExitCode.NO_NEW_FAILURE: ("Measured", Outcome.PASSED),
    ExitCode.BROKEN: ("Not all scenarios measured", Outcome.FAILED),
    ExitCode.INTERRUPTED: ("Interrupted", Outcome.DISABLED),
    ExitCode.HARNESS_ERROR: ("Harness error", Outcome.ERROR),
    ExitCode.NOT_TESTED: ("Not measured", Outcome.BLOCKED),
}


@dataclass(frozen=True)
class OperationRow:
    """One operation in a table; text fields are ready to print, and empty without content.

    Attributes:
        scenario: Id of its scenario.
        name: The operation with its dimensions.
        side: Name of its side in a live comparison.
        count: Number of steady samples that succeeded.
        errors: `none`, or number and share of the failed calls.
        codes: Their status codes, the most frequent first.
        failed: Whether there were errors.
        median: The median; the range of the samples if they are too few for a median.
        interval: Its 95 % confidence interval.
        spread: The larger half of that interval, as a share of the median.
        tail: The highest supported quantile up to p99 (the lowest if higher is better), with its name.
        client: The client's own cost per operation.
        client_share: That cost as a share of the median.
        client_bound: Whether the client takes a large share of the median.
        over: The median as a multiple of that of the OCI runtime alone.
        resources: Resources that the runtime used for one operation: name and amount.
        headline: Whether the scenario is about this operation.
        result: The recorded result.
    """

    scenario: str
    name: str
    side: str
    count: str
    errors: str
    codes: str
    failed: bool
    median: str
    interval: str
    spread: str
    tail: str
    client: str
    client_share: str
    client_bound: bool
    over: str
    resources: list[tuple[str, str]]
    headline: bool
    result: OperationResult

    @property
    def details(self) -> list[tuple[str, str]]:
        """Return all further numbers with their names."""
        found, unit = self.result, self.result.unit
        shown = reading(unit, typical(found))
        numbers = [
            ("min", found.minimum),
            *((percentile(f"{at:g}"), found.quantiles[key].value) for at, key in supported(found)),
        ]
        numbers += [("max", found.maximum), ("mean", found.mean), ("MAD", found.mad)]
        return [(name, shown.text(value)) for name, value in numbers if value is not None]

    @property
    def range(self) -> str:
        """Return the smallest and the largest sample, or nothing."""
        found = self.result
        if found.minimum is None or found.maximum is None:
            return ""
        shown = reading(found.unit, typical(found))
        return f"{shown.number(found.minimum)} to {shown.text(found.maximum)}"

    @property
    def extremes(self) -> dict[str, str]:
        """Return the known ones of minimum, maximum and MAD, by name."""
        return {name: text for name, text in self.details if name in {"min", "max", "MAD"}}

    @property
    def deviation(self) -> str:
        """Return the median absolute deviation, or nothing."""
        found = self.result
        return "" if found.mad is None else f"MAD {reading(found.unit, typical(found)).text(found.mad)}"

    @property
    def sampling(self) -> str:
        """Return how the samples were taken: warm-up, steadiness, why sampling ended, late starts, note."""
        found = self.result
        parts = [
            _warm_up(found),
            f"stopped: {found.stopped}" if found.stopped else "",
            f"{share(found.late_share)} started late" if found.late_share is not None else "",
            found.note,
        ]
        return "; ".join(one_line(text) for text in parts if text)


@dataclass(frozen=True)
class ScenarioView:
    """One scenario with its outcome.

    Attributes:
        id: Its id, such as `B-06`; for a test without a scenario the name of the test.
        title: What it measures.
        outcome: The worst outcome of its tests, or `untested` for operations without a test.
        reason: Why it did not pass.
        repeat: Command that measures it again.
        rows: Its operations.
    """

    id: str
    title: str
    outcome: str
    reason: str
    repeat: str
    rows: list[OperationRow]


def _client_share(part: float) -> str:
    """Return the client's share of the median, at most “all of it”."""
    return share(part) if part <= 1 else "all of it"


def verdict_word(record: RunRecord) -> tuple[str, Outcome]:
    """Return the verdict on a run in a few words, and the outcome with whose colour it is shown."""
    return VERDICTS.get(record.exit_code, (f"Exit code {record.exit_code}", Outcome.DISABLED))


def scenarios(record: RunRecord) -> list[ScenarioView]:
    """Return the scenarios of a run in the order of their ids, each with its operations."""
    tests: dict[str, list[TestResult]] = {}
    for test in record.tests:
        if test.outcome is not Outcome.DISABLED and (record.kind == "benchmark" or test.area == "benchmark"):
            tests.setdefault(test.group or test.name, []).append(test)
    operations: dict[str, list[OperationResult]] = {}
    for operation in record.operations:
        if not _is_nothing(operation):
            operations.setdefault(operation.scenario, []).append(operation)
    names = side_names(record)
    return [
        _scenario(name, tests.get(name, []), [row(each, names) for each in _paired(operations.get(name, []))])
        for name in sorted(tests.keys() | operations.keys())
    ]


def _is_nothing(found: OperationResult) -> bool:
    """Return whether every sample is 0, so that the operation needs no row."""
    return found.minimum == 0 and found.maximum == 0 and not found.errors


def row(found: OperationResult, sides: dict[str, str]) -> OperationRow:
    """Return the row of an operation.

    Args:
        found: The operation.
        sides: `a` and `b` to the names of the sides.
    """
    middle, unit = typical(found), found.unit
    shown = reading(unit, middle)
    estimates = dict(supported(found))
    estimate = found.quantiles[estimates[MEDIAN]] if MEDIAN in estimates else None
    interval = spread = ""
    if estimate is not None and estimate.low is not None and estimate.high is not None:
        interval = f"{shown.number(estimate.low)} to {shown.number(estimate.high)}"
        half = max(estimate.high - estimate.value, estimate.value - estimate.low)
        spread = share(half / estimate.value) if estimate.value > 0 else ""
    failed = sum(found.errors.values())
    return OperationRow(
        scenario=found.scenario,
        name=label(found.operation, found.dimensions),
        side=sides.get(found.side, found.side.upper()),
        count=f"{found.count:,}",
        errors=_errors(found) if failed else "none",
        codes=_codes(found),
        failed=bool(failed),
        median=shown.text(estimate.value) if estimate else _range(found),
        interval=interval,
        spread=spread,
        tail=_tail(found, estimates),
        client=quantity(found.client_seconds, SECONDS) if found.client_seconds is not None else "",
        client_share=_client_share(found.client_seconds / middle)
        if found.client_seconds is not None and middle > 0 and unit == SECONDS
        else "",
        client_bound=found.client_bound,
        over=f"{digits(found.over_reference)}{TIMES}" if found.over_reference is not None else "",
        resources=[_resource(name, amount) for name, amount in found.resources.items()],
        headline=found.headline,
        result=found,
    )


def spread_of(each: OperationRow) -> Spread | None:
    """Return the spread of the samples of a row; None without samples."""
    found = each.result
    if found.minimum is None or found.maximum is None:
        return None
    known = {at: found.quantiles[key].value for at, key in supported(found)}
    inner = (known[0.1], known[0.9]) if {0.1, 0.9} <= known.keys() else None
    return Spread(found.minimum, found.maximum, known.get(MEDIAN), inner)


def supported(found: OperationResult) -> list[tuple[float, str]]:
    """Return the supported quantiles in ascending order: level, and key in the record."""
    places = []
    for key in found.quantiles:
        try:
            at = float(key)
        except ValueError:
            continue
        if 0 < at < 1 and supports(found.count, at):
            places.append((at, key))
    return sorted(places)


def typical(found: OperationResult) -> float:
    """Return the median, or another typical value; 0 without samples."""
    at = dict(supported(found)).get(MEDIAN)
    if at is not None:
        return found.quantiles[at].value
    return next((value for value in (found.mean, found.maximum) if value is not None), 0.0)


def side_names(record: RunRecord) -> dict[str, str]:
    """Return the names of the sides of a live comparison by `a` and `b`; empty with one side."""
    sides = record.benchmark.sides if record.benchmark else {}
    if sides.keys() != {"a", "b"}:
        return {}
    both = [sides[side] for side in "ab"]
    said = (
        Reported(side.name, side.version, side.handlers, side.binary_path, side.parts.get(OCI_RUNTIME, ""))
        for side in both
    )
    return dict(zip("ab", distinct_names(*said), strict=True))


def cares(record: RunRecord) -> list[str]:
    """Return the caveats of the results: the notes of the run, and warnings derived from the numbers."""
    names = side_names(record)
    rows = [row(each, names) for each in record.operations]
    found = list(record.notes)
    failing = [each for each in rows if each.failed]
    if failing:
        found.append(f"calls failed in {plural(len(failing), 'operation')}: {_names(failing, codes=True)}")
    bound = [each for each in rows if each.client_bound]
    if bound:
        found.append(
            f"client-bound (the client itself takes more than a third of the median): {_names(bound)}"
        )
    unsteady = [each for each in rows if each.result.steadiness == "never steady"]
    if unsteady:
        found.append(f"never steady (the median depends on the duration of the run): {_names(unsteady)}")
    late = [each for each in rows if each.result.late_share is not None and each.result.late_share > LATE]
    if late:
        found.append(f"more than 1 % of the calls started later than intended: {_names(late)}")
    facts = record.benchmark
    if facts is not None and facts.steal_share is not None and facts.steal_share > STEAL:
        found.append(
            f"other guests of the host took {share(facts.steal_share)} of the CPU time during the run"
        )
    for probe in facts.noise if facts is not None else []:
        if (
            probe.name == "spin"
            and probe.median_seconds > 0
            and probe.p99_seconds > JITTER * probe.median_seconds
        ):
            times = probe.p99_seconds / probe.median_seconds
            found.append(f"the machine was noisy: p99 of a spin loop was {digits(times)} times its median")
    return found


def _scenario(name: str, tests: Sequence[TestResult], rows: list[OperationRow]) -> ScenarioView:
    if not tests:
        return ScenarioView(name, "", "untested", "", "", rows)
    verdict = worst([test.outcome for test in tests])
    speaking = min(tests, key=lambda test: WORST_FIRST.index(test.outcome))
    reasons = dict.fromkeys(
        test.seen or test.reason for test in tests if test.outcome is verdict and (test.seen or test.reason)
    )
    return ScenarioView(
        name, tests[0].title, verdict.value, "; ".join(reasons), speaking.repeat_command, rows
    )


def _paired(operations: Sequence[OperationResult]) -> list[OperationResult]:
    """Group the operations, and the sides of each; otherwise preserve the order."""
    of_operation: dict[object, int] = {}
    place: dict[object, int] = {}
    for each in operations:
        of_operation.setdefault((each.operation, each.unit), len(of_operation))
        place.setdefault((each.key, each.unit), len(place))
    return sorted(
        operations,
        key=lambda each: (of_operation[each.operation, each.unit], place[each.key, each.unit], each.side),
    )


def _errors(found: OperationResult) -> str:
    failed = sum(found.errors.values())
    return f"{failed:,} ({share(failed / max(found.count + found.warm_up + failed, 1))})"


def _codes(found: OperationResult) -> str:
    return ", ".join(
        f"{one_line(code, 40)} {number:,}"
        for code, number in sorted(found.errors.items(), key=lambda item: -item[1])
    )


def _range(found: OperationResult) -> str:
    if found.minimum is None or found.maximum is None:
        return ""
    shown = reading(found.unit, found.maximum)
    if math.isclose(found.minimum, found.maximum):
        return shown.text(found.maximum)
    return f"{shown.number(found.minimum)} to {shown.text(found.maximum)}"


def _tail(found: OperationResult, estimates: dict[float, str]) -> str:
    ends = [at for at in estimates if (at < MEDIAN if found.better == HIGHER else MEDIAN < at <= TAIL)]
    if not ends:
        return ""
    at = min(ends) if found.better == HIGHER else max(ends)
    return f"{percentile(f'{at:g}')} {quantity(found.quantiles[estimates[at]].value, found.unit)}"


def _warm_up(found: OperationResult) -> str:
    left_out = f"{plural(found.warm_up, 'sample')} of warm-up left out" if found.warm_up else ""
    steadiness = {
        "steady": "then steady" if left_out else "steady from the start",
        "too short to tell": "too few samples for a test of steadiness",
    }
    return ", ".join(filter(None, (left_out, steadiness.get(found.steadiness, one_line(found.steadiness)))))


def _resource(name: str, amount: float) -> tuple[str, str]:
    for suffix, unit in (("_seconds", SECONDS), ("_bytes", "B")):
        if name.endswith(suffix):
            return name.removesuffix(suffix).replace("_", " "), quantity(amount, unit)
    return name.replace("_", " "), digits(amount)


def _names(rows: Sequence[OperationRow], *, codes: bool = False) -> str:
    names = [
        f"{each.scenario} {one_line(each.name, 60)}"
        + (f" on {each.side}" if each.side else "")
        + (f" ({each.codes})" if codes else "")
        for each in rows
    ]
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
