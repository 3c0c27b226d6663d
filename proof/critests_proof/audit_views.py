"""The contents of the summary of an audit, as plain data."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from critests_proof.record import AuditRecord, FaultOutcome, FaultResult, Score, scores

NO_RPC: Final = "no RPC"


@dataclass(frozen=True)
class ScoreRow:
    """One line of a table of scores.

    Attributes:
        name: of the area, the RPC or the kind.
        score: of its faults.
        reached: share of the reached faults that was noticed, as a text.
        all: share of all faults that was noticed, as a text.
    """

    name: str
    score: Score
    reached: str
    all: str


@dataclass(frozen=True)
class SurvivorView:
    """The result of a test under a fault that survived, and the number of further tests that reach the
    fault.
    """

    tests: list[tuple[str, str]]
    left: int


@dataclass(frozen=True)
class TestRow:
    """The faults on which one test was tried.

    Attributes:
        name: its name, with its parameters.
        noticed: ids of the faults that it noticed.
        missed: ids of the faults that changed something during the test without being noticed.
    """

    name: str
    noticed: list[str]
    missed: list[str]


@dataclass(frozen=True)
class NeverRed:
    """The tests that pass without a fault and under every fault.

    Attributes:
        met: tests during which a fault changed something, those with most such faults first.
        spared: names of the tests during which no fault changed anything.
        of: number of tests that pass without a fault.
    """

    met: list[TestRow]
    spared: list[str]
    of: int


def percent(part: float | None) -> str:
    """Return a share as a text; `-` for None."""
    return "-" if part is None else f"{100 * part:.0f} %"


def score_rows(results: Iterable[FaultResult], by: str) -> list[ScoreRow]:
    """Return a table of scores.

    Args:
        results: results of faults.
        by: attribute of the lines: `area`, `rpc` or `kind`.
    """
    return [
        ScoreRow(name or NO_RPC, score, percent(score.of_reached), percent(score.of_all))
        for name, score in scores(results, by).items()
    ]


def look_of(result: FaultResult) -> SurvivorView:
    """Return the results of the tests during which a fault changed something."""
    return SurvivorView(
        [(one.test, one.outcome) for one in result.tried if one.hits],
        result.untried,
    )


def with_outcome(record: AuditRecord, outcome: FaultOutcome) -> list[FaultResult]:
    """Return the faults with an outcome."""
    return [result for result in record.faults if result.outcome is outcome]


def rows_of_tests(record: AuditRecord) -> list[TestRow]:
    """Return every test that was tried on a fault, those that noticed the most faults first."""
    rows: dict[str, TestRow] = {}
    for result in record.faults:
        for one in result.tried:
            row = rows.setdefault(one.test, TestRow(one.test, [], []))
            if one.test == result.by:
                row.noticed.append(result.fault)
            elif one.hits:
                row.missed.append(result.fault)
    return sorted(rows.values(), key=lambda row: (-len(row.noticed), -len(row.missed), row.name))


def never_red(record: AuditRecord) -> NeverRed:
    """Return the tests that pass without a fault and that no fault turned red."""
    rows = {row.name: row for row in rows_of_tests(record)}
    green = [name for name in record.passed if not (name in rows and rows[name].noticed)]
    met = [rows[name] for name in green if name in rows and rows[name].missed]
    seen = {row.name for row in met}
    return NeverRed(
        sorted(met, key=lambda row: (-len(row.missed), row.name)),
        [name for name in green if name not in seen],
        len(record.passed),
    )


def headline(record: AuditRecord) -> str:
    """Return the result in one sentence."""
    score = Score.of(record.faults)
    reached = score.noticed + score.survived
    if not reached:
        return "No fault was reached by a test."
    return (
        f"{score.noticed} of {reached} faults that a test reached were noticed ({percent(score.of_reached)});"
        f" {score.not_reached} were not reached."
    )


def part(record: AuditRecord) -> str:
    """Return which part of all faults the audit covers; empty for all faults."""
    words = [f"a sample with the seed {record.seed}"] if record.seed is not None else []
    if len(record.faults) < record.faults_total:
        words.append(f"stopped after {len(record.faults)} of {record.faults_total} faults")
    return ", ".join(words)
