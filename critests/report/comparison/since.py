"""What changed since an earlier run of the same machine: which operations, and what those lack that are
open.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from critests.exit_codes import ExitCode
from critests.record.errors import RecordUnreadable
from critests.record.files import read
from critests.record.layout import LAST, newest_first, safe_name
from critests.record.run import RunRecord
from critests.record.samples import SECONDS, Series
from critests.report.comparison.compare import compare_records
from critests.report.comparison.machines import compare_machines
from critests.report.comparison.model import CompareSettings, Operation, RunComparison
from critests.report.comparison.speed import Measured, measured
from critests.report.comparison.stored import StoredRun, read_run
from critests.statistics import Settling, Verdict, inefficiency, settling

PROVEN: Final = frozenset({Verdict.SLOWER.value, Verdict.FASTER.value})
NO_EARLIER: Final = (
    "no earlier run is like this one: whole and good, of the same runtime and handlers, on a machine that"
    " agrees, with an operation in common"
)
SEEN: Final = "seen, and not proven"
"""Why an operation is open whose difference is larger than the noise floor."""


@dataclass(frozen=True)
class Open:
    """An operation of which it cannot be said whether it changed.

    Attributes:
        operation: As the comparison has it.
        why: What keeps it open.
        lacks: What would settle it.
    """

    operation: Operation
    why: str
    lacks: Settling


@dataclass(frozen=True)
class Since:
    """What changed.

    Attributes:
        comparison: All of it; side A is the earlier run.
        changed: Operations that became slower or faster, or fail more or less often, the worst first.
        still: Those that cannot be told yet.
        unchanged: How many did not change.
    """

    comparison: RunComparison
    changed: list[Operation]
    still: list[Open]
    unchanged: int


def last_good(results: Path, record: RunRecord) -> Path | None:
    """Return the newest earlier run of the same kind that a run can be compared with; None where there is
    none.

    It came to a good end, of one runtime of the same name with the same handlers, on a machine that agrees,
    and measured an operation that this run has too, where this one measured any. The version may be another:
    whether that made a difference is what is asked.

    Args:
        results: Root of all results.
        record: The run.
    """
    wanted = {operation.key for operation in record.operations}
    for folder in newest_first(results / safe_name(record.runtime.name)):
        try:
            earlier = read(folder)
        except RecordUnreadable:
            continue  # cut off, or of another version: not one to compare with
        if (
            earlier.started < record.started
            and earlier.run_id != record.run_id
            and earlier.kind == record.kind
            and earlier.exit_code == ExitCode.CONFORMS
            and not earlier.interrupted
            and not any(operation.side for operation in earlier.operations)
            and earlier.runtime.name == record.runtime.name
            and earlier.runtime.handlers == record.runtime.handlers
            and (not wanted or wanted.intersection(operation.key for operation in earlier.operations))
            and compare_machines(earlier.machine, record.machine).agree
        ):
            return folder
    return None


def changed_since(earlier: StoredRun, run: StoredRun, settings: CompareSettings) -> Since:
    """Say what changed since an earlier run.

    Raises:
        NotComparable: the two have nothing in common, or one of them is a live comparison.
    """
    comparison = compare_records(earlier.record, run.record, earlier.samples, run.samples, settings)
    operations = comparison.speed.operations if comparison.speed is not None else []
    sides = measured((), earlier.samples), measured((), run.samples)
    changed = [each for each in operations if each.verdict in PROVEN or each.errors_verdict]
    still = [
        opened
        for each in operations
        if each not in changed
        and (opened := _opened(each, sides[0].get(each.key), sides[1].get(each.key), settings))
    ]
    shown = {each.key for each in changed} | {each.operation.key for each in still}
    return Since(
        comparison,
        sorted(changed, key=_worst_first),
        still,
        sum(bool(each.better) and each.key not in shown for each in operations),
    )


def _worst_first(operation: Operation) -> tuple[bool, bool, float]:
    worse = operation.worse
    return (
        operation.errors_verdict != "more",
        operation.verdict != Verdict.SLOWER,
        -(worse[0] if worse else 0),
    )


def _opened(
    operation: Operation, earlier: Measured | None, later: Measured | None, settings: CompareSettings
) -> Open | None:
    """Return what an operation lacks that is open; None where it did not change."""
    if operation.ratio is None or earlier is None or later is None or not operation.better:
        return None
    statistics = settings.statistics(operation.quantile, live=False)
    floor = max(statistics.smallest_effect, _time_floor(operation, settings))
    effect = math.exp(abs(math.log(operation.ratio)))
    seen = effect > 1 + floor
    if operation.verdict != Verdict.TOO_NOISY and not seen:
        return None
    reach = None
    if operation.low is not None and operation.high is not None and operation.low > 0:
        reach = max(operation.high / operation.ratio, operation.ratio / operation.low)
    lacks = settling(
        (operation.a.count, operation.b.count),
        (_worth(earlier.series, operation.quantile), _worth(later.series, operation.quantile)),
        quantile=operation.quantile,
        reach=reach if reach is None or reach > 1 else None,
        wanted=effect if seen else 1 + max(statistics.resolution, floor),
    )
    return Open(operation, SEEN if seen else operation.reason, lacks)


def _time_floor(operation: Operation, settings: CompareSettings) -> float:
    values = [side.value for side in (operation.a, operation.b) if side.value]
    return settings.time_floor / min(values) if values and operation.unit == SECONDS else 0.0


def _worth(series: Sequence[Series], quantile: float) -> float:
    return inefficiency([value for each in series for value in each.steady()], quantile)


def earlier_run(named: str, results: Path, record: RunRecord) -> StoredRun | None:
    """Return the run that a user names as what another one is compared with.

    Args:
        named: `last`, or the folder of a run or its record.
        results: Root of all results.
        record: The run that is to be compared.

    Raises:
        RecordUnreadable: there is no such run, or it cannot be read.
    """
    folder = last_good(results, record) if named == LAST else Path(named)
    return read_run(folder) if folder is not None else None
