"""What a process may do on this machine: its Linux capability sets, read from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

from critests.lifecycle.process import CAPABILITIES


@dataclass(frozen=True)
class ProcessCapabilities:
    """The capability sets of a process, as names without `CAP_`."""

    effective: frozenset[str]
    permitted: frozenset[str]
    inheritable: frozenset[str]
    bounding: frozenset[str]
    ambient: frozenset[str]


def process_capabilities(pid: int | None = None) -> ProcessCapabilities:
    """Return the capability sets of a process; of this one where no number is given.

    Raises:
        ProcessLookupError: there is no such process.
        PermissionError: this process may not look at it.
    """
    try:
        lines = (
            Path("/proc", str(pid or "self"), "status")
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
    except FileNotFoundError as error:
        raise ProcessLookupError(f"there is no process {pid}") from error
    masks = {line[3:6]: int(line.split()[1], 16) for line in lines if line.startswith("Cap")}
    return ProcessCapabilities(*(capability_names(masks[key]) for key in ("Eff", "Prm", "Inh", "Bnd", "Amb")))


def capability_names(mask: int) -> frozenset[str]:
    """Return the names of the bits set; a bit that has no name here is named by its number."""
    known = len(CAPABILITIES)
    return frozenset(
        CAPABILITIES[bit] if bit < known else str(bit) for bit in range(mask.bit_length()) if mask >> bit & 1
    )


_ALL_USERS = ["0", "0", "4294967295"]
"""The map of the initial user namespace, user_namespaces(7)."""


def user_namespace(map_file: Path = Path("/proc/self/uid_map")) -> str:
    """Return the map of users of this process's user namespace; empty in the initial one.

    In another one, user 0 is not root of the machine.
    """
    numbers = map_file.read_text(encoding="ascii").split()
    return "" if numbers == _ALL_USERS else " ".join(numbers)


def in_user_namespace_of(pid: int | None) -> bool:
    """Return whether a process is in the user namespace of this one; False if it may not be examined."""
    try:
        return Path(f"/proc/{pid}/ns/user").samefile("/proc/self/ns/user")
    except OSError:
        return False


def children_may(capability: str) -> bool:
    """Return whether a program that this process starts as root will have a capability."""
    return os.geteuid() == 0 and capability in process_capabilities().bounding
