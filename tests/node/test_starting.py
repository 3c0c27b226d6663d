"""Who makes the cgroups of a throwaway runtime."""

import pytest

from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.node.starting import start_runtime
from critests.node.starting.start_runtime import systemd_makes_cgroups
from critests.node.starting.throwaway import RuntimeStartFailed


@pytest.mark.parametrize(
    ("booted", "asked", "systemd"),
    [
        (True, CgroupDriver.UNKNOWN, True),
        (True, CgroupDriver.SYSTEMD, True),
        (True, CgroupDriver.CGROUPFS, False),
        (False, CgroupDriver.UNKNOWN, False),
        (False, CgroupDriver.CGROUPFS, False),
    ],
)
def test_systemd_makes_cgroups_where_it_is_the_first_process(
    booted: bool, asked: CgroupDriver, systemd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_runtime, "booted_by_systemd", lambda: booted)

    assert systemd_makes_cgroups(asked) is systemd


def test_systemd_cannot_make_cgroups_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_runtime, "booted_by_systemd", lambda: False)

    with pytest.raises(RuntimeStartFailed, match="not booted by systemd"):
        systemd_makes_cgroups(CgroupDriver.SYSTEMD)
