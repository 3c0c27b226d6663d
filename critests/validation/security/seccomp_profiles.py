"""Seccomp profiles of the suite. Each has a rule for personality(2), which no shell calls."""

from pathlib import Path
from typing import Any

from critests.testing import Architecture, machine_architecture

PROTOCOL_ERROR = 71
"""The error number EPROTO, which personality(2) never returns itself."""
# the native one, and those of the 32-bit programs that its kernel runs, too
_ARCHITECTURES = {
    Architecture.AMD64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    Architecture.ARM64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
    Architecture.PPC64LE: ["SCMP_ARCH_PPC64LE"],
    Architecture.RISCV64: ["SCMP_ARCH_RISCV64"],
    Architecture.S390X: ["SCMP_ARCH_S390X", "SCMP_ARCH_S390"],
}
OTHER_PERSONALITY = 8
"""PER_LINUX32, the argument that the profile `arguments` denies; 0xffffffff is a query, personality(2)."""


def _allow_all_but(**rule: Any) -> dict[str, Any]:  # noqa: ANN401 - values of JSON
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["personality"], **rule}]}


def notifying(socket: Path) -> dict[str, Any]:
    """Return the profile that leaves the call to the listener of a socket."""
    return {**_allow_all_but(action="SCMP_ACT_NOTIFY"), "listenerPath": str(socket)}


_DENY = {"action": "SCMP_ACT_ERRNO", "errnoRet": PROTOCOL_ERROR}
PROFILES = {
    "refuses": _allow_all_but(**_DENY),
    "kills": _allow_all_but(action="SCMP_ACT_KILL_PROCESS"),
    "logs": _allow_all_but(action="SCMP_ACT_LOG"),
    "arguments": _allow_all_but(
        **_DENY, args=[{"index": 0, "value": OTHER_PERSONALITY, "op": "SCMP_CMP_EQ"}]
    ),
}
"""Profiles in the form of the OCI runtime specification, by name."""


def all_profiles() -> dict[str, dict[str, Any]]:
    """Return `PROFILES`, and the one that names the architectures of this machine.

    Raises:
        UnsupportedArchitectureError: they are not known.
    """
    named = _allow_all_but(**_DENY) | {"architectures": _ARCHITECTURES[machine_architecture()]}
    return {**PROFILES, "architectures": named}


def native_architecture() -> str:
    """Return the name that seccomp profiles have for the architecture of this machine.

    Raises:
        UnsupportedArchitectureError: it is not known.
    """
    return _ARCHITECTURES[machine_architecture()][0]
