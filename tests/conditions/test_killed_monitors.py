"""Which processes are killed as shims and monitors."""

import shutil
import subprocess
from pathlib import Path

from critests.conditions.killed_monitors import MonitorDraws, kill_monitors


def test_only_monitors_of_the_pod_are_killed(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    started = {}
    for name, pod in (("conmon", "11.25"), ("containerd-shim-runc-v2", "12.25"), ("sleep", "11.25")):
        program = tmp_path / name
        program.symlink_to(sleep)
        # its argument stands for the id, which no other process of the machine has
        started[name] = subprocess.Popen([str(program), f"1{tmp_path.stat().st_ino}{pod}"])
    try:
        assert kill_monitors([f"1{tmp_path.stat().st_ino}11.25", "absent-from-this-machine"]) == 1

        assert started["conmon"].wait(10) == -9
        assert [name for name, process in started.items() if process.poll() is None] == [
            "containerd-shim-runc-v2",
            "sleep",
        ]
    finally:
        for process in started.values():
            process.kill()
            process.wait()


def test_about_half_of_the_calls_that_end_a_pod_are_drawn_until_one_was() -> None:
    draws = MonitorDraws(1)
    assert not any(draws.is_due() for _ in range(100))

    draws.test_begins("test")
    drawn = [draws.is_due() for _ in range(1000)]
    draws.over()

    assert 400 < sum(drawn) < 600
    assert not any(draws.is_due() for _ in range(100))
