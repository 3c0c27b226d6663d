"""Processes of a load run: started apart from the terminal's signals, ended with their parent."""

import ctypes
import signal
import subprocess
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # prctl(2)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies, however that dies: nobody would remove what
    it makes.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def start(module: str, plan: Path, errors: Path) -> subprocess.Popen[str]:
    """Start a module of this package as a program in a session of its own, so that Ctrl-C reaches only the
    process that decides.

    Args:
        module: its last name.
        plan: its only argument.
        errors: where its standard error goes.
    """
    with errors.open("w", encoding="utf-8") as file:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", f"critests.benchmark.load.{module}", str(plan)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if module == "master" else file,
            stderr=file,
            text=True,
            start_new_session=True,
        )


def end(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait for a process to end, and kill it where it does not in time."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_words(errors: Path) -> str:
    """Return the last line that a process wrote to its standard error; empty where there is none."""
    try:
        lines = [
            line.strip()
            for line in errors.read_text(encoding="utf-8", errors="replace").splitlines()
            if line.strip()
        ]
    except OSError:
        return ""
    return lines[-1][:300] if lines else ""
