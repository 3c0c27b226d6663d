"""Finding the runs in a tree of results, and reading the parts of their records that the index needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from critests.record.files import parsed, read_text, record_file, record_of
from critests.record.run_layout import COMPRESSED_RUN_FILE, RUN_FILE
from critests.record.run_record import RunRecord
from critests.report.wording.message_shortening import shortened_message

REASON_LENGTH: Final = 240
"""Characters of a reason in the index."""
WITH_REASON: Final = ("failed", "error", "warned", "known", "blocked")
"""Outcomes whose reason is indexed; the first of them is that of a requirement whose tests have several."""
JUDGED_BY: Final = (
    "id",
    "name",
    "requirement",
    "requirement_id",
    "level",
    "judgement",
    "outcome",
    "cause",
    "tries",
    "failures",
    "unproven_since",
)
"""Fields of a test from which a verdict follows."""


@dataclass(frozen=True)
class RunFile:
    """A file that may be the record of a run.

    Attributes:
        path: Its folder relative to the root of the results, with `/`.
        size: Size of the file, in bytes.
        changed: Time of its last modification, in nanoseconds since the epoch.
    """

    path: str
    size: int
    changed: int


def find_runs(results: Path) -> Iterator[RunFile]:
    """Yield `<runtime>/<version>/<run>/run.json` (or `run.json.gz`) below the results, by name."""
    names = (RUN_FILE, COMPRESSED_RUN_FILE)
    for folder in sorted({file.parent for name in names for file in results.glob(f"*/*/*/{name}")}):
        try:
            facts = record_file(folder).stat()
        except OSError:
            continue
        yield RunFile(folder.relative_to(results).as_posix(), facts.st_size, facts.st_mtime_ns)


def read_lean(folder: Path) -> tuple[RunRecord, dict[str, str]]:
    """Read the record of a run's folder without the texts of its tests, which are most of it, and the reasons
    of requirements that did not pass.

    Returns:
        The record, whose tests have only what a verdict follows from, and requirement to the first reason of
        a test.

    Raises:
        RecordUnreadable: it is not a run record that this version can read.
    """
    file = record_file(folder)
    data = parsed(read_text(file), str(file))
    tests = data.get("tests")
    found = [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
    record = record_of({**data, "tests": [_lean(test) for test in found]}, str(file))
    return record, _reasons(found)


def _lean(test: dict[str, Any]) -> dict[str, Any]:
    why = test.get("why")
    code = {"why": {"code": why["code"]}} if isinstance(why, dict) and "code" in why else {}
    return {name: test[name] for name in JUDGED_BY if name in test} | code


def _reasons(tests: list[dict[str, Any]]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    found = [test for test in tests if test.get("outcome") in WITH_REASON]
    for test in sorted(found, key=lambda test: WITH_REASON.index(test["outcome"])):
        requirement, reason = test.get("requirement_id"), test.get("seen") or test.get("reason")
        if (
            isinstance(requirement, str)
            and isinstance(reason, str)
            and requirement
            and requirement not in reasons
        ):
            reasons[requirement] = shortened_message(reason.partition("\n")[0], REASON_LENGTH)
    return reasons
