"""What became of each derived fault, and what all of it comes to."""

import enum
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from critests.audit.derived.fault import KINDS, DerivedFault
from critests.catalogue.loading import load
from critests.catalogue.rpcs import rpc_of


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
    """This runtime does not have the RPC."""
    EQUIVALENT = "equivalent"
    """It cannot be told apart from right behaviour, as the data file says."""


@dataclass(frozen=True)
class Tried:
    """What one test made of a fault: its outcome, and how often the fault had changed something by then."""

    test: str
    outcome: str
    hits: int
    reason: str = ""


@dataclass(frozen=True)
class FaultResult:
    """What became of one fault.

    Attributes:
        fault: its id.
        kind: as in `KINDS`.
        text: in the language of faults.
        outcome: it.
        rpc: where it acts; empty for whatever shows itself in no call.
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
    rpc: str
    breaks: tuple[str, ...] = ()
    by: str = ""
    tried: tuple[Tried, ...] = ()
    candidates: int = 0
    seconds: float = 0.0
    evidence: str = ""

    @classmethod
    def of(cls, fault: DerivedFault, outcome: FaultOutcome, **more: Any) -> Self:  # noqa: ANN401 - its own fields
        """Return the result of a fault."""
        return cls(fault.id, fault.kind, fault.text, outcome, fault.reach.rpc, fault.breaks, **more)

    @property
    def area(self) -> str:
        """The area of the suite that the RPC belongs to."""
        rpc = rpc_of(self.rpc)
        return load().aspect(rpc.judge)[0].area.value if rpc is not None else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return it from plain data."""
        tried = tuple(Tried(**one) for one in data["tried"])
        more = {"outcome": FaultOutcome(data["outcome"]), "tried": tried, "breaks": tuple(data["breaks"])}
        return cls(**{**data, **more})


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

    def __str__(self) -> str:
        return (
            f"{self.noticed} noticed, {self.survived} survived"
            f" ({_percent(self.of_reached)} of those reached);"
            f" {self.not_reached} not reached ({_percent(self.of_all)} of all noticed);"
            f" {self.never_filled} never filled, {self.not_offered} not offered, {self.equivalent} equivalent"
        )


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.0f} %"


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


def lines(results: list[FaultResult]) -> list[str]:
    """Return what a person wants to read: the survivors first, then what no test reached, then the counts."""
    found: list[str] = []
    for result in results:
        if result.outcome is FaultOutcome.SURVIVED:
            looked = ", ".join(f"{one.test} ({one.outcome})" for one in result.tried if one.hits)
            left = result.candidates - len(result.tried)
            found.append(
                f"survived: {result.fault} ({result.text}) in {looked}"
                + (f"; {left} more get there" if left else "")
            )
    for outcome in (FaultOutcome.NOT_REACHED, FaultOutcome.NEVER_FILLED):
        found += [
            f"{outcome}: {result.fault}" + (f": {result.evidence}" if result.evidence else "")
            for result in results
            if result.outcome is outcome
        ]
    for by in ("kind", "area", "rpc"):
        found += [f"{name or 'no RPC'}: {score}" for name, score in scores(results, by).items()]
    reached = [result for result in results if result.tried]
    if reached:
        mean = sum(result.seconds for result in reached) / len(reached)
        found.append(f"{mean:.1f} s for each fault that was tried")
    return [*found, f"all {len(results)}: {Score.of(results)}"]


__all__ = ["KINDS", "FaultOutcome", "FaultResult", "Score", "Tried", "lines", "scores"]
