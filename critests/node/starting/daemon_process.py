"""One process of a private runtime: starts it, checks whether it runs, and stops it."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from critests.node.starting.daemon_choice import DaemonCommand

_STOP_SECONDS = 3.0
_LOG_TAIL_LINES = 20
_LOG_TAIL_BYTES = 16384


class DaemonProcess:
    """A daemon that the same command starts, once or several times."""

    def __init__(self, command: DaemonCommand, environment: Mapping[str, str], log_file: Path) -> None:
        """Store the command; the output of the daemon is appended to the log."""
        self.command = command
        self._environment = dict(environment)
        self._log_file = log_file
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Return its process id; None while it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """Return its exit code, for a signal the negative number; None while it runs, or before its start."""
        return self._process.poll() if self._process is not None else None

    def start(self) -> None:
        """Start it, in its own session, so that Ctrl-C does not reach it.

        Raises:
            OSError: the binary cannot be executed.
        """
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [str(self.command.program), *self.command.arguments],
                cwd="/",
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=0o022,  # as for a service of systemd, whatever the user's is
            )

    def end(self, signal_number: int) -> None:
        """Stop it by a signal and wait until it has exited; after three seconds it is killed."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal_number)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()


def complaint_about(path: Path, word: str) -> str:
    """Return the last warning or error in a log that contains a word; empty if there is none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    levels = "level=warn", "level=error"
    return next((line for line in reversed(lines) if word in line and any(at in line for at in levels)), "")


def log_tail(path: Path) -> str:
    """Return the last lines of a log: at most 20, and at most 16 KiB."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - _LOG_TAIL_BYTES))
            text = log.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-_LOG_TAIL_LINES:])
