"""Whether two machines are alike enough for their speeds to be compared."""

from collections.abc import Mapping
from typing import Any, Final

from critests.report.comparison.model import Difference, Machines
from critests.report.comparison.wording import amount

NEEDED: Final = {
    "processor": ("cpu", "model"),
    "processors": ("cpu", "count"),
    "usable processors": ("cpu", "usable"),
    "architecture": ("architecture",),
    "memory": ("memory_bytes",),
    "kernel": ("kernel",),
    "virtualisation": ("virtualisation",),
    "cgroup version": ("cgroup", "version"),
    "root file system": ("root_filesystem",),
}
"""Facts that both records must have."""
IF_KNOWN: Final = {
    "frequency governor": ("cpu", "governor"),
    "turbo": ("cpu", "turbo"),
    "SMT": ("cpu", "smt"),
    "disk": ("disk",),
    "file system of the runtime's root": ("runtime_filesystem",),
    "mitigations": ("mitigations",),
}
"""Facts that count where both records have them: they came later."""
MEMORY_SLACK: Final = 0.02
"""The same machine reports a little more or less memory after another kernel reserved some."""
_ABSENT: Final = "not recorded"


def compare_machines(a: Mapping[str, Any], b: Mapping[str, Any]) -> Machines:
    """Compare two fingerprints; what does not bear on speed (the boot, the runtime's own version) is not
    looked at.

    A fact that only one record has, or neither, cannot be said to agree.
    """
    differences = []
    for name, path in NEEDED.items():
        left, right = _fact(a, path), _fact(b, path)
        if left is None or right is None or not _alike(name, left, right):
            differences.append(Difference(name=name, a=_shown(name, left), b=_shown(name, right)))
    for name, path in IF_KNOWN.items():
        left, right = _fact(a, path), _fact(b, path)
        if left is not None and right is not None and left != right:
            differences.append(Difference(name=name, a=_shown(name, left), b=_shown(name, right)))
    return Machines(agree=not differences, differences=differences)


def _alike(name: str, left: object, right: object) -> bool:
    if name == "memory" and isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return abs(left - right) <= MEMORY_SLACK * max(left, right)
    return left == right


def _fact(facts: Mapping[str, Any], path: tuple[str, ...]) -> object:
    value: Any = facts
    for step in path:
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value


def _shown(name: str, value: object) -> str:
    if value is None:
        return _ABSENT
    if name == "memory" and isinstance(value, (int, float)):
        return amount(float(value), "B")
    return str(value) or "none"
