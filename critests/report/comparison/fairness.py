"""What is beside two runtimes that are compared, their machines among it, and whether it is the same on both
sides: what differs there may be what makes one of them faster.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from critests.record.machines import unlike
from critests.report.comparison.model import MachineDifference, Machines, RunComparison, SideFacts
from critests.report.comparison.names import Names
from critests.report.comparison.wording import amount

PARTS: Final = ("OCI runtime", "CNI plugins", "storage", "cgroup driver", "sandbox image")
"""Parts of a runtime, as the record names them."""
KERNEL: Final = "kernel"
_ABSENT: Final = "not recorded"


@dataclass(frozen=True)
class Beside:
    """One thing that both sides have.

    Attributes:
        name: What it is.
        a: Side A's, or empty where that is not recorded.
        b: Side B's.
    """

    name: str
    a: str
    b: str

    @property
    def alike(self) -> bool | None:
        """Whether both are the same; None where that cannot be told."""
        return self.a == self.b if self.a and self.b else None


def beside(comparison: RunComparison) -> list[Beside]:
    """Return the environment of both sides."""
    a, b = comparison.a, comparison.b
    return [Beside(name, _part(a, name), _part(b, name)) for name in (*PARTS, KERNEL)]


def warning(comparison: RunComparison, names: Names) -> str:
    """Say how the environments differ and what is unknown; empty where all is equal."""
    found = beside(comparison)
    differ = [
        f"{each.name} ({names.a}: {each.a}; {names.b}: {each.b})" for each in found if each.alike is False
    ]
    unknown = [each.name for each in found if each.alike is None]
    said = f"The environments differ in: {', '.join(differ)}." if differ else ""
    if len(unknown) == len(found):
        return "The environments of the two sides are not recorded and cannot be compared."
    untold = f"Not recorded on both sides: {', '.join(unknown)}." if unknown else ""
    return " ".join(filter(None, [said, untold]))


def _part(side: SideFacts, name: str) -> str:
    return side.kernel if name == KERNEL else side.parts.get(name, "")


def compare_machines(a: Mapping[str, Any], b: Mapping[str, Any]) -> Machines:
    """Compare two fingerprints as `unlike` does."""
    differences = [
        MachineDifference(name=name, a=_shown(name, left), b=_shown(name, right))
        for name, left, right in unlike(a, b)
    ]
    return Machines(agree=not differences, differences=differences)


def _shown(name: str, value: object) -> str:
    if value is None:
        return _ABSENT
    if name == "memory" and isinstance(value, (int, float)):
        return amount(float(value), "B")
    return str(value) or "none"
