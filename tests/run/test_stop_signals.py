"""Signals while a command of ours runs."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from critests.run.stop_signals import wait_for
from tests.plugin.command import environment


def test_a_command_that_is_waited_for_gets_the_signal_that_ends_a_service() -> None:
    script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    before = signal.getsignal(signal.SIGTERM)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()

    with process.stdout:
        assert wait_for(process) == 7
    assert signal.getsignal(signal.SIGTERM) is before


def handles_signals(pid: int) -> bool:
    """Return whether a process has a handler for SIGTERM; Python has one of its own for SIGINT only."""
    (caught,) = re.findall(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize(
    ("number", "seconds"),
    [(signal.SIGINT, 0.0), (signal.SIGTERM, 0.3), (signal.SIGINT, 0.6), (signal.SIGTERM, 1.0)],
)
def test_a_signal_during_the_start_of_a_run_ends_it_without_a_traceback(
    number: signal.Signals, seconds: float, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "critests", "run", "-k", "status", "--", "--collect-only"]
    run = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    while not handles_signals(run.pid) and run.poll() is None:  # Python itself takes a moment to start
        time.sleep(0.01)
    time.sleep(seconds)
    run.send_signal(number)
    _, error = run.communicate(timeout=60)

    assert run.returncode in {0, 2}, error  # 0 if it had ended before
    assert "Traceback" not in error
    assert re.fullmatch(r"(critests: interrupted.*\n)?", error)


SECOND_SIGNAL = """
import os, signal, sys, time
from critests.run import stop_signals
stop_signals.protect_cleanup()
os.kill(os.getpid(), signal.SIGINT)
print("cleans up", flush=True)
time.sleep(stop_signals.AGAIN_SECONDS)
os.kill(os.getpid(), signal.SIGINT)
print("still here")
"""


def test_a_second_signal_during_cleanup_leaves_at_once_but_not_a_forwarded_one() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SECOND_SIGNAL], capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.returncode == 2
    assert ended.stdout == "cleans up\n"
    assert "critests clean" in ended.stderr
