"""Removing a throwaway runtime, alive or dead, from what was written down about it.

The same steps serve its owner (`stop`), the watcher that outlives the owner, and `critests clean`. Each step
can be repeated, and the record goes last, so that a removal that was interrupted is finished by the next.
"""

import json
import shutil
import socket
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from critests.lifecycle.cgroup_parents import remove_cgroups_of
from critests.lifecycle.run_label import RunIdentity
from critests.node.cleanup import host_state, leftovers
from critests.node.cleanup.leftovers import CleanupIncomplete
from critests.node.host.binaries import search_path
from critests.node.network import firewall
from critests.node.run_state import run_directories
from critests.node.run_state.footprint import Footprint
from critests.node.run_state.locks import FileLock, machine_lock, run_is_live


@dataclass(frozen=True)
class RemovedRuntime:
    """One throwaway runtime of a dead run that was removed, or what kept it from being removed."""

    run_id: str
    name: str
    left: str = ""
    """What stayed, and why; empty where everything is gone."""


def remove(footprint: Footprint) -> None:
    """Remove everything that a throwaway runtime made. Its lock must be held by the caller.

    Raises:
        CleanupIncomplete: something stayed; the record stays too, and the removal can be tried again.
    """
    ids = leftovers.container_ids(footprint)
    elsewhere = leftovers.files_elsewhere(footprint)
    left = leftovers.kill_processes(footprint)
    left += leftovers.unmount_below([footprint.state, footprint.root])
    leftovers.detach_loops_below([footprint.state, footprint.root])
    left += leftovers.remove_cgroups(leftovers.our_cgroups(footprint, ids))
    left += _delete_links(footprint.bridge)
    left += firewall.remove_network(footprint.network, footprint.subnets)
    for path in (*elsewhere, *leftovers.cni_results(footprint, ids)):
        path.unlink(missing_ok=True)
    left += leftovers.remove_tree(footprint.root) + leftovers.remove_tree(footprint.sockets)
    if left:
        raise CleanupIncomplete(
            f"of the throwaway runtime {footprint.name}, this could not be removed: {'; '.join(left)}"
        )
    with machine_lock():
        _forget(footprint.state)
        run_directories.remove_empty(footprint.sockets.parent, up_to=footprint.sockets.parent)
        run_directories.remove_empty(footprint.root.parent, up_to=run_directories.FILES)
        host_state.put_back()


def switch_off(footprint: Footprint, keep: Collection[str]) -> None:
    """Leave of a throwaway runtime what the next boot of a machine would find: no process, no mount, no link,
    no cgroup, and of its directory in /run only what was written before its first start.

    Args:
        footprint: of the runtime; its lock is held by the caller.
        keep: names of what stays in its directory in /run.

    Raises:
        CleanupIncomplete: something stayed.
    """
    ids = leftovers.container_ids(footprint)
    elsewhere = leftovers.files_elsewhere(footprint)
    left = leftovers.kill_processes(footprint)
    left += leftovers.unmount_below([footprint.state, footprint.root])
    left += leftovers.remove_cgroups(leftovers.our_cgroups(footprint, ids))
    left += _delete_links(footprint.bridge)
    for path in elsewhere:
        path.unlink(missing_ok=True)
    for path in (*footprint.sockets.glob("*"), *footprint.state.iterdir()):
        if path.parent == footprint.state and path.name in keep:
            continue
        if path.is_dir() and not path.is_symlink():
            left += leftovers.remove_tree(path)
        else:
            path.unlink(missing_ok=True)
    if left:
        raise CleanupIncomplete(f"of {footprint.name}, this outlived its machine: {'; '.join(left)}")


def reap_dead_runs() -> list[RemovedRuntime]:
    """Remove the throwaway runtimes whose owner is dead, and nothing else.

    Returns:
        One entry per runtime that was dead, in the order of their directories.
    """
    reaped = [reap(state) for state in run_directories.throwaway_dirs()]
    reaped += [
        _reap_files(root) for root in sorted(run_directories.FILES.glob(f"*/{run_directories.NODE}/*/"))
    ]
    return [entry for entry in reaped if entry is not None]


def reap(state: Path) -> RemovedRuntime | None:
    """Remove one throwaway runtime if its owner is dead; None where the owner lives, or somebody else removes
    it already.
    """
    run_id, name = state.parent.parent.name, state.name
    lock = FileLock(state / run_directories.LOCK_FILE)
    with machine_lock():
        if not state.is_dir() or not lock.try_acquire():
            return None
    try:
        footprint = Footprint.read(state)
        if footprint is None:
            with machine_lock():
                _forget(state)
                host_state.put_back()
        else:
            remove(footprint)
    except (CleanupIncomplete, ValueError) as error:
        return RemovedRuntime(run_id, name, left=str(error))
    finally:
        lock.release()
    return RemovedRuntime(run_id, name, left="; ".join(_remove_cgroups_of_dead(run_id)))


def forget_dead_run(run_id: str) -> bool:
    """Remove the directories of a run in /run and /var/lib; False where the run is live, or a throwaway
    runtime of it remains.

    To be called after what the run made on a runtime was removed: its container logs go with this.
    """
    state, files = run_directories.run_dir(run_id), run_directories.FILES / run_id
    with machine_lock():
        if run_is_live(run_id) or any(
            path.is_dir() for top in (state, files) for path in top.glob(f"{run_directories.NODE}/*")
        ):
            return False
        # a test that died may have left a mount of its own there
        leftovers.unmount_below([state, files])
        for directory in (state, files):
            leftovers.remove_tree(directory)
        run_directories.remove_empty(run_directories.FILES, up_to=run_directories.FILES)
    return True


def _remove_cgroups_of_dead(run_id: str) -> list[str]:
    """Remove the pods' cgroups of a run of which nothing lives any more; empty they are, as the runtime that
    used them has gone.
    """
    if run_is_live(run_id):
        return []
    run = RunIdentity(run_id)
    if busy := remove_cgroups_of(run):  # what was killed may need a moment to leave
        leftovers.remove_cgroups(map(Path, busy), seconds=1)
    return [f"cgroup {path}" for path in remove_cgroups_of(run)]


def _reap_files(root: Path) -> RemovedRuntime | None:
    """Remove the large files of a throwaway runtime whose directory in /run has gone, as after a reboot."""
    run_id, name = root.parent.parent.name, root.name
    with machine_lock():
        if (run_directories.run_dir(run_id) / run_directories.NODE / name).exists() or not root.is_dir():
            return None
        left = [*leftovers.unmount_below([root]), *leftovers.remove_tree(root)]
        run_directories.remove_empty(root.parent, up_to=run_directories.FILES)
    return RemovedRuntime(run_id, name, left="; ".join(left))


def _forget(state: Path) -> None:
    """Remove the state directory, the record and the lock last, and the directories above it that are empty
    then.
    """
    last = (state / run_directories.RECORD_FILE, state / run_directories.LOCK_FILE)
    for entry in state.iterdir():
        if entry in last:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    for path in last:
        path.unlink(missing_ok=True)
    run_directories.remove_empty(state, up_to=run_directories.run_dir(state.parent.parent.name))


def _delete_links(bridge: str) -> list[str]:
    """Delete the bridge and the host's ends of the veth pairs on it."""
    program = shutil.which("ip", path=search_path())
    if program is None or bridge not in _links():
        return []
    shown = subprocess.run(
        [program, "-json", "link", "show", "master", bridge],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    ports = [str(link["ifname"]) for link in json.loads(shown.stdout or "[]")]
    for link in (*ports, bridge):
        subprocess.run([program, "link", "delete", link], capture_output=True, timeout=10, check=False)
    return [f"network interface {bridge}"] if bridge in _links() else []


def _links() -> set[str]:
    return {name for _, name in socket.if_nameindex()}
