"""Seccomp profiles of our own. Each singles out personality(2), which no shell calls."""

from pathlib import Path
from typing import Any

from critests.images.platforms import Architecture, machine_architecture

PROTOCOL_ERROR = 71
"""An error number that personality(2) never gives by itself."""
_ARCHITECTURES = {
    Architecture.AMD64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    Architecture.ARM64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
}
OTHER_PERSONALITY = 8
"""The argument that the profile `arguments` refuses; a query has 0xffffffff."""


def _allowing_all_but(**rule: Any) -> dict[str, Any]:  # noqa: ANN401 - values of JSON
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["personality"], **rule}]}


def asking_at(socket: Path) -> dict[str, Any]:
    """Return the profile that leaves the call to who listens at a socket."""
    return {**_allowing_all_but(action="SCMP_ACT_NOTIFY"), "listenerPath": str(socket)}


_REFUSED = {"action": "SCMP_ACT_ERRNO", "errnoRet": PROTOCOL_ERROR}
PROFILES = {
    "refuses": _allowing_all_but(**_REFUSED),
    "kills": _allowing_all_but(action="SCMP_ACT_KILL_PROCESS"),
    "logs": _allowing_all_but(action="SCMP_ACT_LOG"),
    "arguments": _allowing_all_but(
        **_REFUSED, args=[{"index": 0, "value": OTHER_PERSONALITY, "op": "SCMP_CMP_EQ"}]
    ),
    "architectures": _allowing_all_but(**_REFUSED)
    | {"architectures": _ARCHITECTURES[machine_architecture()]},
}
"""In the form of the OCI runtime specification, by name."""
