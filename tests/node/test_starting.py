"""Which program creates the cgroups of a private runtime."""

import pytest

from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.node.starting import start_runtime
from critests.node.starting.start_runtime import systemd_makes_cgroups
from critests.node.starting.throwaway import RuntimeStartFailed


@pytest.mark.parametrize(
    ("booted", "driver", "systemd"),
    [
        (True, CgroupDriver.UNKNOWN, True),
        (True, CgroupDriver.SYSTEMD, True),
        (True, CgroupDriver.CGROUPFS, False),
        (False, CgroupDriver.UNKNOWN, False),
        (False, CgroupDriver.CGROUPFS, False),
    ],
)
def test_systemd_creates_cgroups_if_it_booted_the_machine(
    booted: bool, driver: CgroupDriver, systemd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_runtime, "booted_by_systemd", lambda: booted)

    assert systemd_makes_cgroups(driver) is systemd


def test_systemd_driver_is_rejected_without_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_runtime, "booted_by_systemd", lambda: False)

    with pytest.raises(RuntimeStartFailed, match="not booted by systemd"):
        systemd_makes_cgroups(CgroupDriver.SYSTEMD)
