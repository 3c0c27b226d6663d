"""Everything that a private runtime has on this machine, so that a test can compare before and after."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from critests.node.cleanup.leftovers import container_ids, our_cgroups, our_processes
from critests.node.host.mount_table import mounts_below
from critests.node.network import cni
from critests.node.run_state.footprint import Footprint

DEPTH = 3
"""Levels of the runtime's directories, enough for one directory for each bundle, snapshot and task."""


def objects_of(footprint: Footprint, pod_cgroups: Collection[str] = ()) -> set[str]:
    """Return the processes, mounts, cgroups, network interfaces, leased addresses and directories of a
    private runtime, each as text.

    Args:
        footprint: of the runtime.
        pod_cgroups: names of pods' cgroups, whose contents count, but not themselves: they are the client's.
    """
    roots = [footprint.state, footprint.root]
    tops = our_cgroups(footprint, {*container_ids(footprint), *pod_cgroups})
    cgroups = (Path(path) for top in tops for path, _, _ in os.walk(top))
    interfaces = Path("/sys/class/net", footprint.bridge, "brif")
    return {
        *(f"process {pid}" for pid in our_processes(footprint)),
        *(f"mount {point}" for point in mounts_below(roots)),
        *(f"cgroup {path}" for path in cgroups if path.name not in pod_cgroups),
        *(f"interface {path.name}" for path in interfaces.glob("*")),
        *(f"address {address}" for address in cni.leases(footprint)),
        *(f"directory {path}" for root in roots for path in _directories(root, DEPTH)),
    }


def _directories(root: Path, depth: int) -> Iterator[Path]:
    try:
        children = [Path(entry) for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        # removed meanwhile
        return
    yield from children
    if depth > 1:
        for child in children:
            yield from _directories(child, depth - 1)
