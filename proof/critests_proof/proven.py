"""The combined result of audits on several runtimes: each test must turn red on one of them.

The reports are those of `--cri-audit-report` from audits that include the runs without faults, because red
proves nothing for a test that is never green. Exits with 1 if a test of the suite was not turned red on any
runtime.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from critests.run.collected_tests import SUITE
from critests_proof.matrix import base_name, written_tests


def turned_red(report: dict[str, Any]) -> set[str]:
    """Return the tests, without their parameters, that pass in one audit and that a fault turned red."""
    honest = report["honest"]
    return {
        base_name(verdict["test"])
        for verdict in report["verdicts"]
        if verdict["noticed"] and honest.get(verdict["test"]) == "passed"
    }


def lines(tests: set[str], reports: Iterable[tuple[str, dict[str, Any]]]) -> tuple[list[str], set[str]]:
    """Return the lines of the summary, and the tests that were not turned red anywhere.

    Args:
        tests: all names, without parameters.
        reports: names and reports.
    """
    summary, left = [], set(tests)
    for name, report in reports:
        red = turned_red(report) & tests
        summary.append(
            f"{name}: {len(red)} tests turned red, {len(red & left)} of them not before;"
            f" {len(report['unnoticed'])} went unnoticed"
        )
        left -= red
    summary += [f"never turned red: {test}" for test in sorted(left)]
    summary.append(f"{len(tests) - len(left)} of {len(tests)} tests were turned red by a fault")
    return summary, left


def main(files: Iterable[str]) -> int:
    """Print the summary; return the exit code."""
    reports = [(file, json.loads(Path(file).read_text(encoding="utf-8"))) for file in files]
    summary, left = lines(written_tests(SUITE), reports)
    print("\n".join(summary))
    return 1 if left else 0
