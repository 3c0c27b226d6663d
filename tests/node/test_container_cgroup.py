"""Values of a container's cgroup, from recorded trees of version 1 and 2."""

import subprocess
from pathlib import Path

import pytest

from critests.lifecycle.process_cgroups import Membership
from critests.node.cgroups.container_cgroup import (
    INSIDE,
    CgroupValues,
    folders_of,
    limits_at,
    numbers_in,
    same_weight,
    weights_of,
)

VERSION_1 = {
    "cpu/cpu.shares": "512",
    "cpu/cpu.cfs_quota_us": "20000",
    "cpu/cpu.cfs_period_us": "100000",
    "cpu/cpu.stat": "nr_periods 12\nnr_throttled 7\nthrottled_time 100",
    "cpuacct/cpuacct.usage": "5000",
    "cpuset/cpuset.cpus": "0-1",
    "cpuset/cpuset.mems": "0",
    "memory/memory.limit_in_bytes": "67108864",
    "memory/memory.memsw.limit_in_bytes": "100663296",
    "memory/memory.usage_in_bytes": "4096",
    "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1",
    "pids/pids.max": "max",
    "hugetlb/hugetlb.2MB.limit_in_bytes": "4194304",
    "hugetlb/hugetlb.2MB.rsvd.limit_in_bytes": "9223372036854771712",
    "hugetlb/hugetlb.1GB.limit_in_bytes": "9223372036854771712",
}
VERSION_2 = {
    "cgroup.controllers": "cpuset cpu io memory hugetlb pids",
    "cpu.weight": "20",
    "cpu.max": "20000 100000",
    "cpu.stat": "usage_usec 5\nnr_periods 12\nnr_throttled 7",
    "cpuset.cpus": "0-1",
    "cpuset.mems": "0",
    "memory.max": "67108864",
    "memory.swap.max": "33554432",
    "memory.current": "4096",
    "memory.events": "low 0\noom 1\noom_kill 1\noom_group_kill 0",
    "memory.high": "max",
    "memory.oom.group": "0",
    "pids.max": "max",
    "hugetlb.2MB.max": "4194304",
    "hugetlb.2MB.rsvd.max": "max",
    "hugetlb.1GB.max": "max",
}


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return folder


def printed_in(folder: Path) -> str:
    script = INSIDE.replace("/sys/fs/cgroup", str(folder))
    return subprocess.run(["/bin/sh", "-c", script], check=True, capture_output=True, text=True).stdout


def assert_recorded(values: CgroupValues) -> None:
    assert (values.memory, values.swap, values.memory_used, values.oom_kills) == (64 << 20, 32 << 20, 4096, 1)
    assert (values.cpu_quota, values.cpu_period, values.throttled) == (20_000, 100_000, 7)
    assert values.cpu_used == 5000
    assert values.has_shares(512)
    assert not values.has_shares(1024)
    assert (values.cpus, values.mems) == (frozenset({0, 1}), frozenset({0}))
    assert values.pids is None
    assert values.hugepages == {"2MB": 4 << 20, "1GB": None}


def test_version_1_from_the_host(tmp_path: Path) -> None:
    tree(tmp_path, VERSION_1)

    assert_recorded(CgroupValues.in_folders(1, sorted(tmp_path.iterdir())))


def test_version_2_from_the_host(tmp_path: Path) -> None:
    assert_recorded(CgroupValues.in_folders(2, [tree(tmp_path, VERSION_2)]))


@pytest.mark.parametrize("files", [VERSION_1, VERSION_2], ids=["version 1", "version 2"])
def test_either_version_from_inside(tmp_path: Path, files: dict[str, str]) -> None:
    assert_recorded(CgroupValues.printed(printed_in(tree(tmp_path, files))))


def test_a_hierarchy_with_two_names_is_read_once(tmp_path: Path) -> None:
    tree(tmp_path, {"cpu,cpuacct/cpu.stat": "nr_periods 1\nnr_throttled 3"})
    (tmp_path / "cpu").symlink_to("cpu,cpuacct")

    values = CgroupValues.printed(printed_in(tmp_path))

    assert values.text("cpu.stat") == "nr_periods 1\nnr_throttled 3"


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (
            1,
            {
                "memory.limit_in_bytes": "9223372036854771712",
                "memory.memsw.limit_in_bytes": "9223372036854771712",
                "cpu.cfs_quota_us": "-1",
                "pids.max": "max",
            },
        ),
        (2, {"memory.max": "max", "memory.swap.max": "max", "cpu.max": "max 100000", "pids.max": "max"}),
    ],
)
def test_no_limit_is_none(version: int, files: dict[str, str]) -> None:
    values = CgroupValues(version, files)

    assert (values.memory, values.swap, values.cpu_quota, values.pids) == (None, None, None, None)


def test_both_conversions_of_shares() -> None:
    assert weights_of(2) == {1}
    assert weights_of(1024) == {39, 100}
    assert weights_of(262_144) == {10_000}
    assert weights_of(1 << 40) == {10_000}


def test_cpu_lists_of_the_kernel_are_parsed() -> None:
    assert numbers_in("0-2,7\n") == {0, 1, 2, 7}
    assert numbers_in("") == frozenset()


MOUNTS_1 = [
    ("/", "/sys/fs/cgroup/cpu,cpuacct", "rw shared:1 - cgroup cgroup rw,cpu,cpuacct"),
    ("/", "/sys/fs/cgroup/memory", "rw shared:2 - cgroup cgroup rw,memory"),
    ("/", "/sys/fs/cgroup/systemd", "rw shared:3 - cgroup cgroup rw,xattr,name=systemd"),
    ("/", "/sys/fs/cgroup/unified", "rw shared:4 - cgroup2 cgroup2 rw"),
]


def test_folders_of_version_1() -> None:
    place = "/critests/r/podu/c"
    names = (("name=systemd",), ("memory",), ("cpu", "cpuacct"))
    memberships = [*(Membership(controllers, place) for controllers in names), Membership((), "/")]

    assert folders_of(memberships, MOUNTS_1) == (
        1,
        [
            Path("/sys/fs/cgroup/memory/critests/r/podu/c"),
            Path("/sys/fs/cgroup/cpu,cpuacct/critests/r/podu/c"),
        ],
    )


def test_folder_of_version_2_created_by_systemd() -> None:
    scope = "/critests.slice/critests-r.slice/critests-r-podu.slice/crio-1.scope"
    mounts = [("/", "/sys/fs/cgroup", "rw - cgroup2 cgroup2 rw,nsdelegate")]

    assert folders_of([Membership((), f"{scope}/container")], mounts, "critests-r-podu.slice") == (
        2,
        [Path(f"/sys/fs/cgroup{scope}")],
    )


def test_folder_where_only_a_part_of_the_hierarchy_is_mounted() -> None:
    mounts = [("/docker/abc", "/sys/fs/cgroup", "rw - cgroup2 cgroup2 rw")]

    assert folders_of([Membership((), "/docker/abc/pod/c")], mounts) == (2, [Path("/sys/fs/cgroup/pod/c")])


def test_limits_are_directly_below_the_parent() -> None:
    assert limits_at("/critests/r/podu/c/container", "/critests/r/podu") == "/critests/r/podu/c"
    assert limits_at("/critests/r/podu/c", "/critests/r/podu") == "/critests/r/podu/c"
    assert limits_at("/elsewhere/c", "/critests/r/podu") == "/elsewhere/c"
    assert limits_at("/elsewhere/c", "") == "/elsewhere/c"


def test_same_weight_compares_shares_after_conversion() -> None:
    assert same_weight(512, 512)
    # 20 by the linear conversion, and back
    assert same_weight(500, 512)
    assert not same_weight(512, 1024)
