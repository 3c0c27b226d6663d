"""A container of the small CRI server: one plain process of this machine, its log in the CRI's format.

There is no isolation: no root file system, no namespaces, no cgroup. A process that root starts runs as
nobody, so that a script that should stop its own container can stop nothing else on the machine.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

NOBODY = 65534
SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LONGEST_PIECE = 16 * 1024
PAUSE = ["sleep", "1000000"]


def resolve(command: Sequence[str]) -> list[str]:
    """Return the command, with busybox in front if only busybox has it.

    Raises:
        FileNotFoundError: this machine has no such program.
    """
    name = command[0]
    found = shutil.which(name, path=SAFE_PATH)
    if found:
        return [found, *command[1:]]
    busybox = shutil.which("busybox", path=SAFE_PATH)
    if busybox and not name.startswith("/no") and Path(name).name in _applets(busybox):
        return [busybox, Path(name).name, *command[1:]]
    msg = f"exec: {name!r}: executable file not found in $PATH"
    raise FileNotFoundError(msg)


def _applets(busybox: str) -> set[str]:
    return set(subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split())


def start(
    command: Sequence[str],
    environment: dict[str, str],
    *,
    stdin: int,
    stderr: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, as nobody if this process is root; stdout is a pipe.

    setpriv changes the user: with its `user` argument, subprocess would fork instead of vfork, and a forked
    child runs gRPC's fork handlers, which can crash it before its exec.
    """
    as_nobody = (
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
        if os.geteuid() == 0
        else []
    )
    return subprocess.Popen(
        [*as_nobody, *resolve(command)],
        env={"PATH": SAFE_PATH} | environment,
        cwd="/",
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        bufsize=0,
    )


def kill_session(process: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> None:
    """Send a signal to a process and to its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def exit_code(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code as a runtime reports it: 128+N for death by signal N."""
    code = process.returncode
    return 128 - code if code < 0 else code


class ContainerLog:
    """A container's log file: `<time> <stream> <F|P> <payload>` lines."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self.listeners: list[Callable[[str, bytes], None]] = []
        self.printed: dict[str, int] = {}
        """How many whole lines were printed, by stream."""
        self.held_back: dict[str, int] = {}
        """How many of the first lines are not written, by stream."""

    def reopen(self) -> None:
        """Open the file again by its name, creating it if it is missing.

        Raises:
            OSError: it cannot be opened, or is a link; the earlier one stays open.
        """
        with self._lock:
            if self._path:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
                opened = os.fdopen(os.open(self._path, flags, 0o666), "ab", buffering=0)
                if self._file:
                    self._file.close()
                self._file = opened

    def close(self) -> None:
        """Stop writing."""
        with self._lock:
            if self._file:
                self._file.close()
                self._file = None

    def copy(self, source: IO[bytes], stream: str) -> None:
        """Copy the output of a process, until it closes its end."""
        pending = b""
        while chunk := source.read(65536):
            for listener in list(self.listeners):
                listener(stream, chunk)
            pending += chunk
            *lines, pending = pending.split(b"\n")
            for line in lines:
                self._write_line(stream, line)
            while len(pending) > LONGEST_PIECE:
                self._write(stream, b"P", pending[:LONGEST_PIECE])
                pending = pending[LONGEST_PIECE:]
        if pending:
            self._write(stream, b"P", pending)

    def _write_line(self, stream: str, line: bytes) -> None:
        self.printed[stream] = self.printed.get(stream, 0) + 1
        if self.printed[stream] <= self.held_back.get(stream, 0):
            return
        while len(line) > LONGEST_PIECE:
            self._write(stream, b"P", line[:LONGEST_PIECE])
            line = line[LONGEST_PIECE:]
        self._write(stream, b"F", line)

    def _write(self, stream: str, tag: bytes, payload: bytes) -> None:
        now = time.time_ns()
        timestamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9)) + f".{now % 10**9:09d}Z"
        with self._lock:
            if self._file:
                self._file.write(b"%s %s %s %s\n" % (timestamp.encode(), stream.encode(), tag, payload))


class ContainerProcess:
    """A container's first process: created, started once, exited once."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        log_path: Path | None,
        *,
        tty: bool,
        stdin: bool,
    ) -> None:
        self.command = list(command) or list(PAUSE)
        self.environment = environment
        self.log = ContainerLog(log_path)
        self.tty = tty
        self.stdin = stdin
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = 0
        self.finished_at = 0
        self.exit_code = 0
        self.ended = threading.Event()
        self._exit_reported = threading.Event()

    def start(self, when_ended: Callable[[], None]) -> None:
        """Start it.

        Raises:
            FileNotFoundError: there is no such program.
            PermissionError: the program may not be executed.
        """
        self.log.reopen()
        try:
            self.process = start(
                self.command,
                self.environment,
                stdin=subprocess.PIPE if self.stdin else subprocess.DEVNULL,
                stderr=subprocess.STDOUT if self.tty else subprocess.PIPE,
            )
        except OSError:
            self.log.close()
            self.exit_code = 128
            self.finished_at = time.time_ns()
            self.ended.set()
            self._exit_reported.set()
            raise
        self.started_at = time.time_ns()
        outputs = {"stdout": self.process.stdout, "stderr": self.process.stderr}
        copiers = [
            threading.Thread(target=self.log.copy, args=(pipe, stream), daemon=True)
            for stream, pipe in outputs.items()
            if pipe
        ]
        for copier in copiers:
            copier.start()
        threading.Thread(target=self._watch, args=(self.process, copiers, when_ended), daemon=True).start()

    def _watch(
        self,
        process: subprocess.Popen[bytes],
        copiers: list[threading.Thread],
        when_ended: Callable[[], None],
    ) -> None:
        process.wait()
        kill_session(process)  # the exit of a container kills all its processes
        for copier in copiers:
            copier.join(timeout=2)
        self.log.close()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe and (pipe is process.stdin or not any(copier.is_alive() for copier in copiers)):
                with contextlib.suppress(OSError):
                    pipe.close()
        self.exit_code = exit_code(process)
        self.finished_at = time.time_ns()
        self.ended.set()
        when_ended()
        self._exit_reported.set()

    def stop(self, number: int, grace: float) -> None:
        """Send the stop signal, wait for the grace period (s), then kill; return when the process has exited
        and its event was sent.
        """
        if not self.process:
            return
        if grace > 0 and not self.ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.ended.wait(min(grace, threading.TIMEOUT_MAX))
        if not self.ended.is_set():
            kill_session(self.process)
        self._exit_reported.wait(10)
