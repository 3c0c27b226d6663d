"""When the log of an exited container is complete.

Runtimes may report an exit a moment before they write the last output, on a busy machine seconds before. The
kernel knows whether a file has a writer: it grants a read lease only if no process has the file open for
writing. Where it does not say (other file systems, a runtime that keeps its files open), a log counts as
complete after it has not changed for a while.
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
"""How long a log must be unchanged if it is unknown whether it has a writer."""


def wait_until_whole(log: Path, seconds: float) -> None:
    """Wait until a log has no writer, or has not changed for `STILL_SECONDS`.

    Args:
        log: the file; it may not exist yet.
        seconds: how long to wait at most.
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
    """Return whether a process has a file open for writing, or None if the kernel does not say.

    Args:
        file: a regular file.
        fcntl_: the system call.

    Raises:
        FileNotFoundError: it does not exist.
    """
    opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # a process that opens it now waits until it is closed below, and the kernel sends this process a
        # signal: SIGURG, which is ignored, because the default SIGIO would end it
        fcntl_(opened, fcntl.F_SETSIG, signal.SIGURG)
        fcntl_(opened, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    else:
        return False
    finally:
        os.close(opened)
