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


_BY_UNAME = {
    "x86_64": Architecture.AMD64,
    "amd64": Architecture.AMD64,
    "aarch64": Architecture.ARM64,
    "arm64": Architecture.ARM64,
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
            f"the test images are built for amd64 and arm64, and this machine is {found}"
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


NATIVE_VARIANT = {Architecture.AMD64: "", Architecture.ARM64: "v8"}
"""The variant of each architecture in an index."""
