"""Lock files that distinguish live from dead runs, and keep two runs from choosing the same subnet.

A lock is an `flock` on a file: the kernel drops it when its holder dies, however it dies. Lock files are
removed with what they guard, so taking one checks that the file locked is still the file at that path.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from critests.lifecycle.process import stat_of
from critests.node.run_state import run_directories

POLL_SECONDS = 0.02
_STARTTIME = 19  # index of `starttime` in what `stat_of` returns


class LockHeld(Exception):
    """A lock could not be taken in time, because another process holds it."""


class FileLock:
    """An exclusive lock on a file; `release` or the end of the process drops it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def try_acquire(self) -> bool:
        """Take the lock if no process holds it; create the file and its directories if they are missing."""
        if self._descriptor is not None:
            return True
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # the directory was removed between the two calls
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked, there = os.fstat(descriptor), self.path.stat()
        except (BlockingIOError, FileNotFoundError):
            os.close(descriptor)
            return False
        # the last holder may have removed the file between open and flock: this one locks nothing
        if (locked.st_dev, locked.st_ino) != (there.st_dev, there.st_ino):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def acquire(self, *, seconds: float) -> None:
        """Take the lock, waiting up to `seconds`.

        Raises:
            LockHeld: another process held it all that time.
        """
        end = time.monotonic() + seconds
        while not self.try_acquire():
            if time.monotonic() >= end:
                raise LockHeld(f"{self.path} is held by another process; waited {seconds:g} s for it")
            time.sleep(POLL_SECONDS)

    def release(self, *, remove: bool = False) -> None:
        """Drop the lock; with `remove`, unlink its file before, while no other process can hold it."""
        if self._descriptor is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None

    def __enter__(self) -> Self:
        """Wait for the lock for up to 30 s."""
        self.acquire(seconds=30)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextmanager
def machine_lock() -> Iterator[None]:
    """Hold the lock of the machine, under which subnets are chosen and shared host state is restored.

    Its file and directory are removed afterwards if no run is left.

    Raises:
        LockHeld: another process held it for 60 s.
    """
    lock = FileLock(run_directories.RUNS / "machine.lock")
    lock.acquire(seconds=60)
    try:
        yield
    finally:
        alone = {entry.name for entry in run_directories.RUNS.iterdir()} == {lock.path.name}
        lock.release(remove=alone)
        if alone:
            run_directories.remove_empty(run_directories.RUNS, up_to=run_directories.RUNS)


def is_held(path: Path) -> bool:
    """Return whether a live process holds the lock file at `path`. A missing file is not held."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


class RunHold:
    """The lock of one run: while it is held, `critests clean` keeps objects with the run's label."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._lock = FileLock(run_directories.run_dir(run_id) / run_directories.LOCK_FILE)

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            LockHeld: a live run has the same id.
            PermissionError: only root may make directories below /run.
        """
        remove_abandoned()
        self._lock.acquire(seconds=5)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Drop the lock and remove its file, and the run's directory where nothing else is in it. Calling it
        again does nothing.
        """
        if self._lock.held:
            with machine_lock():
                self._lock.release(remove=True)
                run_directories.remove_empty(
                    run_directories.run_dir(self.run_id), up_to=run_directories.run_dir(self.run_id)
                )


def run_is_live(run_id: str) -> bool:
    """Return whether a run is live: a process holds its lock or that of one of its private runtimes."""
    directory = run_directories.run_dir(run_id)
    return any(
        is_held(path)
        for path in (
            directory / run_directories.LOCK_FILE,
            *directory.glob(f"{run_directories.NODE}/*/{run_directories.LOCK_FILE}"),
        )
    )


def remove_abandoned() -> None:
    """Remove the directories of runs that were killed before they created anything: nothing but their lock,
    which no process holds, is in them.

    Raises:
        LockHeld: another process held the lock of the machine for 60 s.
    """
    with machine_lock():
        for directory in list(run_directories.RUNS.iterdir()):
            lock = directory / run_directories.LOCK_FILE
            if directory.is_dir() and list(directory.iterdir()) == [lock] and not is_held(lock):
                lock.unlink(missing_ok=True)
                run_directories.remove_empty(directory, up_to=directory)


def known_runs() -> dict[str, bool]:
    """Return the ids of the runs that have a directory in /run or /var/lib, each with whether it is live."""
    ids = {
        path.name
        for root in (run_directories.RUNS, run_directories.FILES)
        if root.is_dir()
        for path in root.iterdir()
        if path.is_dir() and path.name != run_directories.SOCKETS
    }
    return {run_id: run_is_live(run_id) for run_id in sorted(ids)}


@dataclass(frozen=True)
class ProcessIdentity:
    """A process that is not mistaken for a later one with the same number."""

    pid: int
    started: int
    """Start time in clock ticks after boot, proc(5)."""
    boot: str
    """The boot id of the kernel that it ran under."""

    @classmethod
    def of(cls, pid: int) -> Self:
        """Return the identity of a living process.

        Raises:
            ProcessLookupError: there is no process with that number.
        """
        started = start_time(pid)
        if started is None:
            raise ProcessLookupError(f"there is no process {pid}")
        return cls(pid, started, boot_id())

    @property
    def alive(self) -> bool:
        """Whether this very process still exists and is more than a zombie."""
        return self.boot == boot_id() and start_time(self.pid) == self.started


def boot_id() -> str:
    """Return the id that the kernel chose at boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks after boot; None where it does not exist or only waits to
    be reaped.
    """
    fields = stat_of(pid)
    return None if not fields or fields[0] in "ZX" else int(fields[_STARTTIME])
