"""Removal of cgroups that the probe of an OCI runtime left."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.observing.oci_probe import NAME, remove_leftover_references

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="creates cgroups")

PLACE = "critests-unit-probe"


@pytest.fixture
def hierarchy() -> Iterator[Path]:
    """A cgroup hierarchy with a cgroup of the probe's name that can contain processes."""
    for found in cgroup_hierarchies():
        place = found / PLACE / NAME
        try:
            place.mkdir(parents=True)
        except OSError:
            continue
        if not (place / "cpuset.cpus").exists():
            yield found
            for left in (place, place.parent):
                if left.exists():
                    left.rmdir()
            return
        place.rmdir()
        place.parent.rmdir()
    pytest.skip("no hierarchy of cgroups can be written")


def test_empty_leftover_cgroup_is_removed(hierarchy: Path) -> None:
    left = hierarchy / PLACE / NAME

    assert remove_leftover_references() == [left]
    assert (hierarchy / PLACE).is_dir()


def test_cgroup_with_a_process_is_not_removed(hierarchy: Path) -> None:
    used = hierarchy / PLACE / NAME
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            (used / "cgroup.procs").write_text(str(process.pid), encoding="ascii")

            assert remove_leftover_references() == []
            assert used.is_dir()
        finally:
            process.kill()


def test_cgroup_with_another_name_is_not_removed(hierarchy: Path) -> None:
    (hierarchy / PLACE / NAME).rmdir()

    assert remove_leftover_references() == []
    assert (hierarchy / PLACE).is_dir()
