"""The record of an audit: what became of each way to break the API, and what all of it comes to."""

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
    """What became of a fault."""

    NOTICED = "noticed"
    """A test turned red by it."""
    SURVIVED = "survived"
    """It changed something, and none of the tests that were tried turned red."""
    NOT_REACHED = "not reached"
    """No test gets where it acts, or in none of those that were tried did it change anything."""
    NEVER_FILLED = "never filled"
    """This runtime never fills what it would change, though tests ask for it."""
    NOT_OFFERED = "not offered"
    """This runtime does not have the RPC, or what the field is for: who looks there is unsupported."""
    EQUIVALENT = "equivalent"
    """It cannot be told apart from right behaviour, as the data file says."""


@dataclass(frozen=True)
class TriedFault:
    """What one test made of a fault.

    Attributes:
        test: its name, with its parameters.
        outcome: as the suite names it.
        hits: how often the fault had changed something by then.
        reason: what the test said.
    """

    test: str
    outcome: str
    hits: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class FaultResult:
    """What became of one fault.

    Attributes:
        fault: its id.
        kind: `request`, `response`, `call` and so on.
        text: in the language of faults.
        says: what the runtime does, in a few words.
        outcome: what became of it.
        rpc: where it acts.
        breaks: ids of the requirements that it breaks.
        by: the test that noticed; empty for none.
        tried: the tests that were run under it, in order.
        candidates: how many tests get where it acts and pass without it.
        seconds: what all of that took.
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
        """The area of the suite that the RPC belongs to; empty for none."""
        rpc = rpc_of(self.rpc)
        return load().aspect(rpc.judge)[0].area.value if rpc is not None else ""

    @property
    def untried(self) -> int:
        """How many tests more get where it acts."""
        return max(0, self.candidates - len(self.tried))


@dataclass(frozen=True)
class Score:
    """How many of some faults were noticed."""

    noticed: int
    survived: int
    not_reached: int
    never_filled: int
    not_offered: int
    equivalent: int

    @classmethod
    def of(cls, results: Iterable[FaultResult]) -> Self:
        """Count."""
        outcomes = [result.outcome for result in results]
        return cls(*(outcomes.count(outcome) for outcome in FaultOutcome))

    @property
    def of_reached(self) -> float | None:
        """The part of the faults that changed something and were noticed; None where none did."""
        reached = self.noticed + self.survived
        return self.noticed / reached if reached else None

    @property
    def of_all(self) -> float | None:
        """The part of all faults that were noticed, those left out that the runtime never fills or does not
        offer, or that are equivalent; None where none is left.
        """
        counted = self.noticed + self.survived + self.not_reached
        return self.noticed / counted if counted else None


def scores(results: Iterable[FaultResult], by: str) -> dict[str, Score]:
    """Return the score of each group of results, in the order in which the groups come first.

    Args:
        results: of any faults.
        by: the attribute that makes a group: `area`, `rpc` or `kind`.
    """
    groups: dict[str, list[FaultResult]] = {}
    for result in results:
        groups.setdefault(getattr(result, by), []).append(result)
    return {name: Score.of(group) for name, group in groups.items()}


@dataclass(frozen=True, kw_only=True)
class AuditCoverage:
    """How much of one side of the API the tests exercise.

    Attributes:
        fields: how many the API has.
        seen: how many were set by a test, or came filled.
        missing: the others, as in a fault.
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
        seconds: the whole of it.
        tests: how many were chosen.
        faults_total: how many were chosen; less than that are in `faults` where it was stopped.
        seed: of the sample; None where no sample was taken.
        tries: how many tests were tried for a fault at most; 0 for all.
        coverage: by side, `request` and `response`.
        faults: what became of each.
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
        """The faults that nobody noticed."""
        return [fault for fault in self.faults if fault.outcome is FaultOutcome.SURVIVED]
