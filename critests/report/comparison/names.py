"""The names of the two sides of a comparison, and headings made of them."""

from dataclasses import dataclass

from critests.record.identity import OCI_RUNTIME
from critests.report.comparison.differences import VerdictChange
from critests.report.comparison.model import SideFacts
from critests.report.facts.side_names import Reported, distinct_names


@dataclass(frozen=True)
class Names:
    """The names of both sides, which always differ."""

    a: str
    b: str

    def heading(self, group: VerdictChange) -> str:
        """Return the heading of a group of differences, with the names of the sides."""
        texts = {
            VerdictChange.ONLY_A_KEEPS: f"{self.a} passes, {self.b} fails",
            VerdictChange.ONLY_B_KEEPS: f"{self.b} passes, {self.a} fails",
            VerdictChange.ONLY_A_OFFERS: f"{self.a} passes, {self.b} does not offer the feature",
            VerdictChange.ONLY_B_OFFERS: f"{self.b} passes, {self.a} does not offer the feature",
            VerdictChange.NOT_ON_A: f"Not judged on {self.a}",
            VerdictChange.NOT_ON_B: f"Not judged on {self.b}",
        }
        return texts.get(group, group.value.capitalize())


def names_of(a: SideFacts, b: SideFacts) -> Names:
    """Return the shortest names that distinguish two sides."""
    sides = (
        Reported(side.runtime, side.version, side.handlers, side.binary, side.parts.get(OCI_RUNTIME, ""))
        for side in (a, b)
    )
    return Names(*distinct_names(*sides))
