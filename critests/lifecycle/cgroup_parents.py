"""The cgroup parent of a pod, in the form that the runtime's cgroup driver wants, and its removal after the
run.
"""

import contextlib
import os
import subprocess
from dataclasses import dataclass
from enum import StrEnum, unique
from pathlib import Path

from critests.lifecycle.process_cgroups import MOUNT
from critests.lifecycle.run_label import RUN_ID, RunIdentity

_SLICE = "critests_"
"""How the names of the slices begin that runs make; the run's id follows, with underscores for its dashes."""


@unique
class CgroupDriver(StrEnum):
    """Who makes the cgroups of containers."""

    CGROUPFS = "cgroupfs"
    SYSTEMD = "systemd"
    UNKNOWN = "unknown"
    """Not to be found out; pods then name no parent, and the runtime picks one."""


@dataclass(frozen=True)
class CgroupParents:
    """Names and removes the cgroups of one run's pods."""

    run: RunIdentity
    driver: CgroupDriver

    def of_pod(self, uid: str) -> str:
        """Return `linux.cgroup_parent` for a pod, as the kubelet would write it for this driver: as a path in
        the hierarchy, also of a slice.
        """
        if self.driver is CgroupDriver.CGROUPFS:
            return f"/critests/{self.run.id}/pod{uid}"
        if self.driver is CgroupDriver.SYSTEMD:
            return f"/{self._slice}.slice/{self._slice}-pod{uid.replace('-', '_')}.slice"
        return ""

    @property
    def _slice(self) -> str:
        # without a dash it lies in none that another run may use
        return f"{_SLICE}{self.run.id.replace('-', '_')}"

    def remove(self) -> list[str]:
        """Remove the run's cgroups, deepest first, as the kubelet does for its pods; return the run's own in
        each hierarchy where it, or what is below it, is still in use.
        """
        if self.driver is CgroupDriver.SYSTEMD and self._tops():
            subprocess.run(
                ["systemctl", "stop", f"{self._slice}.slice"], check=False, capture_output=True, timeout=30
            )
        left: list[str] = []
        for top in self._tops():
            for directory, _, _ in os.walk(top, topdown=False):
                _remove(Path(directory))
            if top.is_dir():
                left.append(str(top))
            if top.parent.name == "critests" and not any(child.is_dir() for child in _children(top.parent)):
                _remove(top.parent)
        return left

    def _tops(self) -> list[Path]:
        name = (
            f"critests/{self.run.id}" if self.driver is not CgroupDriver.SYSTEMD else f"{self._slice}.slice"
        )
        return [path for path in (MOUNT / name, *MOUNT.glob(f"*/{name}")) if path.is_dir()]


def remove_cgroups_of(run: RunIdentity) -> list[str]:
    """Remove a run's cgroups where nobody knows by which driver they were made; return those still in use."""
    drivers = CgroupDriver.CGROUPFS, CgroupDriver.SYSTEMD
    return [path for driver in drivers for path in CgroupParents(run, driver).remove()]


def runs_with_cgroups() -> set[str]:
    """Return the ids of the runs that have a cgroup on this machine, alive or dead."""
    plain = [
        path.name
        for pattern in ("critests/*", "*/critests/*")
        for path in MOUNT.glob(pattern)
        if path.is_dir()
    ]
    slices = [
        path.stem for pattern in (f"{_SLICE}*.slice", f"*/{_SLICE}*.slice") for path in MOUNT.glob(pattern)
    ]
    named = [name.removeprefix(_SLICE).replace("_", "-") for name in slices]
    return {name for name in (*plain, *named) if RUN_ID.fullmatch(name)}


def _children(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _remove(directory: Path) -> None:
    # in use: whoever looks afterwards finds it
    with contextlib.suppress(OSError):
        directory.rmdir()
