"""The suite's own mounts: creation, propagation, listing and removal."""

import os
from pathlib import Path

import pytest

from critests.fixtures.host_mounts import HostMounts
from critests.node.cleanup import runtime_removal
from critests.node.cleanup.leftovers import unmount_below
from critests.node.host import mounting
from critests.node.host.mount_table import mounts_below

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="creates mounts")


@pytest.fixture
def mounts(tmp_path: Path) -> HostMounts:
    return HostMounts(tmp_path)


def test_later_mounts_propagate_only_from_a_shared_mount(mounts: HostMounts, tmp_path: Path) -> None:
    try:
        for name, shared in (("shared", True), ("private", False)):
            place, peer = mounts.bound(name, shared=shared), tmp_path / f"peer-{name}"
            peer.mkdir()
            mounting.mount(peer, source=str(place), flags=mounting.BIND)
            mounts.tmpfs(place / "late")
        assert mounts.below(tmp_path / "peer-shared") == [str(tmp_path / "peer-shared/late")]
        assert mounts.below(tmp_path / "peer-private") == []
    finally:
        assert unmount_below([tmp_path]) == []


def test_a_path_below_shared_mounts_is_listed_once(tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    try:
        mounting.mount(outer, source=str(outer), flags=mounting.BIND)
        mounting.mount(outer, flags=mounting.SHARED)
        mounts = HostMounts(outer)
        late = mounts.tmpfs(mounts.bound("inner", shared=True) / "late")
        assert [mount.place for mount in mounts.mount_table()].count(str(late)) == 2
        assert mounts.below(outer / "inner") == [str(late)]
    finally:
        assert unmount_below([tmp_path]) == []


def test_error_of_a_mount_has_its_path(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such device") as error:
        mounting.mount(tmp_path, kind="nosuchfs")

    assert error.value.filename == str(tmp_path)


def test_unmount_removes_a_mount(mounts: HostMounts, tmp_path: Path) -> None:
    place = mounts.tmpfs(tmp_path / "place")

    mounting.unmount(place)

    assert mounts_below([tmp_path]) == []


def test_forget_dead_run_unmounts_the_mounts_of_its_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("critests.node.run_state.run_directories.FILES", tmp_path / "lib")
    monkeypatch.setattr("critests.node.run_state.run_directories.RUNS", tmp_path / "run")
    HostMounts(tmp_path).tmpfs(tmp_path / "lib/1-abc/host-x/late")

    assert runtime_removal.forget_dead_run("1-abc")

    assert not (tmp_path / "lib/1-abc").exists()
