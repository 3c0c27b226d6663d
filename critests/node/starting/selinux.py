"""SELinux labels of what the suite makes for a runtime. The policy names a label for each path that runtimes
use by default; a directory elsewhere gets the label of the one that it stands for.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from critests.node.host.binaries import search_path
from critests.node.observing.machine_facts import selinux_mode
from critests.node.run_state import run_directories
from critests.node.run_state.footprint import Footprint

_ATTRIBUTE: Final = "security.selinux"


def label_directories(traces: Footprint, twins: tuple[str, str]) -> None:
    """Give the directories of a runtime the labels of those that a daemon of a package has, and those above
    them, as far as they are ours, the labels of /run and /var/lib. Does nothing where SELinux is off.

    Args:
        traces: of the runtime; its directories are there, and empty but for its lock and its record.
        twins: see `ThrowawayKind.twins`.

    Raises:
        OSError: the kernel refused a label.
    """
    if not selinux_mode():
        return
    for_state, for_root = twins
    for directory, twin in ((traces.state, for_state), (traces.sockets, for_state), (traces.root, for_root)):
        for ours, standard in ((run_directories.RUNS, "/run"), (run_directories.FILES, "/var/lib")):
            for parent in directory.parents:
                if parent.is_relative_to(ours):
                    label_like(parent, standard)
        label_like(directory, twin)


def label_like(directory: Path, twin: str) -> None:
    """Give a directory the label that the policy has for another path; what is made in it later inherits the
    type. Does nothing where the policy has no label for that path.

    Args:
        directory: there already.
        twin: absolute, and need not exist; empty where there is none.

    Raises:
        OSError: the kernel refused it.
    """
    program = shutil.which("matchpathcon", path=search_path())
    if not twin or program is None:
        return
    answer = subprocess.run([program, "-n", twin], capture_output=True, text=True, timeout=10, check=False)
    label = answer.stdout.strip()
    if answer.returncode == 0 and label.count(":") >= 2:
        os.setxattr(directory, _ATTRIBUTE, f"{label}\0".encode())
