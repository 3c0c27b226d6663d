"""Kernel counters of a daemon and of all processes that it starts: instructions if the machine counts them,
page faults, context switches, and system calls if tracing is available.

Counts vary less than times, so they show a small change on a noisy machine. The events are opened for every
thread of the daemon and are inherited by every process that those start: shims, monitors, OCI runtimes, and
the first steps of the containers.
"""

import contextlib
import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_SYSCALL: Final = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "s390x": 331, "ppc64le": 319}
"""Number of perf_event_open."""
_HARDWARE, _SOFTWARE, _TRACEPOINT = 0, 1, 2
# the attributes "type" and "config" of perf_event_open, by counter
_PLAIN: Final = {
    "instructions": (_HARDWARE, 1),
    "page faults": (_SOFTWARE, 2),
    "context switches": (_SOFTWARE, 3),
}
_TRACED: Final = {
    "system calls": ("raw_syscalls/sys_enter",),
    "fsyncs": ("syscalls/sys_enter_fsync", "syscalls/sys_enter_fdatasync"),
}
_TRACING: Final = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_ATTRIBUTE_BYTES: Final = 128  # PERF_ATTR_SIZE_VER7; older kernels accept it if the bytes they lack are 0
_INHERIT: Final = 1 << 1  # also count processes that the daemon starts later
_FLAGS_AT: Final = 40
"""Offset of the flags in perf_event_attr, in bytes."""
_CLOSE_ON_EXEC: Final = 1 << 3  # PERF_FLAG_FD_CLOEXEC


class CannotCount(Exception):
    """The kernel does not permit counting, or not here; the text gives the reason."""


@dataclass(frozen=True)
class _Event:
    kind: int
    config: int


class Counters:
    """Counts of one daemon, as a context.

    Attributes:
        names: the counters in use.
        missing: unavailable counter to the reason.
    """

    def __init__(self, pid: int) -> None:
        self.names: list[str] = []
        self.missing: dict[str, str] = {}
        self._pid = pid
        self._descriptors = contextlib.ExitStack()
        self._open: dict[str, list[int]] = {}

    def __enter__(self) -> Self:
        """Start counting.

        Raises:
            CannotCount: no counter is available.
        """
        for name, events in _events().items():
            try:
                self._open[name] = [
                    descriptor for event in events for descriptor in self._of_all_threads(event)
                ]
            except OSError as error:
                self.missing[name] = error.strerror or str(error)
        self.names = [name for name, descriptors in self._open.items() if descriptors]
        if not self.names:
            self._descriptors.close()
            why = "; ".join(f"{name}: {words}" for name, words in self.missing.items())
            raise CannotCount(why or "the daemon has ended")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop counting."""
        self._descriptors.close()

    def read(self) -> dict[str, int]:
        """Return the totals since the start, by name."""
        return {
            name: sum(struct.unpack("=Q", os.read(descriptor, 8))[0] for descriptor in self._open[name])
            for name in self.names
        }

    def _of_all_threads(self, event: _Event) -> list[int]:
        """Open an event for each existing thread; threads and processes started later inherit it."""
        opened = [_opened(event, thread) for thread in _threads(self._pid)]
        for descriptor in opened:
            if descriptor is not None:
                self._descriptors.callback(os.close, descriptor)
        return [descriptor for descriptor in opened if descriptor is not None]


def _threads(pid: int) -> list[int]:
    try:
        return sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        return []


def _events() -> dict[str, list[_Event]]:
    """Return the events that this machine may be able to count, by name."""
    found = {name: [_Event(*each)] for name, each in _PLAIN.items()}
    for name, points in _TRACED.items():
        known = [_tracepoint(point) for point in points]
        if all(known):
            found[name] = [_Event(_TRACEPOINT, number) for number in known]
    return found


def _tracepoint(name: str) -> int:
    """Return the number of a tracepoint; 0 if tracing is not mounted or has no such tracepoint."""
    for root in _TRACING:
        with contextlib.suppress(OSError, ValueError):
            return int((root / "events" / name / "id").read_text(encoding="ascii"))
    return 0


def _opened(event: _Event, thread: int) -> int | None:
    """Start to count one event for a thread; None if the thread has exited.

    Raises:
        OSError: the kernel does not count the event, or not for this user.
    """
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"the number of perf_event_open on {platform.machine()} is unknown")
    attribute = bytearray(_ATTRIBUTE_BYTES)
    struct.pack_into("=IIQ", attribute, 0, event.kind, _ATTRIBUTE_BYTES, event.config)
    struct.pack_into("=Q", attribute, _FLAGS_AT, _INHERIT)
    kernel = ctypes.CDLL(None, use_errno=True)
    given = ctypes.create_string_buffer(bytes(attribute), _ATTRIBUTE_BYTES)
    descriptor = int(kernel.syscall(number, given, thread, -1, -1, _CLOSE_ON_EXEC))
    if descriptor >= 0:
        return descriptor
    failed = ctypes.get_errno()
    if failed == errno.ESRCH:
        return None
    raise OSError(failed, os.strerror(failed))
