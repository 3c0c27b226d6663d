"""The result of an audit: the test that noticed each fault."""

from dataclasses import asdict, dataclass, field
from typing import Any, Self

from critests.catalogue.words import Outcome
from critests.report.wording.reason_sentences import said
from critests.run.classification import RawOutcome
from critests_proof.matrix import Matrix, MatrixEntry, base_name


@dataclass(frozen=True)
class FaultVerdict:
    """The verdict of one test on one fault.

    Attributes:
        fault: id of the fault.
        test: name of the test, with its parameters.
        noticed: whether the test noticed the fault.
        outcome: outcome of the test.
        hits: number of changes by the fault until then.
        reason: reason of the test, or why it does not count.
        text: text of the fault.
    """

    fault: str
    test: str
    noticed: bool
    outcome: str
    hits: int
    reason: str
    text: str

    @property
    def tried(self) -> bool:
        """Whether the fault was tried: not if the test was unsupported or blocked without a change by the
        fault.
        """
        return self.hits > 0 or not self.stood_aside

    @property
    def stood_aside(self) -> bool:
        """Whether the test was unsupported or blocked."""
        return self.outcome in {Outcome.UNSUPPORTED.value, Outcome.BLOCKED.value}

    def __str__(self) -> str:
        state = "noticed" if self.noticed else "NOT NOTICED" if self.tried else "not tried"
        acted = f"it changed something {self.hits} times" if self.hits else "it changed nothing"
        return (
            f"{state}: {self.fault} ({self.text}) in {self.test}: {self.outcome},"
            f" {acted}{': ' + self.reason if self.reason else ''}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return it from plain data."""
        return cls(**data)


def verdict_of(entry: MatrixEntry, test: str, raw: RawOutcome | None, hits: int) -> FaultVerdict:
    """Return whether a test noticed a fault.

    Args:
        entry: the fault.
        test: the test's name with its parameters.
        raw: outcome of its set-up or call; None without an exception.
        hits: number of changes by the fault.
    """
    outcome = raw.outcome if raw is not None else Outcome.PASSED
    noticed = outcome is Outcome.FAILED and hits > 0
    reason = said(raw.why) if raw is not None else ""
    return FaultVerdict(
        entry.id, test, noticed, outcome.value, hits, reason, "; ".join(fault.text for fault in entry.faults)
    )


@dataclass
class Audit:
    """All results of an audit.

    Attributes:
        verdicts: of every case under a fault.
        honest: outcome of every test without a fault.
        tests: every selected test, with its parameters.
    """

    verdicts: list[FaultVerdict] = field(default_factory=list)
    honest: dict[str, str] = field(default_factory=dict)
    tests: set[str] = field(default_factory=set)

    def unnoticed(self, matrix: Matrix | None = None) -> list[FaultVerdict]:
        """Return the verdicts on faults that should have been noticed.

        A test named without parameters must notice in one of its cases, and one of the tests of the broken
        requirements must notice.
        """
        broad = matrix.broad if matrix else {}
        noticed = {verdict.fault for verdict in self.verdicts if verdict.noticed}
        exact = (
            {(entry.id, name) for entry in matrix.entries for name in entry.turns_red} if matrix else set()
        )
        seen = {(verdict.fault, base_name(verdict.test)) for verdict in self.verdicts if verdict.noticed}
        return [
            verdict
            for verdict in self.verdicts
            if not verdict.noticed
            and self._put_to_the_test(verdict)
            and not (verdict.fault in broad and verdict.fault in noticed)
            and (
                ((verdict.fault, verdict.test) in exact and "[" in verdict.test)
                or (verdict.fault, base_name(verdict.test)) not in seen
            )
        ]

    def not_tried(self) -> list[str]:
        """Return the tests, without parameters, on which no fault was tried: this runtime cannot prove
        them.
        """
        tried = {base_name(verdict.test) for verdict in self.verdicts if self._put_to_the_test(verdict)}
        return sorted({base_name(verdict.test) for verdict in self.verdicts} - tried)

    def without_fault(self, matrix: Matrix | None) -> list[str]:
        """Return the tests without a fault."""
        return matrix.coverage(self.tests) if matrix else []

    def not_honest(self) -> list[str]:
        """Return the tests under faults that did not pass without one, whose verdicts mean little."""
        return sorted({verdict.test for verdict in self.verdicts if not self._passed(verdict.test)})

    def _put_to_the_test(self, verdict: FaultVerdict) -> bool:
        """Return whether a fault was tried. It was not if the test is also unsupported or blocked without the
        fault, which may then have changed something unrelated; nor if the test fails without the fault and
        the fault changed nothing, because the runtime itself behaves like the fault.
        """
        without_effect = verdict.outcome == Outcome.FAILED.value and not verdict.hits
        as_ever = self.honest.get(verdict.test) == verdict.outcome
        return verdict.tried and not (as_ever and (verdict.stood_aside or without_effect))

    def _passed(self, test: str) -> bool:
        """Return whether a test passed without a fault, or did not run without one."""
        return self.honest.get(test, "passed") == "passed"

    def lines(self, matrix: Matrix | None) -> list[str]:
        """Return the lines of the summary."""
        if matrix is not None and matrix.broad:
            return self._broad_lines(matrix.broad)
        unnoticed = self.unnoticed(matrix)
        lines = [str(verdict) for verdict in (self.verdicts if matrix is None else unnoticed)]
        lines += [f"not judged: {test} did not pass without a fault" for test in self.not_honest()]
        if matrix is not None:
            lines += [f"no fault is known for: {test}" for test in self.without_fault(matrix)]
        tests = {base_name(test) for test in self.tests}
        red = {
            base_name(verdict.test)
            for verdict in self.verdicts
            if verdict.noticed and self._passed(verdict.test)
        }
        lines += [
            f"not tried: {test} is unsupported or blocked here, or fails without a fault"
            for test in self.not_tried()
        ]
        lines.append(
            f"{len(red)} of {len(tests)} tests were turned red by a fault; {len(unnoticed)} faults went"
            " unnoticed"
        )
        return lines

    def _broad_lines(self, entries: dict[str, MatrixEntry]) -> list[str]:
        """Return the survivors, the unreached faults, and the counts."""
        noticed = {verdict.fault for verdict in self.verdicts if verdict.noticed}
        reached = {verdict.fault for verdict in self.verdicts if verdict.hits}
        judged = {verdict.fault for verdict in self.verdicts}
        survivors = [entry for name, entry in entries.items() if name in reached - noticed]
        lines = [f"unnoticed: {_described(entry)}, by {self._looked(entry.id)}" for entry in survivors]
        lines += [
            f"not reached: {_described(entry)} changed nothing in {self._looked(name)}"
            for name, entry in entries.items()
            if name in judged - reached
        ]
        lines += [
            f"no test: {_described(entry)} breaks {', '.join(entry.breaks)}"
            for name, entry in entries.items()
            if name not in judged
        ]
        count = (
            f"{len(noticed)} of {len(entries)} faults were noticed;"
            f" {len(survivors)} were reached and not noticed, {len(judged - reached)} not reached,"
            f" {len(entries) - len(judged)} concern no test here"
        )
        return [*lines, count]

    def _looked(self, fault: str) -> str:
        return ", ".join(
            f"{verdict.test} ({verdict.outcome})" for verdict in self.verdicts if verdict.fault == fault
        )

    def to_json(self, matrix: Matrix | None) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "honest": self.honest,
            "without_fault": self.without_fault(matrix),
            "not_tried": self.not_tried(),
            "unnoticed": [[verdict.fault, verdict.test] for verdict in self.unnoticed(matrix)],
        }


def _described(entry: MatrixEntry) -> str:
    return f"{entry.id} ({'; '.join(fault.text for fault in entry.faults)})"
