"""Closes `make test`: a row for each tox environment, under it what failed there, then one line that counts
every test, as pytest's own last line does.

An environment without a JUnit report of its own (a linter, a type check) counts as one test.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

Told = dict[str, Any]  # what `tox --result-json` says of one environment
NAMED = 20  # failures of one environment that are named; its own output names all


@dataclass(frozen=True)
class Row:
    """What one environment of tox came to."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    broke: bool
    failures: tuple[str, ...] = ()  # the tests that failed, each with the first line of why


def of_report(path: Path) -> tuple[int, int, int, tuple[str, ...]]:
    """Passed, failed (errors too) and skipped tests of one JUnit file, and the names of those that failed."""
    total = failed = skipped = 0
    root = ET.parse(path).getroot()  # noqa: S314 - our own tests wrote it
    for suite in root.iter("testsuite"):
        total += int(suite.get("tests", "0"))
        failed += int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        skipped += int(suite.get("skipped", "0"))
    return total - failed - skipped, failed, skipped, tuple(failures(root))


def failures(root: ET.Element) -> Iterator[str]:
    """A line for each case that failed: CI may show no more than the end of what was printed."""
    for case in root.iter("testcase"):
        for end in (*case.findall("failure"), *case.findall("error")):
            why = (end.get("message") or end.text or "").strip().splitlines()[:1]
            yield ": ".join((case.get("name", "?"), *why))[:300]


def row(name: str, told: Told, reports: Path) -> Row:
    """The counts of an environment from its report, or from its exit code where it has none."""
    broke = not told.get("result", {}).get("success", False)
    seconds = sum(float(step["elapsed"]) for phase in ("setup", "test") for step in told.get(phase, []))
    report = reports / f"{name}.xml"
    passed, failed, skipped, named = (
        of_report(report) if report.exists() else (int(not broke), int(broke), 0, ())
    )
    return Row(name, passed, max(failed, int(broke)), skipped, seconds, broke, named)


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
        for failure in one.failures[:NAMED]:
            print(f"      {failure}")
        if len(one.failures) > NAMED:
            print(f"      and {len(one.failures) - NAMED} more, see {reports / one.name}.xml")
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
