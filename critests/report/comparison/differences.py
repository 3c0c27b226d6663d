"""What two runs do not keep, offer or show alike, as data."""

from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final

from critests.catalogue.words import Outcome

UNTESTED: Final = "untested"
"""Stands for the verdict on a requirement that a run has not."""
NOT_RUN: Final = frozenset({UNTESTED, Outcome.DISABLED.value})
NOT_JUDGED: Final = frozenset({Outcome.UNSUPPORTED.value, Outcome.BLOCKED.value})
_BREACHES: Final = frozenset({Outcome.FAILED.value, Outcome.WARNED.value})


@unique
class VerdictChange(StrEnum):
    """How two verdicts on one requirement differ."""

    ONLY_A_KEEPS = "A keeps, B breaks"
    ONLY_B_KEEPS = "B keeps, A breaks"
    ONLY_A_OFFERS = "A keeps, B does not offer it"
    ONLY_B_OFFERS = "B keeps, A does not offer it"
    NOT_ON_B = "not judged on B"
    NOT_ON_A = "not judged on A"
    OTHERWISE = "broken or not offered in different ways"


@dataclass(frozen=True, kw_only=True)
class AspectDifference:
    """One aspect whose verdicts differ.

    Attributes:
        aspect: Its name, `SBX-26/error`.
        level: How it binds.
        judgement: It is our engineering judgement (†).
        a: Verdict on side A.
        b: Verdict on side B.
        why: What was seen on the side that does not keep it.
    """

    aspect: str
    level: str
    judgement: bool
    a: str
    b: str
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class RequirementDifference:
    """One requirement whose verdicts differ, in itself or in an aspect.

    Attributes:
        requirement: Its id.
        title: What it promises.
        group: How they differ.
        a: Verdict on side A.
        b: Verdict on side B.
        aspects: The aspects that differ.
    """

    requirement: str
    title: str
    group: VerdictChange
    a: str
    b: str
    aspects: list[AspectDifference] = field(default_factory=list)

    @property
    def not_run(self) -> bool:
        """It differs only because one side did not run its tests."""
        words = (
            {self.a, self.b}
            if self.a != self.b
            else {word for aspect in self.aspects for word in (aspect.a, aspect.b)}
        )
        return bool(words & NOT_RUN)


@dataclass(frozen=True, kw_only=True)
class FormPair:
    """What each side does where the API is silent (an aspect of level DIV). An empty form was not
    recorded.
    """

    aspect: str
    title: str
    a: str
    b: str

    @property
    def differ(self) -> bool:
        """Both were seen, and they are not the same."""
        return bool(self.a and self.b) and self.a != self.b


@dataclass(frozen=True, kw_only=True)
class CapabilityDifference:
    """A capability that is not found alike; None where it could not be found out."""

    name: str
    a: bool | None
    b: bool | None
    evidence_a: str = ""
    evidence_b: str = ""


@dataclass(frozen=True, kw_only=True)
class Conformance:
    """The promises.

    Attributes:
        same: Number of requirements with the same verdicts.
        differences: Those that differ, by group.
        forms: Recorded divergences, those that differ first.
        capabilities: Those that differ.
        tests_only_a: Tests that side A alone has.
        tests_only_b: Tests that side B alone has.
        counts_a: Outcome to the number of A's requirements.
        counts_b: Outcome to the number of B's.
    """

    same: int = 0
    differences: list[RequirementDifference] = field(default_factory=list)
    forms: list[FormPair] = field(default_factory=list)
    capabilities: list[CapabilityDifference] = field(default_factory=list)
    tests_only_a: list[str] = field(default_factory=list)
    tests_only_b: list[str] = field(default_factory=list)
    counts_a: dict[str, int] = field(default_factory=dict)
    counts_b: dict[str, int] = field(default_factory=dict)

    def grouped(self) -> dict[VerdictChange, list[RequirementDifference]]:
        """Return the differences by group, in the order of the groups; empty groups are left out."""
        found: dict[VerdictChange, list[RequirementDifference]] = {group: [] for group in VerdictChange}
        for difference in self.differences:
            found[difference.group].append(difference)
        return {group: members for group, members in found.items() if members}


@dataclass(frozen=True, kw_only=True)
class TestDifference:
    """A test whose outcomes differ.

    Attributes:
        test: Its id.
        name: Its name.
        requirement: The aspect that it is about.
        level: How that binds.
        judgement: It is our engineering judgement (†).
        group: How the outcomes differ.
        a: Outcome on side A; of a test that A has not, the verdict on its aspect.
        b: Outcome on side B.
        why: What was seen on side B, or why it was not judged there.
    """

    __test__ = False  # its name is no invitation for pytest

    test: str
    name: str
    requirement: str
    level: str
    judgement: bool
    group: VerdictChange
    a: str
    b: str
    why: str

    @property
    def worse(self) -> bool:
        """It is broken on side B, and was not, or less so, on side A."""
        return self.b in _BREACHES and self.a not in {Outcome.FAILED, Outcome.KNOWN, self.b}

    @property
    def not_run(self) -> bool:
        """Side A judged it and side B did not run it."""
        return self.b in NOT_RUN and self.a not in NOT_RUN

    @property
    def gone(self) -> bool:
        """It passed on side A, and could not be judged on side B."""
        return self.a == Outcome.PASSED and self.b in NOT_JUDGED

    @property
    def fixed(self) -> bool:
        """It was broken on side A and passed on side B."""
        return self.group is VerdictChange.ONLY_B_KEEPS
