"""SELinux labels of the directories of a private runtime.

The policy has a label for each default path of a runtime; a directory elsewhere gets the label of the default
path that it replaces.
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


def label_directories(footprint: Footprint, standard_directories: tuple[str, str]) -> None:
    """Label the directories of a runtime like those of a packaged daemon, and the suite's directories above
    them like /run and /var/lib. Does nothing if SELinux is off.

    Args:
        footprint: of the runtime; its directories exist and hold only its lock and its record.
        standard_directories: see `ThrowawayKind`.

    Raises:
        OSError: the kernel refused a label.
    """
    if not selinux_mode():
        return
    standard_state, standard_root = standard_directories
    for directory, standard_directory in (
        (footprint.state, standard_state),
        (footprint.sockets, standard_state),
        (footprint.root, standard_root),
    ):
        for ours, standard in ((run_directories.RUNS, "/run"), (run_directories.FILES, "/var/lib")):
            for parent in directory.parents:
                if parent.is_relative_to(ours):
                    label_like(parent, standard)
        label_like(directory, standard_directory)


def label_like(directory: Path, standard: str) -> None:
    """Give a directory the label that the policy has for another path; files created in it later inherit the
    type. Does nothing if the policy has no label for that path.

    Args:
        directory: exists.
        standard: absolute path, which need not exist; empty for none.

    Raises:
        OSError: the kernel refused it.
    """
    program = shutil.which("matchpathcon", path=search_path())
    if not standard or program is None:
        return
    answer = subprocess.run(
        [program, "-n", standard], capture_output=True, text=True, timeout=10, check=False
    )
    label = answer.stdout.strip()
    # user:role:type, perhaps with a level; without a label the program prints <<none>>
    if answer.returncode == 0 and label.count(":") >= 2:
        # labels are stored with their final NUL
        os.setxattr(directory, _ATTRIBUTE, f"{label}\0".encode())
