"""The summary of `make test`: a row for each tox environment with its failed tests, then one line that counts
all tests, in the form of pytest's last line.

An environment without a JUnit report (a linter, a type check) counts as one test.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

ToxResult = dict[str, Any]  # one environment in the output of `tox --result-json`
NAMED = 20  # listed failures per environment; the output of the environment lists all


@dataclass(frozen=True)
class Row:
    """The result of one tox environment."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    broke: bool
    failures: tuple[str, ...] = ()  # the failed tests, each with the first line of its message


def of_report(path: Path) -> tuple[int, int, int, tuple[str, ...]]:
    """Return the numbers of passed, failed (with errors) and skipped tests of one JUnit file, and the
    failures.
    """
    total = failed = skipped = 0
    root = ET.parse(path).getroot()  # noqa: S314 - our own tests wrote it
    for suite in root.iter("testsuite"):
        total += int(suite.get("tests", "0"))
        failed += int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        skipped += int(suite.get("skipped", "0"))
    return total - failed - skipped, failed, skipped, tuple(failures(root))


def failures(root: ET.Element) -> Iterator[str]:
    """Yield a line for each failed case, because CI may show only the end of the output."""
    for case in root.iter("testcase"):
        for end in (*case.findall("failure"), *case.findall("error")):
            why = (end.get("message") or end.text or "").strip().splitlines()[:1]
            yield ": ".join((case.get("name", "?"), *why))[:300]


def row(name: str, result: ToxResult, reports: Path) -> Row:
    """Return the counts of an environment from its report, or from its exit code without a report."""
    broke = not result.get("result", {}).get("success", False)
    seconds = sum(float(step["elapsed"]) for phase in ("setup", "test") for step in result.get(phase, []))
    report = reports / f"{name}.xml"
    passed, failed, skipped, named = (
        of_report(report) if report.exists() else (int(not broke), int(broke), 0, ())
    )
    return Row(name, passed, max(failed, int(broke)), skipped, seconds, broke, named)


def main(reports: Path) -> int:
    """Print the rows and the summary line; return 1 if a test failed or none ran."""
    try:
        results: dict[str, ToxResult] = json.loads((reports / "tox.json").read_text(encoding="utf-8"))[
            "testenvs"
        ]
    except FileNotFoundError:
        results = {}  # tox failed early
    rows = [
        row(name, result, reports)
        for name, result in results.items()
        if "result" in result and not name.startswith(".")
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
