"""The findings and the decision of a gate, as lines, JSON and JUnit."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Sequence
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
LINES: Final = 20
LINE_LIMIT: Final = 400


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
        sentence: What is wrong, in a sentence: the promise that is broken.
        details: What was observed, and the number of tests that fail or could not be judged because of it.
        weight: Number of tests that it covers or blocks, or size of the regression; larger is worse.
    """

    kind: GateFindingKind
    fails: bool = False
    subject: str = ""
    sentence: str
    details: list[str] = field(default_factory=list)
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
        compared: Both runs in a line each, and how their environments differ.
        policy: Name of the policy.
    """

    exit_code: int
    sentence: str
    failing: list[GateFinding] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    remarks: list[GateFinding] = field(default_factory=list)
    run: SideFacts
    baseline: SideFacts | None = None
    compared: list[str] = field(default_factory=list)
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
    """Return the lines that explain the decision, at most `limit`: the findings, worst first, of which those
    that do not fit are counted, and then what was compared.

    Args:
        report: The decision.
        limit: Maximum number of lines, at least 2.
    """
    undecided = report.exit_code == ExitCode.NOT_TESTED
    obstacles = [] if undecided else [f"? {obstacle}" for obstacle in report.obstacles]
    found = [*report.failing, *report.remarks]
    lines = [f"gate {report.sentence} (exit {report.exit_code})"]
    free = limit - len(lines) - len(obstacles) - len(report.compared)
    shown = _fitting(found, free)
    rest = found[len(shown) :]
    failing = [line for finding in shown if finding.fails for line in _lines_of(finding)]
    remarks = [line for finding in shown if not finding.fails for line in _lines_of(finding)]
    more = [f"… and {len(rest)} more: {counted(rest)}"] if rest else []
    whole = [*lines, *failing, *obstacles, *remarks, *more, *report.compared]
    return [f"{'    ' if line.startswith(' ') else ''}{one_line(line, LINE_LIMIT)}" for line in whole[:limit]]


def _fitting(found: Sequence[GateFinding], free: int) -> Sequence[GateFinding]:
    """Return the findings whose lines fit, with a line for the number of the others."""
    used = 0
    for number, finding in enumerate(found):
        used += len(_lines_of(finding))
        if used > free - (number + 1 < len(found)):
            return found[:number]
    return found


def _lines_of(finding: GateFinding) -> list[str]:
    mark = "✕" if finding.fails else "·"
    return [f"{mark} {finding.sentence}", *(f"    {line}" for line in finding.details)]


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
    worst = [text for each in report.failing[:1] for text in (each.sentence.rstrip("."), *each.details)]
    cases = [("gate", end, ": ".join([report.sentence, *worst]))]
    for each in [*report.failing, *report.remarks]:
        name = f"{each.kind.value}: {each.subject}" if each.subject else each.kind.value
        text = ": ".join([each.sentence.rstrip("."), *each.details])
        cases.append((name, Outcome.FAILED if each.fails else Outcome.WARNED, text))
    tests = [
        TestResult(
            id=f"critests/gate.py::{name}",
            name=name,
            outcome=outcome,
            reason=sentence,
            detail="\n".join(report.compared) if name == "gate" else "",
        )
        for name, outcome, sentence in cases
    ]
    judged = dataclasses.replace(record, exit_code=report.exit_code, exit_reason=report.sentence)
    # the verdicts of requirements are those of the run, which the cases no longer show
    return to_junit(dataclasses.replace(judged, tests=tests, operations=[], requirements={}))
