"""The earlier run that a run is compared with, and the printed comparison."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from critests.exit_codes import ExitCode
from critests.record.files import read
from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import LAST, newest_first, safe_name
from critests.record.run_record import RunRecord
from critests.report.comparison.comparison_terminal import print_comparison
from critests.report.comparison.fairness import compare_machines, oci_runtime_name
from critests.report.comparison.run_comparison import NotComparable, compare_records
from critests.report.comparison.stored import StoredRun, read_run
from critests.report.wording.texts import one_line

NO_EARLIER: Final = (
    "found no earlier run to compare with: it must be complete and have passed, with the same runtime and"
    " handlers; for speed also an operation in common, on an alike machine"
)
GOOD: Final = frozenset({ExitCode.NO_NEW_FAILURE})


def last_good(results: Path, record: RunRecord, ends: Collection[int] = GOOD) -> Path | None:
    """Return the newest earlier run of the same kind that a run can be compared with, or None.

    It has a runtime of the same name, but maybe of another version, and the same handlers and
    conditions. If this run measured anything, the earlier one measured one of its operations on an alike
    machine.

    Args:
        results: Root of all results.
        record: The run.
        ends: Accepted exit codes of the earlier run.
    """
    measured = {operation.key for operation in record.operations}
    for folder in newest_first(results / safe_name(record.runtime.name)):
        try:
            earlier = read(folder)
        except RecordUnreadable:
            continue  # truncated, or of another schema version
        if (
            earlier.started < record.started
            and earlier.run_id != record.run_id
            and earlier.kind == record.kind
            and earlier.exit_code in ends
            and not earlier.interrupted
            and not earlier.scope.time_limit
            and not any(operation.side for operation in earlier.operations)
            and earlier.runtime.name == record.runtime.name
            and earlier.runtime.handlers == record.runtime.handlers
            and oci_runtime_name(earlier) in {oci_runtime_name(record), ""}
            and earlier.conditions.names == record.conditions.names
            and (not measured or measured.intersection(operation.key for operation in earlier.operations))
            and (not measured or compare_machines(earlier.machine, record.machine).agree)
        ):
            return folder
    return None


def earlier_run(named: str, results: Path, record: RunRecord) -> StoredRun | None:
    """Return the baseline that the user names; None if `last` finds none.

    Args:
        named: `last`, or the folder of a run or its record.
        results: Root of all results.
        record: The run that is compared with it.

    Raises:
        RecordUnreadable: there is no such run, or it cannot be read.
    """
    folder = last_good(results, record) if named == LAST else Path(named)
    return read_run(folder) if folder is not None else None


def print_since(named: str, results: Path, folder: Path, out: Console) -> None:
    """Print the comparison with the baseline that the user names, or why there is none.

    Args:
        named: `last`, or the folder of an earlier run or its record.
        results: Root of all results.
        folder: Folder of the run.
        out: Where to print.
    """
    out.print()
    try:
        run = read_run(folder)
        earlier = earlier_run(named, results, run.record)
        if earlier is not None:
            samples = earlier.samples, run.samples
            print_comparison(compare_records(earlier.record, run.record, *samples), out, details=True)
            return
        why = NO_EARLIER
    except (NotComparable, RecordUnreadable) as error:
        why = str(error)
    out.print(Text(one_line(f"--baseline {named}: {why}", 400), "yellow"))
