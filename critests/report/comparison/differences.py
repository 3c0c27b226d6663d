"""Differences in the conformance of two runs, as data."""

from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final

from critests.catalogue.words import Outcome

UNTESTED: Final = "untested"
"""The verdict on a requirement that a run did not test."""
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
        level: Its level.
        judgement: It is our engineering judgement (†).
        a: Verdict on side A.
        b: Verdict on side B.
        why: What was observed on the side that fails.
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
        title: Its title.
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
        """Whether it differs only because one side did not run its tests."""
        words = (
            {self.a, self.b}
            if self.a != self.b
            else {word for aspect in self.aspects for word in (aspect.a, aspect.b)}
        )
        return bool(words & NOT_RUN)


@dataclass(frozen=True, kw_only=True)
class FormPair:
    """The choice of each side where the API leaves one (an aspect of level DIV); empty if not recorded."""

    aspect: str
    title: str
    a: str
    b: str

    @property
    def differ(self) -> bool:
        """Whether both are recorded and differ."""
        return bool(self.a and self.b) and self.a != self.b


@dataclass(frozen=True, kw_only=True)
class CapabilityDifference:
    """A capability whose probe had different results; None is unknown."""

    name: str
    a: bool | None
    b: bool | None
    evidence_a: str = ""
    evidence_b: str = ""


@dataclass(frozen=True, kw_only=True)
class JudgedMusts:
    """The MUSTs that have a verdict on both sides; our engineering judgements (†) do not count.

    Attributes:
        judged: Number of aspects of level MUST that have one.
        total: Number of such aspects with a test in the suite; 0 if not recorded.
        broken_a: Those that side A breaks, known failures included.
        broken_b: Those that side B breaks.
    """

    judged: int = 0
    total: int = 0
    broken_a: list[str] = field(default_factory=list)
    broken_b: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Conformance:
    """Differences in conformance.

    Attributes:
        same: Number of requirements with the same verdicts.
        differences: Those that differ, by group.
        forms: Observed variants of DIV aspects, those that differ first.
        capabilities: Those that differ.
        tests_only_a: Tests of side A only.
        tests_only_b: Tests of side B only.
        counts_a: Outcome to the number of A's requirements.
        counts_b: Outcome to the number of B's.
        musts: The MUSTs that have a verdict on both sides.
    """

    same: int = 0
    differences: list[RequirementDifference] = field(default_factory=list)
    forms: list[FormPair] = field(default_factory=list)
    capabilities: list[CapabilityDifference] = field(default_factory=list)
    tests_only_a: list[str] = field(default_factory=list)
    tests_only_b: list[str] = field(default_factory=list)
    counts_a: dict[str, int] = field(default_factory=dict)
    counts_b: dict[str, int] = field(default_factory=dict)
    musts: JudgedMusts = JudgedMusts()

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
        requirement: The aspect that it tests.
        level: Level of the aspect.
        judgement: It is our engineering judgement (†).
        group: How the outcomes differ.
        a: Outcome on side A; if A has no such test, the verdict on its aspect.
        b: Outcome on side B.
        why: What was observed on side B, or why it was not judged there.
    """

    __test__ = False  # keeps pytest from collecting it as a test class

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
        """Whether it is broken on side B, and was not or less so on side A."""
        return self.b in _BREACHES and self.a not in {Outcome.FAILED, Outcome.KNOWN, self.b}

    @property
    def not_run(self) -> bool:
        """Whether side A judged it and side B did not run it."""
        return self.b in NOT_RUN and self.a not in NOT_RUN

    @property
    def gone(self) -> bool:
        """Whether it passed on side A and could not be judged on side B."""
        return self.a == Outcome.PASSED and self.b in NOT_JUDGED

    @property
    def fixed(self) -> bool:
        """Whether it was broken on side A and passed on side B."""
        return self.group is VerdictChange.ONLY_B_KEEPS
