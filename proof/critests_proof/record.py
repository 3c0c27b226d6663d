"""The record of an audit: the outcome of each fault, and the scores."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Self

from critests.catalogue.loading import load
from critests.catalogue.rpcs import rpc_of

SCHEMA: Final = "critests.audit"
SCHEMA_VERSION: Final = 1


class FaultOutcome(enum.StrEnum):
    """The outcome of a fault."""

    NOTICED = "noticed"
    """A test turned red."""
    SURVIVED = "survived"
    """It changed something, and none of the tried tests turned red."""
    NOT_REACHED = "not reached"
    """No test reaches it, or it changed nothing in the tried tests."""
    NEVER_FILLED = "never filled"
    """The runtime never fills the field, although tests request it."""
    NOT_OFFERED = "not offered"
    """The runtime lacks the RPC or the feature of the field: the tests that check it are unsupported."""
    EQUIVALENT = "equivalent"
    """It is indistinguishable from correct behaviour, according to the data file."""


@dataclass(frozen=True)
class TriedFault:
    """The result of one test under a fault.

    Attributes:
        test: its name, with its parameters.
        outcome: outcome of the test.
        hits: number of changes by the fault until then.
        reason: reason of the test.
    """

    test: str
    outcome: str
    hits: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class FaultResult:
    """The result of one fault.

    Attributes:
        fault: its id.
        kind: `request`, `response`, `call` and so on.
        text: in the language of faults.
        says: what the runtime does, in a few words.
        outcome: its outcome.
        rpc: the RPC.
        breaks: ids of the requirements that it breaks.
        by: the test that noticed; empty for none.
        tried: the tests that ran under it, in order.
        candidates: number of tests that reach it and pass without it.
        seconds: duration of all tries.
        evidence: why it was not tried.
    """

    fault: str
    kind: str
    text: str
    outcome: FaultOutcome
    says: str = ""
    rpc: str = ""
    breaks: list[str] = field(default_factory=list)
    by: str = ""
    tried: list[TriedFault] = field(default_factory=list)
    candidates: int = 0
    seconds: float = 0.0
    evidence: str = ""

    @cached_property
    def area(self) -> str:
        """The area of the RPC; empty for none."""
        rpc = rpc_of(self.rpc)
        return load().aspect(rpc.judge)[0].area.value if rpc is not None else ""

    @property
    def untried(self) -> int:
        """The number of further tests that reach it."""
        return max(0, self.candidates - len(self.tried))


@dataclass(frozen=True)
class Score:
    """The numbers of noticed and other faults."""

    noticed: int
    survived: int
    not_reached: int
    never_filled: int
    not_offered: int
    equivalent: int

    @classmethod
    def of(cls, results: Iterable[FaultResult]) -> Self:
        """Count the outcomes of results."""
        outcomes = [result.outcome for result in results]
        return cls(*(outcomes.count(outcome) for outcome in FaultOutcome))

    @property
    def of_reached(self) -> float | None:
        """The share of reached faults that were noticed; None if none was reached."""
        reached = self.noticed + self.survived
        return self.noticed / reached if reached else None

    @property
    def of_all(self) -> float | None:
        """The share of all faults that were noticed, without those that are never filled, not offered or
        equivalent; None if none is left.
        """
        counted = self.noticed + self.survived + self.not_reached
        return self.noticed / counted if counted else None


def scores(results: Iterable[FaultResult], by: str) -> dict[str, Score]:
    """Return the score of each group of results, in order of first occurrence.

    Args:
        results: results of faults.
        by: the attribute to group by: `area`, `rpc` or `kind`.
    """
    groups: dict[str, list[FaultResult]] = {}
    for result in results:
        groups.setdefault(getattr(result, by), []).append(result)
    return {name: Score.of(group) for name, group in groups.items()}


@dataclass(frozen=True, kw_only=True)
class AuditCoverage:
    """The coverage of one side of the API by the tests.

    Attributes:
        fields: number of fields in the API.
        seen: number of fields that a test set, or the runtime filled.
        missing: paths of the others.
    """

    fields: int
    seen: int
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """One audit of the suite on one runtime.

    Attributes:
        schema: always `SCHEMA`.
        schema_version: of this form.
        suite_version: of critests.
        runtime: its name and version.
        started: seconds since the epoch.
        seconds: its duration.
        tests: number of selected tests.
        faults_total: number of selected faults; `faults` has fewer after an interruption.
        seed: of the sample; None without one.
        tries: limit of tests per fault; 0 for all.
        coverage: by side, `request` and `response`.
        faults: the results.
        passed: names of the tests that pass without a fault.
    """

    schema: str = SCHEMA
    schema_version: int = SCHEMA_VERSION
    suite_version: str = ""
    runtime: str
    started: float = 0.0
    seconds: float = 0.0
    tests: int = 0
    faults_total: int = 0
    seed: int | None = None
    tries: int = 0
    coverage: dict[str, AuditCoverage] = field(default_factory=dict)
    faults: list[FaultResult] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    @property
    def survivors(self) -> list[FaultResult]:
        """The faults that no test noticed."""
        return [fault for fault in self.faults if fault.outcome is FaultOutcome.SURVIVED]
