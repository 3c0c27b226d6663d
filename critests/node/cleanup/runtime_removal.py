"""Removal of a private runtime, running or dead, by its footprint.

Its owner (`stop`), its watcher and `critests clean` use the same steps. Each step can be repeated, and the
footprint is removed last, so that an interrupted removal can be completed later.
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
from critests.node.network import cni, firewall
from critests.node.run_state import run_directories
from critests.node.run_state.footprint import Footprint
from critests.node.run_state.locks import FileLock, machine_lock, run_is_live


@dataclass(frozen=True)
class RemovedRuntime:
    """One private runtime of a dead run that was removed, or could not be removed."""

    run_id: str
    name: str
    left: str = ""
    """What is left, and why; empty if everything was removed."""


def remove(footprint: Footprint) -> None:
    """Remove everything that a private runtime created. The caller must hold its lock.

    Raises:
        CleanupIncomplete: something is left; the footprint stays too, and the removal can be repeated.
    """
    ids = leftovers.container_ids(footprint)
    elsewhere = leftovers.files_elsewhere(footprint)
    left = leftovers.kill_processes(footprint)
    left += leftovers.unmount_below([footprint.state, footprint.root])
    leftovers.detach_loops_below([footprint.state, footprint.root])
    left += leftovers.remove_cgroups(leftovers.our_cgroups(footprint, ids))
    left += _delete_links(footprint.bridge)
    left += firewall.remove_network(
        footprint.network, footprint.subnets, ids | cni.pods_with_lease(footprint)
    )
    for path in (*elsewhere, *leftovers.cni_results(footprint, ids)):
        path.unlink(missing_ok=True)
    left += leftovers.remove_tree(footprint.root) + leftovers.remove_tree(footprint.sockets)
    if left:
        raise CleanupIncomplete(
            f"of the private runtime {footprint.name}, this could not be removed: {'; '.join(left)}"
        )
    with machine_lock():
        _forget(footprint.state)
        run_directories.remove_empty(footprint.sockets.parent, up_to=footprint.sockets.parent)
        run_directories.remove_empty(footprint.root.parent, up_to=run_directories.FILES)
        host_state.restore()


def simulate_reboot(footprint: Footprint, keep: Collection[str]) -> None:
    """Reduce a private runtime to what is left after a reboot: no process, mount, link or cgroup, and in its
    directory in /run only the files that existed before its first start.

    Args:
        footprint: of the runtime; the caller holds its lock.
        keep: names of the entries of its directory in /run that stay.

    Raises:
        CleanupIncomplete: something is left.
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
        raise CleanupIncomplete(f"of {footprint.name}, this is left after the reboot: {'; '.join(left)}")


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
    """Remove one private runtime if its owner is dead; None if the owner is alive, or another process already
    removes it.
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
                host_state.restore()
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

    Call this after the run's objects were removed from the runtime, because it removes their container logs
    too.
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
    """Remove the pod cgroups of a dead run; they are empty after their runtime was removed."""
    if run_is_live(run_id):
        return []
    run = RunIdentity(run_id)
    if busy := remove_cgroups_of(run):  # killed processes may need a moment to leave
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
