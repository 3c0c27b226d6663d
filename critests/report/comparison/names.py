"""What the two sides of a comparison are called, and how their verdicts differ in those names."""

from dataclasses import dataclass

from critests.report.comparison.differences import VerdictChange
from critests.report.comparison.model import SideFacts
from critests.report.facts.side_names import Reported, told_apart


@dataclass(frozen=True)
class Names:
    """The names of both sides, which are never the same."""

    a: str
    b: str

    def heading(self, group: VerdictChange) -> str:
        """Return how two verdicts differ, with the names, which stay as they are."""
        texts = {
            VerdictChange.ONLY_A_KEEPS: f"{self.a} keeps, {self.b} breaks",
            VerdictChange.ONLY_B_KEEPS: f"{self.b} keeps, {self.a} breaks",
            VerdictChange.ONLY_A_OFFERS: f"{self.a} keeps, {self.b} does not offer it",
            VerdictChange.ONLY_B_OFFERS: f"{self.b} keeps, {self.a} does not offer it",
            VerdictChange.NOT_ON_A: f"Not judged on {self.a}",
            VerdictChange.NOT_ON_B: f"Not judged on {self.b}",
        }
        return texts.get(group, group.value.capitalize())


def names_of(a: SideFacts, b: SideFacts) -> Names:
    """Return the shortest names that tell two sides apart."""
    return Names(*told_apart(*(Reported(side.runtime, side.version, side.handlers) for side in (a, b))))
