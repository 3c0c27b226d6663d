"""What a gate finds: one thing each, said in one sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, unique


@unique
class Kind(StrEnum):
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
    EXPIRED = "expired waiver"
    BLOCKED = "too much blocked"
    WARNING = "warning"
    """A SHOULD or a promise of our judgement is not kept."""
    NOISY = "not proven"
    """Something may be wrong; the samples do not decide it."""
    UNMEASURED = "not measured"
    WAIVED = "waived"
    OLD = "not new"
    """The baseline has it too."""
    KNOWN = "known failure"
    SAID = "remark"


_PLURALS = {
    Kind.BREACH: "breaches",
    Kind.CAPABILITY: "capabilities gone",
    Kind.GONE: "verdicts gone",
    Kind.BOUND: "bounds exceeded",
    Kind.BLOCKED: "too much blocked",
    Kind.NOISY: "not proven",
    Kind.UNMEASURED: "not measured",
    Kind.WAIVED: "waived",
    Kind.OLD: "not new",
}
_ORDER = list(Kind)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that the gate found.

    Attributes:
        kind: What it is.
        fails: It makes the gate fail.
        subject: The aspect, operation or capability.
        sentence: What is wrong, for a person.
        weight: How many tests it stands for or stands in the way of, or how large the regression is; larger
            is worse.
    """

    kind: Kind
    fails: bool
    subject: str
    sentence: str
    weight: float = 1.0

    @property
    def rank(self) -> tuple[int, float, str]:
        """Sorts the worst first."""
        return _ORDER.index(self.kind), -self.weight, self.subject


def counted(findings: Iterable[Finding]) -> str:
    """Return `2 breaches, 1 slower operation`."""
    numbers: dict[Kind, int] = {}
    for finding in findings:
        numbers[finding.kind] = numbers.get(finding.kind, 0) + 1
    return ", ".join(
        f"{numbers[kind]} {kind.value if numbers[kind] == 1 else _PLURALS.get(kind, f'{kind.value}s')}"
        for kind in Kind
        if kind in numbers
    )
