"""The condition `pressure`: two programs use the processors, and the daemon may open few files.

Both end with the run: the programs with the process that started them, the limit with the daemon. Limits of
memory and of inotify, and a full disk, are not part of it. They are those of the machine, or end containers
with the daemon.
"""

import os
import resource
import subprocess
import sys
from typing import Final

PROGRAMS: Final = 2
OPEN_FILES: Final = 256
"""A daemon with a few pods opens less than a hundred; many distributions allow 1024 by default."""
BUSY: Final = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""


class NodePressure:
    """The programs of this process."""

    def __init__(self) -> None:
        """Start them."""
        command = [sys.executable, "-c", BUSY, str(os.getpid())]
        self._programs = [
            subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
            for _ in range(PROGRAMS)
        ]

    def stop(self) -> None:
        """End them."""
        for program in self._programs:
            program.kill()
        for program in self._programs:
            program.wait()


def limit_open_files(daemon: int) -> None:
    """Lower the number of files that a process may open; children that it starts later inherit that.

    Raises:
        OSError: the process has ended, or does not belong to this user.
    """
    _, hard = resource.prlimit(daemon, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon, resource.RLIMIT_NOFILE, (OPEN_FILES, hard))
