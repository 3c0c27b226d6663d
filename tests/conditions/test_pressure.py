"""The programs and the limit of the condition `pressure`."""

import contextlib
import os
import resource
import subprocess
import sys
from pathlib import Path

from critests.conditions.node_pressure import BUSY, NodePressure, limit_open_files
from tests.criserver.clients import eventually


def busy_programs() -> list[Path]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            if BUSY.encode() in words and str(os.getpid()).encode() in words:
                found.append(path)
    return found


def test_the_programs_run_until_they_are_stopped() -> None:
    pressure = NodePressure()
    eventually(busy_programs, lambda found: len(found) == 2)

    pressure.stop()

    assert busy_programs() == []


def test_a_program_ends_with_the_process_that_started_it() -> None:
    starter = (
        "import subprocess, sys, os; print(subprocess.Popen([sys.executable, '-c', sys.argv[1],"
        " str(os.getpid())], stdout=subprocess.DEVNULL).pid)"
    )
    pid = subprocess.run(
        [sys.executable, "-c", starter, BUSY], capture_output=True, text=True, check=True
    ).stdout.strip()

    eventually(Path(f"/proc/{pid}/exe").exists, lambda exists: not exists)


def test_the_limit_is_that_of_one_process() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with subprocess.Popen(["sleep", "60"]) as daemon:
        limit_open_files(daemon.pid)

        soft, hard = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
        daemon.kill()

    assert (soft, hard) == (256, before[1])
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
