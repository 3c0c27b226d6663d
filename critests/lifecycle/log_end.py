"""When the log of a container that has ended is whole.

Runtimes may report an end a moment before the last output is in the file, and on a machine with much to do
that moment may take seconds. Who still writes is known to the kernel: it grants a read lease only on a file
that nobody has open for writing. Where it does not tell (another file system, a runtime that keeps its files
open), a log counts as whole when it has stayed as it is for a while.
"""

import errno
import fcntl
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from critests.lifecycle.waiting import POLL_SECONDS

STILL_SECONDS: Final = 0.2
"""How long a log has to stay as it is where nobody tells whether it is still written."""


def wait_until_whole(log: Path, seconds: float) -> None:
    """Wait until nobody writes a log any more, or until it has stayed as it is for `STILL_SECONDS`.

    Args:
        log: the file; one that is not there yet is waited for.
        seconds: how long at most.
    """
    begun = since = time.monotonic()
    size = -1
    while (now := time.monotonic()) < begun + seconds:
        if log.exists():
            if has_writer(log) is False:
                return
            if size != (size := log.stat().st_size):
                since = now
            elif size and now - since >= STILL_SECONDS:
                return
        time.sleep(POLL_SECONDS)


def has_writer(file: Path, fcntl_: Callable[[int, int, int], int] = fcntl.fcntl) -> bool | None:
    """Return whether a process has a file open for writing, or None where the kernel does not tell.

    Args:
        file: a regular file.
        fcntl_: the system call.

    Raises:
        FileNotFoundError: it is not there.
    """
    opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # who opens it in just this moment waits until it is closed below, and we are told by a signal: by one
        # that ends nobody, unlike the one that is the default
        fcntl_(opened, fcntl.F_SETSIG, signal.SIGURG)
        fcntl_(opened, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    else:
        return False
    finally:
        os.close(opened)
