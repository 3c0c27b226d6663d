"""Which processes the removal of a runtime kills, and how long it waits for their exit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.cleanup import leftovers
from critests.node.run_state.footprint import Footprint
from tests.criserver.clients import eventually
from tests.node.footprints import footprint_in
from tests.node.waiting_process import waiting_process

FREE_PIDS = range(2**30, 2**30 + 10)
"""Process ids that no process has."""
SECONDS = 0.1


def killed(monkeypatch: pytest.MonkeyPatch, *, dying: bool) -> list[str]:
    """Kill processes; with `dying`, one exits in each half of the timeout, else none."""
    living = set(FREE_PIDS)

    def our_processes(_traces: Footprint) -> set[int]:
        time.sleep(SECONDS / 2)
        if dying and living:
            living.pop()
        return set(living)

    monkeypatch.setattr(leftovers, "our_processes", our_processes)
    return leftovers.kill_processes(cast("Footprint", Path()), seconds=SECONDS)


def test_kill_waits_while_processes_continue_to_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert killed(monkeypatch, dying=True) == []


def test_remaining_processes_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(killed(monkeypatch, dying=False)) == len(FREE_PIDS)


@pytest.mark.parametrize(
    ("name", "binaries", "ours"),
    [
        ("runsc-sandbox", ("containerd", "containerd-shim-runsc-v1"), True),
        ("runsc-sandbox", ("containerd", "runc"), False),
        ("tail", ("containerd", "containerd-shim-runsc-v1"), False),
    ],
)
def test_processes_of_a_shim_are_recognised_by_name_and_directory(
    tmp_path: Path, name: str, binaries: tuple[str, ...], ours: bool
) -> None:
    footprint = footprint_in(tmp_path, binaries=binaries)
    with waiting_process(name, f"--root={footprint.state}/oci", env={}) as process:
        assert (process.pid in leftovers.our_processes(footprint)) is ours


WITHOUT_LEADER = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(20,)).start()
print(flush=True)
# exit(2), which ends the first thread alone
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
"""


def test_a_process_whose_first_thread_has_exited_leaves_its_cgroup() -> None:
    cgroup = cgroup_hierarchies()[0] / f"critests-test-{os.getpid()}"
    try:
        cgroup.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be created: {error}")
    with subprocess.Popen([sys.executable, "-c", WITHOUT_LEADER], stdout=subprocess.PIPE) as process:
        (cgroup / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
        assert process.stdout is not None
        process.stdout.readline()
        status = Path(f"/proc/{process.pid}/status")
        eventually(lambda: "Z (zombie)" in status.read_text(encoding="ascii"), bool)

        left = leftovers.remove_cgroups([cgroup])

        assert process.wait(10) == -signal.SIGKILL
    assert (left, cgroup.exists()) == ([], False)
