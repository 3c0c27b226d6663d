"""Whether another process has read a file, from inotify(7)."""

import contextlib
import ctypes
import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path

_CLOSED_AFTER_READING = 0x10  # IN_CLOSE_NOWRITE


@contextlib.contextmanager
def reads_of(path: Path) -> Iterator[Callable[[float], bool]]:
    """Watch a file from now on, also after it was renamed; yields a function that waits until a process has
    opened it for reading and closed it again, for at most a number of seconds, and returns whether it was.

    Raises:
        OSError: it does not exist.
    """
    library = ctypes.CDLL(None, use_errno=True)
    watch = library.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if watch < 0 or library.inotify_add_watch(watch, os.fsencode(path), _CLOSED_AFTER_READING) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))

        def wait(seconds: float) -> bool:
            return bool(select.select([watch], [], [], seconds)[0])

        yield wait
    finally:
        if watch >= 0:
            os.close(watch)
