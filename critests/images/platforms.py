"""Architectures and platforms, with the names in OCI images (Go's GOARCH)."""

import platform
from dataclasses import dataclass
from enum import StrEnum, unique

from critests.exit_codes import CannotTest


@unique
class Architecture(StrEnum):
    """An architecture that the test images can be built for."""

    AMD64 = "amd64"
    ARM64 = "arm64"
    PPC64LE = "ppc64le"
    RISCV64 = "riscv64"
    S390X = "s390x"


_BY_UNAME = {
    "x86_64": Architecture.AMD64,
    "amd64": Architecture.AMD64,
    "aarch64": Architecture.ARM64,
    "arm64": Architecture.ARM64,
    "ppc64le": Architecture.PPC64LE,
    "riscv64": Architecture.RISCV64,
    "s390x": Architecture.S390X,
}


class UnsupportedArchitectureError(CannotTest):
    """There are no test images for this machine."""


def machine_architecture() -> Architecture:
    """Return the architecture of this machine.

    Raises:
        UnsupportedArchitectureError: No images can be built for it.
    """
    found = platform.machine()
    if found not in _BY_UNAME:
        raise UnsupportedArchitectureError(
            f"the test images are built for {', '.join(Architecture)}, and this machine is {found}"
        )
    return _BY_UNAME[found]


@dataclass(frozen=True, slots=True)
class Platform:
    """The `platform` of an entry in an OCI image index; the operating system is always linux."""

    architecture: str
    variant: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the object of an index."""
        platform = {"architecture": self.architecture, "os": "linux"}
        return platform | {"variant": self.variant} if self.variant else platform


NATIVE_VARIANT = dict.fromkeys(Architecture, "") | {Architecture.ARM64: "v8"}
"""The variant of each architecture in an index."""
