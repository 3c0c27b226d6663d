"""The environments of the two sides, including their machines, and whether they are the same: a difference
may be the cause of a difference in speed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from critests.record.identity import OCI_RUNTIME, RuntimeIdentity
from critests.record.machines import unlike
from critests.record.run_record import RunRecord
from critests.report.comparison.model import MachineDifference, Machines, RunComparison, SideFacts
from critests.report.comparison.wording import amount

PARTS: Final = (OCI_RUNTIME, "CNI plugins", "storage", "cgroup driver", "sandbox image", "node settings")
"""Components of a runtime, by their names in the record."""
KERNEL: Final = "kernel"
_ABSENT: Final = "not recorded"


@dataclass(frozen=True)
class EnvironmentFact:
    """One fact about the environments of both sides.

    Attributes:
        name: Name of the fact.
        a: Value of side A, or empty if it is not recorded.
        b: Value of side B.
    """

    name: str
    a: str
    b: str

    @property
    def alike(self) -> bool | None:
        """Whether both are the same; None if one is not recorded."""
        return self.a == self.b if self.a and self.b else None


def environment_facts(comparison: RunComparison) -> list[EnvironmentFact]:
    """Return the facts about the environments of both sides."""
    a, b = comparison.a, comparison.b
    return [EnvironmentFact(name, _part(a, name), _part(b, name)) for name in (*PARTS, KERNEL)]


def warning(comparison: RunComparison, a: str, b: str) -> str:
    """Return how the environments of the sides named `a` and `b` differ, and what is not recorded; empty if
    all is equal.
    """
    facts = environment_facts(comparison)
    differ = [f"{each.name} ({a}: {each.a}; {b}: {each.b})" for each in facts if each.alike is False]
    unknown = [each.name for each in facts if each.alike is None]
    if len(unknown) == len(facts):
        return "The environments of the two sides are not recorded and cannot be compared."
    differences = f"Not only the runtimes differ: {', '.join(differ)}." if differ else ""
    missing = f"Not recorded on both sides: {', '.join(unknown)}." if unknown else ""
    return " ".join(filter(None, [differences, missing]))


def shared_environment(comparison: RunComparison) -> str:
    """Return what both sides have in common besides the runtimes: OCI runtime, CNI plugins, storage."""
    alike = [f"{each.name} {each.a}" for each in environment_facts(comparison) if each.alike]
    return f"Both sides: {', '.join(alike)}." if alike else ""


def oci_runtime_name(record: RunRecord) -> str:
    """Return the name of the OCI runtime of a run, `runc`; empty if it is not recorded."""
    return record.runtime.parts.get(OCI_RUNTIME, "").partition(" ")[0]


def located_parts(runtime: RuntimeIdentity) -> dict[str, str]:
    """Return the components of a runtime, its OCI runtime with the path of its program."""
    parts = dict(runtime.parts)
    program = next((each for each in runtime.programs if each.role == OCI_RUNTIME), None)
    if program is not None and parts.get(OCI_RUNTIME):
        parts[OCI_RUNTIME] += f" at {program.path}"
    return parts


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
