"""All known kinds of runtimes, and functions over all of them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from critests.runtimes import oci_runtimes
from critests.runtimes.containerd.containerd_facts import CONTAINERD
from critests.runtimes.cri_dockerd.cri_dockerd_facts import CRI_DOCKERD
from critests.runtimes.crio.crio_facts import CRIO
from critests.runtimes.runtime_facts import Monitor, RuntimeKind

KINDS: tuple[RuntimeKind, ...] = (CONTAINERD, CRIO, CRI_DOCKERD)

_RELEASE: Final = re.compile(r"v?(\d+(?:\.\d+)*)(?:\+unknown|~ds\d*)?", re.ASCII)
"""A release, also as Debian names its source (`1.6.20~ds1`) or as a build without git reports it
(`2.1.9+unknown`).
"""


@dataclass(frozen=True)
class BuiltWith:
    """The CRI that a release is built with.

    Attributes:
        minor: its Kubernetes minor, 32 for 1.32.
        evidence: which releases are built with it, in words.
    """

    minor: int
    evidence: str


def built_with(reported_name: str, version: str) -> BuiltWith | None:
    """Return the CRI that a release is built with, or at least with, if it is newer than all known ones.

    None for an unknown runtime, and for a version that is no release: a pre-release, or one with the suffix
    of a vendor, may be built with another API.

    Args:
        reported_name: As Version reports it.
        version: As Version reports it.
    """
    release = _RELEASE.fullmatch(version)
    if release is None:
        return None
    found = None
    for kind in KINDS:
        for first, minor in kind.api_levels if kind.reported_name == reported_name else ():
            if _numbers(first) <= _numbers(release[1]):
                found = BuiltWith(minor, f"{kind.title} is built with it from {first} on")
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def known_failures_file(reported_name: str) -> Path | None:
    """Return the file of known failures of a runtime; None for an unknown runtime.

    Args:
        reported_name: As Version reports it.
    """
    packages = (kind.name.replace("-", "_") for kind in KINDS if kind.reported_name == reported_name)
    return next((Path(__file__).parent / package / "known_failures.toml" for package in packages), None)


def well_known_sockets() -> tuple[Path, ...]:
    """Return the default socket of every runtime."""
    return tuple(socket for kind in KINDS for socket in kind.sockets)


def package_of(program: str) -> str:
    """Return the Debian or Ubuntu package of a program."""
    return next((kind.packages[program] for kind in KINDS if program in kind.packages), program)


def programs() -> tuple[str, ...]:
    """Return the names of all programs of runtimes, OCI runtimes included."""
    own = (name for kind in KINDS for name in (kind.program, *kind.helpers))
    return tuple(dict.fromkeys((*own, *oci_runtimes.PROGRAMS)))


def programs_with_version() -> tuple[str, ...]:
    """Return the programs with a `--version` option."""
    own = (name for kind in KINDS for name in (kind.program, *kind.with_version))
    return tuple(dict.fromkeys((*own, *oci_runtimes.PROGRAMS)))


def monitors() -> tuple[Monitor, ...]:
    """Return the monitors of containers, such as shims."""
    return tuple(kind.monitor for kind in KINDS if kind.monitor is not None)


def shared_directories() -> tuple[Path, ...]:
    """Return the directories that all runtimes of a machine share, parents first."""
    return (*(path for kind in KINDS for path in kind.shared_directories), *oci_runtimes.SHARED_DIRECTORIES)


def shared_files() -> tuple[Path, ...]:
    """Return the files that all runtimes of a machine share; they may be deleted."""
    return tuple(path for kind in KINDS for path in kind.shared_files)


def apparmor_profiles() -> frozenset[str]:
    """Return the AppArmor profiles that runtimes load for their containers."""
    return frozenset(kind.apparmor_profile for kind in KINDS if kind.apparmor_profile)
