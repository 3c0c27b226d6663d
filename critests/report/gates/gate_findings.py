"""What a gate finds, one thing each in one sentence, and what it decided; as lines, JSON and JUnit."""

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
    """What was found, the worst first."""

    BREACH = "breach"
    """A promise is broken that was kept, or that must be kept."""
    CAPABILITY = "capability gone"
    GONE = "verdict gone"
    """What passed before is unsupported or blocked now."""
    ERRORS = "failing operation"
    """Calls fail, more often than before or than allowed."""
    SLOWER = "slower operation"
    BOUND = "bound exceeded"
    BLOCKED = "too much blocked"
    INTERMITTENT = "now and then"
    """A promise is broken in some tries of the test only."""
    WARNING = "warning"
    """A SHOULD or a promise of our judgement is not kept."""
    NOISY = "not proven"
    """Something may be wrong; the samples do not decide it."""
    UNMEASURED = "not measured"
    OLD = "not new"
    """The baseline has it too."""
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
    """One thing that the gate found.

    Attributes:
        kind: What it is.
        fails: It makes the gate fail.
        subject: The aspect, operation or capability.
        sentence: What is wrong, for a person.
        weight: How many tests it stands for or stands in the way of, or how large the regression is; larger
            is worse.
    """

    kind: GateFindingKind
    fails: bool = False
    subject: str = ""
    sentence: str
    weight: float = 1.0

    @property
    def rank(self) -> tuple[int, float, str]:
        """Sorts the worst first."""
        return list(GateFindingKind).index(self.kind), -self.weight, self.subject


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """What the gate decided.

    Attributes:
        exit_code: 0 passes, 1 fails, 5 could not be judged.
        sentence: Why.
        failing: What fails, worst first.
        obstacles: Why something could not be judged.
        remarks: What is said and does not fail.
        run: The run that was judged.
        baseline: What it was compared with, or None.
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
    """Return the lines that explain the decision, at most `limit`, worst first; the rest is counted.

    Args:
        report: What was decided.
        limit: Number of lines, at least 2.
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
    """Return the decision as the JUnit file of a run: one case for the gate as a whole and one for each
    finding, of which those that do not fail pass with their sentence.
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
