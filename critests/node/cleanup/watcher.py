"""A small process per private runtime: when the process that started the runtime dies, it removes the
runtime, and the directories of the run if nothing else of the run is alive.

PR_SET_PDEATHSIG is not enough: its signal is sent when the forking thread ends, and reaches the daemon but
not its shims and containers. Standard library only, and started without site packages, to use little memory.
"""

import os
import select
import subprocess
import sys
from pathlib import Path

import critests
from critests.node.cleanup.runtime_removal import forget_dead_run, reap
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
    """Wait until the owner of a private runtime is dead, then remove what is left. Exits at once if the
    runtime was removed already.

    The directories of the run stay while its controller or another private runtime of it exists: the watcher
    of the last one removes them.
    """
    footprint = Footprint.read(Path(state))
    if footprint is not None:
        wait_for_end(footprint.owner)
        reap(footprint.state)
        forget_dead_run(footprint.run_id)


def wait_for_end(process: ProcessIdentity) -> None:
    """Block until a process has ended."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if (
            process.alive
        ):  # checked after the descriptor was opened, so that it is not a later process with the same id
            select.select([descriptor], [], [])
    finally:
        os.close(descriptor)
