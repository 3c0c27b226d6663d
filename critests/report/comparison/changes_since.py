"""The earlier run that a run is compared with, and what changed since then, printed."""

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
from critests.report.comparison.fairness import compare_machines
from critests.report.comparison.run_comparison import NotComparable, compare_records
from critests.report.comparison.stored import StoredRun, read_run
from critests.report.wording.texts import one_line

NO_EARLIER: Final = (
    "no earlier run is like this one: whole and good, of the same runtime and handlers, and where speed was"
    " measured on a machine that agrees, with an operation in common"
)
GOOD: Final = frozenset({ExitCode.CONFORMS})


def last_good(results: Path, record: RunRecord, ends: Collection[int] = GOOD) -> Path | None:
    """Return the newest earlier run of the same kind that a run can be compared with; None where there is
    none.

    It is of one runtime of the same name with the same handlers. Where this run measured anything, the
    earlier one measured an operation of it on a machine that agrees. The version may be another: whether that
    made a difference is what is asked.

    Args:
        results: Root of all results.
        record: The run.
        ends: The exit codes that it may have ended with.
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
            and earlier.exit_code in ends
            and not earlier.interrupted
            and not any(operation.side for operation in earlier.operations)
            and earlier.runtime.name == record.runtime.name
            and earlier.runtime.handlers == record.runtime.handlers
            and (not wanted or wanted.intersection(operation.key for operation in earlier.operations))
            and (not wanted or compare_machines(earlier.machine, record.machine).agree)
        ):
            return folder
    return None


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


def print_since(named: str, results: Path, folder: Path, out: Console) -> None:
    """Print what changed since the run that a user names, or why that cannot be said.

    Args:
        named: `last`, or the folder of an earlier run or its record.
        results: Root of all results.
        folder: Of the run.
        out: Where to print.
    """
    out.print()
    try:
        run = read_run(folder)
        earlier = earlier_run(named, results, run.record)
        if earlier is not None:
            samples = earlier.samples, run.samples
            print_comparison(compare_records(earlier.record, run.record, *samples), out)
            return
        why = NO_EARLIER
    except (NotComparable, RecordUnreadable) as error:
        why = str(error)
    out.print(Text(one_line(f"--baseline {named}: {why}", 400), "yellow"))
