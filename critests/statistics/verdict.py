"""The verdicts of a comparison and their criteria; without numpy, because every report uses them."""

from dataclasses import dataclass
from enum import StrEnum, unique


@unique
class Verdict(StrEnum):
    """The verdict on B compared with A."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_EVIDENCE = "no evidence of a difference"
    TOO_FEW = "too few samples"
    """With so few samples or blocks no difference can be significant, whatever their values."""
    TOO_NOISY = "too noisy"
    """A relevant difference could have stayed undetected, because the interval is too wide."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """The quantile of a comparison and its significance."""

    quantile: float = 0.5
    significance: float = 0.005
    """The family-wise error rate of all operations."""
    smallest_effect: float = 0.02
    """The noise threshold: an estimated difference below this share is never called faster or slower."""
    confidence: float | None = None
    """Confidence of the intervals; None for 1 - significance."""

    @property
    def interval_confidence(self) -> float:
        """Confidence of the intervals."""
        return 1 - self.significance if self.confidence is None else self.confidence

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1 or not 0 < self.significance < 1 or self.smallest_effect < 0:
            msg = f"quantile and significance lie between 0 and 1, the effect is at least 0: {self}"
            raise ValueError(msg)
