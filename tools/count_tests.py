"""Closes `make test`: a row for each tox environment, then one line that counts every test, as pytest's own
last line does.

An environment without a JUnit report of its own (a linter, a type check) counts as one test.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

Told = dict[str, Any]  # what `tox --result-json` says of one environment


@dataclass(frozen=True)
class Row:
    """What one environment of tox came to."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    broke: bool


def of_report(path: Path) -> tuple[int, int, int]:
    """Passed, failed (errors too) and skipped tests of one JUnit file."""
    total = failed = skipped = 0
    for suite in ET.parse(path).getroot().iter("testsuite"):  # noqa: S314 - see above
        total += int(suite.get("tests", "0"))
        failed += int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        skipped += int(suite.get("skipped", "0"))
    return total - failed - skipped, failed, skipped


def row(name: str, told: Told, reports: Path) -> Row:
    """The counts of an environment from its report, or from its exit code where it has none."""
    broke = not told.get("result", {}).get("success", False)
    seconds = sum(float(step["elapsed"]) for phase in ("setup", "test") for step in told.get(phase, []))
    report = reports / f"{name}.xml"
    passed, failed, skipped = of_report(report) if report.exists() else (int(not broke), int(broke), 0)
    return Row(name, passed, max(failed, int(broke)), skipped, seconds, broke)


def main(reports: Path) -> int:
    """Prints the rows and the line; 1 if anything failed or nothing ran."""
    try:
        told: dict[str, Told] = json.loads((reports / "tox.json").read_text(encoding="utf-8"))["testenvs"]
    except FileNotFoundError:
        told = {}  # tox itself did not get far
    rows = [
        row(name, what, reports)
        for name, what in told.items()
        if "result" in what and not name.startswith(".")
    ]
    for one in rows:
        verdict = "FAILED" if one.broke else "ok"
        print(
            f"  {one.name:<16} {verdict:<6} {one.passed:>5} passed {one.failed:>4} failed {one.skipped:>4}"
            f" skipped {one.seconds:>7.1f} s"
        )
    passed, failed, skipped = (
        sum(one.passed for one in rows),
        sum(one.failed for one in rows),
        sum(one.skipped for one in rows),
    )
    print(
        f"==== {passed} passed, {failed} failed, {skipped} skipped in {sum(one.seconds for one in rows):.2f}s"
        " ===="
    )
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
