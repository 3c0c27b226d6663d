"""What a process may do on this machine: its Linux capability sets, read from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

CAPABILITY_NAMES = (
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
)
"""The names without `CAP_`, in the order of their numbers (linux/capability.h)."""


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
    """Return the names of the bits set; a bit that this list does not know is named by its number."""
    known = len(CAPABILITY_NAMES)
    return frozenset(
        CAPABILITY_NAMES[bit] if bit < known else str(bit)
        for bit in range(mask.bit_length())
        if mask >> bit & 1
    )


def children_may(capability: str) -> bool:
    """Tell whether a program that this process starts as root will have a capability."""
    return os.geteuid() == 0 and capability in process_capabilities().bounding
