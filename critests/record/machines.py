"""Whether two machines are similar enough to compare speeds."""

from collections.abc import Mapping
from typing import Any, Final

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
"""Facts that are compared only if both records have them; older records lack them."""
MEMORY_SLACK: Final = 0.02
"""The same machine reports a little more or less memory after another kernel reserved some."""


def unlike(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, object, object]]:
    """Return the differences of two fingerprints, each with both values; facts without influence on speed
    (the boot, the runtime's version) are not compared.

    A needed fact that one or both records lack counts as a difference, with the value None.
    """
    found = []
    for name, path in NEEDED.items():
        left, right = _fact(a, path), _fact(b, path)
        if left is None or right is None or not _alike(name, left, right):
            found.append((name, left, right))
    for name, path in IF_KNOWN.items():
        left, right = _fact(a, path), _fact(b, path)
        if left is not None and right is not None and left != right:
            found.append((name, left, right))
    return found


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
