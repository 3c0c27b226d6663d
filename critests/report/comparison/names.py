"""What the two sides of a comparison are called, and how their verdicts differ in those names."""

from dataclasses import dataclass

from critests.report.comparison.differences import Group
from critests.report.comparison.model import SideFacts
from critests.report.facts.side_names import Reported, told_apart


@dataclass(frozen=True)
class Names:
    """The names of both sides, which are never the same."""

    a: str
    b: str

    def group(self, group: Group) -> str:
        """Return how two verdicts differ, with the names."""
        texts = {
            Group.ONLY_A_KEEPS: f"{self.a} keeps, {self.b} breaks",
            Group.ONLY_B_KEEPS: f"{self.b} keeps, {self.a} breaks",
            Group.ONLY_A_OFFERS: f"{self.a} keeps, {self.b} does not offer it",
            Group.ONLY_B_OFFERS: f"{self.b} keeps, {self.a} does not offer it",
            Group.NOT_ON_A: f"not judged on {self.a}",
            Group.NOT_ON_B: f"not judged on {self.b}",
        }
        return texts.get(group, group.value)

    def heading(self, group: Group) -> str:
        """Return the same as a heading: names of runtimes stay as they are, other words begin large."""
        text = self.group(group)
        return text if text.startswith((self.a, self.b)) else text[0].upper() + text[1:]


def names_of(a: SideFacts, b: SideFacts) -> Names:
    """Return the shortest names that tell two sides apart."""
    return Names(*told_apart(*(Reported(side.runtime, side.version, side.handlers) for side in (a, b))))
