"""Which changes of the machine's own settings are noticed."""

import os
from pathlib import Path

import pytest

from critests.node.host.mounting import SHARED, mount, unmount
from critests.node.observing import host_settings
from critests.node.observing.host_settings import HostSettings


def test_nothing_has_changed_between_two_equal_readings() -> None:
    before = HostSettings({"kernel.sem": "1"}, {("/", "/"): "rw"})

    assert before.kernel_changes(before) == before.mount_changes(before) == []


def test_a_changed_kernel_setting_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_settings, "_KERNEL", tmp_path)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/shmmax").write_text("1\n")
    before = HostSettings.read()

    (tmp_path / "kernel/shmmax").write_text("2\n")

    assert before.kernel_changes(HostSettings.read()) == ["kernel.shmmax is '2', was '1'"]


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount")
def test_a_changed_propagation_is_named_but_no_mount_that_comes_or_goes(tmp_path: Path) -> None:
    before = HostSettings.read()
    mount(tmp_path, kind="tmpfs")
    try:
        assert before.mount_changes(during := HostSettings.read()) == []
        mount(tmp_path, flags=SHARED)
        assert [
            change.partition(" is mounted ")[0] for change in during.mount_changes(HostSettings.read())
        ] == [str(tmp_path)]
    finally:
        unmount(tmp_path)
    assert during.mount_changes(HostSettings.read()) == []
