import math
from pathlib import Path

import pytest

from critests.benchmark.reference.noise import StealMeter, noise_probes
from critests.benchmark.reference.reference_facts import (
    cgroup_limits,
    disk_of,
    governors,
    machine_facts,
    smt,
    turbo,
)
from critests.record.codec import to_plain


def test_each_kind_of_work_is_timed(tmp_path: Path) -> None:
    probes = noise_probes(tmp_path, seconds=0.02)
    assert [probe.name for probe in probes] == ["spin", "fsync", "fork"]
    for probe in probes:
        assert probe.count >= 1
        assert 0 < probe.median_seconds <= probe.p99_seconds < 10
    assert list(tmp_path.iterdir()) == []


def test_without_time_each_kind_of_work_runs_once(tmp_path: Path) -> None:
    assert [probe.count for probe in noise_probes(tmp_path, seconds=0)] == [1, 1, 1]


def test_stolen_time_is_a_share_of_all_cpu_time(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 0 0 0 0 0 0 50 0\ncpu0 1 2 3\n")
    meter = StealMeter(stat)
    assert meter.share() is None
    stat.write_text("cpu  140 10 20 10 0 5 5 10 90 0\n")
    assert meter.share() == pytest.approx(0.1)


@pytest.mark.parametrize("text", ["", "cpu 1 2 3\n", "intr 5 6 7 8 9 1 2 3\n"])
def test_the_steal_share_is_unknown_if_the_kernel_does_not_count_it(tmp_path: Path, text: str) -> None:
    stat = tmp_path / "stat"
    stat.write_text(text)
    assert StealMeter(stat).share() is None
    assert StealMeter(tmp_path / "absent").share() is None


def test_the_facts_can_be_recorded() -> None:
    facts = machine_facts(Path("/var/lib/not/there"))
    assert to_plain(facts)
    assert facts["load_average"]
    assert {"governor", "turbo", "smt", "mitigations", "disk", "cgroup_limits"} <= set(facts)
    assert disk_of(Path("/proc"))["filesystem"] == "proc"
    assert disk_of(Path("/proc"))["device"] == ""


def test_the_settings_of_the_processor_are_read(tmp_path: Path) -> None:
    assert governors(tmp_path) == []
    assert turbo(tmp_path) is smt(tmp_path) is None
    for number, name in ((0, "performance"), (1, "powersave"), (2, "performance")):
        folder = tmp_path / f"cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
    for file, text in (("intel_pstate/no_turbo", "1\n"), ("smt/active", "1\n")):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    assert governors(tmp_path) == ["performance", "powersave"]
    assert turbo(tmp_path) is False
    assert smt(tmp_path) is True


def test_the_smallest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    place = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()[-1].split(":", 2)
    if place[1]:
        pytest.skip("no unified hierarchy here")
    folder = tmp_path / place[2].lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text("max\n")
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    mounts = [("/", str(tmp_path), "rw shared:1 - cgroup2 cgroup2 rw")]
    assert cgroup_limits(mounts=mounts) == {"cpus": 1.5, "memory_bytes": None}
    (tmp_path / "memory.max").write_text("1048576\n")
    assert cgroup_limits(mounts=mounts) == {"cpus": 1.5, "memory_bytes": 1048576.0}
    assert not math.isnan(cgroup_limits(mounts=mounts)["cpus"] or 0)
    assert cgroup_limits(mounts=[]) == {"cpus": None, "memory_bytes": None}
