"""What of this machine carries the id of a sandbox or a container in its name."""

import os
from pathlib import Path

from critests.lifecycle.process import host_processes
from critests.node.host.mount_table import mount_table

SHOWN = 160
"""Characters of a command line: enough to see whose it is."""


def remains_of(*ids: str) -> list[str]:
    """Return the mounts, processes and cgroups of this machine that carry one of the ids in their name."""
    found = [f"mount {point}" for _, point, _ in mount_table() if any(id_ in point for id_ in ids)]
    for path, _, _ in os.walk("/sys/fs/cgroup"):
        if any(id_ in Path(path).name for id_ in ids):
            found.append(f"cgroup {path}")
    running = {pid: command for id_ in ids for pid, command in host_processes(id_).items()}
    return found + [f"process {pid} ({command[:SHOWN]})" for pid, command in running.items()]
