"""The findings and the decision of a gate, as lines, JSON and JUnit."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final

from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.record.codec import to_plain
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.comparison import SideFacts
from critests.report.formats.junit import to_junit
from critests.report.wording.texts import one_line

SCHEMA: Final = "critests.gate"
SCHEMA_VERSION: Final = 1
LINES: Final = 10
LINE_LIMIT: Final = 240


@unique
class GateFindingKind(StrEnum):
    """Kind of a finding, the worst first."""

    BREACH = "breach"
    """A requirement is broken that the policy's levels cover; with a baseline, one that it does not break."""
    CAPABILITY = "capability gone"
    GONE = "verdict gone"
    """A test that passed in the baseline is unsupported or blocked."""
    ERRORS = "failing operation"
    """Calls fail more often than in the baseline or than allowed."""
    SLOWER = "slower operation"
    BOUND = "bound exceeded"
    BLOCKED = "too much blocked"
    INTERMITTENT = "now and then"
    """A test fails in some of its tries only."""
    WARNING = "warning"
    """A SHOULD or a requirement of engineering judgement is broken."""
    NOISY = "not proven"
    """Something may be wrong, but the samples are not conclusive."""
    UNMEASURED = "not measured"
    OLD = "not new"
    """It is in the baseline too."""
    KNOWN = "known failure"
    SAID = "remark"


_PLURALS: Final = {
    GateFindingKind.BREACH: "breaches",
    GateFindingKind.CAPABILITY: "capabilities gone",
    GateFindingKind.GONE: "verdicts gone",
    GateFindingKind.BOUND: "bounds exceeded",
} | {
    kind: kind.value
    for kind in (
        GateFindingKind.INTERMITTENT,
        GateFindingKind.BLOCKED,
        GateFindingKind.NOISY,
        GateFindingKind.UNMEASURED,
        GateFindingKind.OLD,
    )
}


@dataclass(frozen=True, kw_only=True)
class GateFinding:
    """One finding.

    Attributes:
        kind: Its kind.
        fails: It makes the gate fail.
        subject: The aspect, operation or capability.
        sentence: What is wrong, in a sentence.
        weight: Number of tests that it covers or blocks, or size of the regression; larger is worse.
    """

    kind: GateFindingKind
    fails: bool = False
    subject: str = ""
    sentence: str
    weight: float = 1.0

    @property
    def rank(self) -> tuple[int, float, str]:
        """Sort key, the worst first."""
        return list(GateFindingKind).index(self.kind), -self.weight, self.subject


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """The decision of the gate.

    Attributes:
        exit_code: 0 passes, 1 fails, 5 could not be judged.
        sentence: The decision and its reason.
        failing: Findings that fail, worst first.
        obstacles: Why something could not be judged.
        remarks: Findings that do not fail.
        run: The run that was judged.
        baseline: The run that it was compared with, or None.
        policy: Name of the policy.
    """

    exit_code: int
    sentence: str
    failing: list[GateFinding] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    remarks: list[GateFinding] = field(default_factory=list)
    run: SideFacts
    baseline: SideFacts | None = None
    policy: str = ""


def counted(findings: Iterable[GateFinding]) -> str:
    """Return `2 breaches, 1 slower operation`."""
    numbers = Counter(finding.kind for finding in findings)
    return ", ".join(
        f"{numbers[kind]} {kind.value if numbers[kind] == 1 else _PLURALS.get(kind, f'{kind.value}s')}"
        for kind in GateFindingKind
        if kind in numbers
    )


def gate_lines(report: GateReport, limit: int = LINES) -> list[str]:
    """Return the lines that explain the decision, at most `limit`, worst first; further findings are counted.

    Args:
        report: The decision.
        limit: Maximum number of lines, at least 2.
    """
    undecided = report.exit_code == ExitCode.NOT_TESTED
    obstacles = [] if undecided else [f"? {obstacle}" for obstacle in report.obstacles]
    found = [*report.failing, *report.remarks]
    free = limit - 1 - len(obstacles)
    shown = found if len(found) <= free else found[: max(free - 1, 0)]
    rest = found[len(shown) :]
    said = [f"{'✕' if finding.fails else '·'} {finding.sentence}" for finding in shown]
    failing = len(report.failing)
    lines = [f"gate {report.sentence} (exit {report.exit_code})", *said[:failing], *obstacles]
    lines += said[failing:] + ([f"… and {len(rest)} more: {counted(rest)}"] if rest else [])
    return [one_line(line, LINE_LIMIT) for line in lines[:limit]]


def gate_to_json(report: GateReport) -> str:
    """Return the decision as JSON, with a line end."""
    body = to_plain(report)
    assert isinstance(body, dict)
    whole = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **body}
    return json.dumps(whole, ensure_ascii=True, indent=1, allow_nan=False) + "\n"


def gate_to_junit(report: GateReport, record: RunRecord) -> str:
    """Return the decision as JUnit XML: a case for the gate and one for each finding; a finding that does not
    fail the gate is a passed case with output.
    """
    undecided = report.exit_code == ExitCode.NOT_TESTED
    end = Outcome.ERROR if undecided else Outcome.FAILED if report.failing else Outcome.PASSED
    cases = [("gate", end, report.sentence)]
    for each in [*report.failing, *report.remarks]:
        name = f"{each.kind.value}: {each.subject}" if each.subject else each.kind.value
        cases.append((name, Outcome.FAILED if each.fails else Outcome.WARNED, each.sentence))
    tests = [
        TestResult(id=f"critests/gate.py::{name}", name=name, outcome=outcome, reason=sentence)
        for name, outcome, sentence in cases
    ]
    judged = dataclasses.replace(record, exit_code=report.exit_code, exit_reason=report.sentence)
    return to_junit(dataclasses.replace(judged, tests=tests, operations=[]))
