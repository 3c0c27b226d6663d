"""The cgroup parent of a pod, in the form for the runtime's cgroup driver, and its removal after the run."""

import contextlib
import os
import subprocess
from dataclasses import dataclass
from enum import StrEnum, unique
from pathlib import Path

from critests.lifecycle.process_cgroups import MOUNT
from critests.lifecycle.run_label import RUN_ID, RunIdentity

_TOP = "critests"
_SLICE = "critests_"
"""Prefix of the names of a run's slices; the run's id follows, with underscores for dashes."""


@unique
class CgroupDriver(StrEnum):
    """Which program creates the cgroups of containers."""

    CGROUPFS = "cgroupfs"
    SYSTEMD = "systemd"
    UNKNOWN = "unknown"
    """It cannot be determined; pods then name no parent, and the runtime chooses one."""


@dataclass(frozen=True)
class CgroupParents:
    """The cgroup parents of one run's pods."""

    run: RunIdentity
    driver: CgroupDriver

    def of_pod(self, uid: str) -> str:
        """Return `linux.cgroup_parent` for a pod in the kubelet's form for this driver: a path in the
        hierarchy, also for a slice.
        """
        if self.driver is CgroupDriver.CGROUPFS:
            return f"/{_TOP}/{self.run.id}/pod{uid}"
        if self.driver is CgroupDriver.SYSTEMD:
            return f"/{self._slice}.slice/{self._slice}-pod{uid.replace('-', '_')}.slice"
        return ""

    @property
    def _slice(self) -> str:
        # without a dash it is not inside another slice, which another run may use
        return f"{_SLICE}{self.run.id.replace('-', '_')}"

    def remove(self) -> list[str]:
        """Remove the run's cgroups, deepest first, as the kubelet does for its pods; return the topmost ones
        that are still in use.
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
        name = f"{_TOP}/{self.run.id}" if self.driver is not CgroupDriver.SYSTEMD else f"{self._slice}.slice"
        return [path for path in (MOUNT / name, *MOUNT.glob(f"*/{name}")) if path.is_dir()]


def holds_pods(name: str) -> bool:
    """Return whether a cgroup at the top of a hierarchy, by its name, is for the pods of runs."""
    return name == _TOP or name.startswith(_SLICE)


def remove_cgroups_of(run: RunIdentity) -> list[str]:
    """Remove a run's cgroups of either driver; return those that are still in use."""
    drivers = CgroupDriver.CGROUPFS, CgroupDriver.SYSTEMD
    return [path for driver in drivers for path in CgroupParents(run, driver).remove()]


def runs_with_cgroups() -> set[str]:
    """Return the ids of the runs with a cgroup on this machine, running or not."""
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
    # still in use: the caller checks which directories remain
    with contextlib.suppress(OSError):
        directory.rmdir()
