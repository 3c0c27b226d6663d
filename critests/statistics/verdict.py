"""What a comparison can say and how sure it has to be; without numpy, as every report has these words."""

from dataclasses import dataclass
from enum import StrEnum, unique


@unique
class Verdict(StrEnum):
    """What is said about B beside A."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_EVIDENCE = "no evidence of a difference"
    TOO_NOISY = "too noisy"
    """A difference that matters could have stayed unseen: too few samples or blocks, or too wide an
    interval.
    """


@dataclass(frozen=True, slots=True)
class Criteria:
    """What a comparison looks at and how sure it has to be."""

    quantile: float = 0.5
    significance: float = 0.005
    """The accepted chance of any false alarm among all operations; intervals have the confidence
    1 - significance.
    """
    smallest_effect: float = 0.02
    """The noise floor: an estimated difference below this share is never called faster or slower."""

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1 or not 0 < self.significance < 1 or self.smallest_effect < 0:
            msg = f"quantile and significance lie between 0 and 1, the effect is at least 0: {self}"
            raise ValueError(msg)
