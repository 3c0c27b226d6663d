"""A small process beside each throwaway runtime: when the process that started the runtime dies, it removes
the runtime.

A signal set with PR_SET_PDEATHSIG would do less (it is sent when the thread that forked ends, and reaches the
daemon only, not its shims and containers). Standard library only, and started without site packages, so that
it is small.
"""

import os
import select
import subprocess
import sys
from pathlib import Path

import critests
from critests.node.cleanup.runtime_removal import reap
from critests.node.run_state.footprint import Footprint
from critests.node.run_state.locks import ProcessIdentity

_BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from critests.node.cleanup.watcher import watch; watch(sys.argv[2])"
)


def start_watcher(footprint: Footprint) -> subprocess.Popen[bytes]:
    """Start the watcher of a throwaway runtime, in a session of its own so that Ctrl-C does not reach it."""
    package = Path(critests.__file__).resolve().parent.parent
    return subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", _BOOTSTRAP, str(package), str(footprint.state)],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def watch(state: str) -> None:
    """Wait until the owner of a throwaway runtime is dead, then remove what it left. Ends at once where it is
    gone by then.
    """
    footprint = Footprint.read(Path(state))
    if footprint is not None:
        wait_for_end(footprint.owner)
        reap(footprint.state)


def wait_for_end(process: ProcessIdentity) -> None:
    """Return when a process has ended; does not use the processor meanwhile."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if process.alive:  # asked after the descriptor was opened: it cannot mean a later process
            select.select([descriptor], [], [])
    finally:
        os.close(descriptor)
