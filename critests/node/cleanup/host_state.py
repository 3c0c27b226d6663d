"""The state that private runtimes share with the rest of the machine: recorded before the first of them
starts, restored after the last one is removed.

CNI plugins, shims and daemons use some paths that are not configurable: directories below /run and /var/lib,
a cache of layers, entry chains for host ports, the cgroups `k8s.io` and `crio`, the kernel's forwarding
switches, the default AppArmor profile. Only those that did not exist before, and are empty or unused, are
removed. Callers hold `machine_lock`.
"""

import contextlib
import json
import socket
from pathlib import Path

from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.network import firewall
from critests.node.run_state import run_directories
from critests.node.run_state.locks import boot_id
from critests.runtimes.known_runtimes import apparmor_profiles, shared_directories, shared_files

_FILE = "machine.json"
_NETWORK_DIRECTORIES = tuple(
    Path(path)
    for path in (
        "/run/netns",
        "/var/lib/cni",
        "/var/lib/cni/results",
        "/var/lib/cni/networks",
        "/var/lib/cni/cache",
        "/etc/cni",
        "/etc/cni/net.d",
    )
)
_CGROUPS = ("k8s.io", "crio")
"""Cgroups in which containerd and CRI-O put pods without a cgroup parent."""
_FORWARDING = (Path("/proc/sys/net/ipv4/ip_forward"), Path("/proc/sys/net/ipv6/conf/all/forwarding"))
_APPARMOR = Path("/sys/kernel/security/apparmor")


def record() -> None:
    """Record the state of the machine, unless it was recorded before a private runtime that still exists."""
    path = run_directories.RUNS / _FILE
    if (
        path.exists()
        and any(run_directories.throwaway_dirs())
        and json.loads(path.read_text(encoding="utf-8"))["boot"] == boot_id()
    ):
        return
    state = {
        "boot": boot_id(),
        "missing": [
            str(directory)
            for directory in (*shared_directories(), *_NETWORK_DIRECTORIES, *_cgroups())
            if not directory.exists()
        ],
        "missing_files": [str(file) for file in shared_files() if not file.exists()],
        "entry_chains": firewall.entry_chains(),
        "forwarding": {
            str(switch): switch.read_text(encoding="ascii").strip()
            for switch in _FORWARDING
            if switch.exists()
        },
        "links": _links(),
        "profiles": sorted(_profiles()),
    }
    path.write_text(json.dumps(state), encoding="utf-8")


def restore() -> None:
    """Restore the recorded state if no private runtime is left.

    Forwarding is switched off again only without new network interfaces, which might need it.
    """
    path = run_directories.RUNS / _FILE
    if any(run_directories.throwaway_dirs()) or not path.exists():
        return
    state = json.loads(path.read_text(encoding="utf-8"))
    if state["boot"] == boot_id():
        firewall.remove_entry_chains(state["entry_chains"])
        for file in state.get("missing_files", ()):
            Path(file).unlink(missing_ok=True)
        for directory in reversed(state["missing"]):
            run_directories.remove_empty(Path(directory), up_to=Path(directory))
        _remove_profiles(_profiles() - set(state["profiles"]))
        if set(_links()) <= set(state["links"]):
            for switch, before in state["forwarding"].items():
                if Path(switch).read_text(encoding="ascii").strip() != before:
                    Path(switch).write_text(before, encoding="ascii")
    path.unlink()


def _cgroups() -> list[Path]:
    return [hierarchy / name for hierarchy in cgroup_hierarchies() for name in _CGROUPS]


def _links() -> list[str]:
    return sorted(name for _, name in socket.if_nameindex())


def _profiles() -> set[str]:
    """Return the AppArmor profiles in the kernel that runtimes load for their containers."""
    try:
        lines = (_APPARMOR / "profiles").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {name for line in lines if (name := line.rpartition(" (")[0]) in apparmor_profiles()}


def _remove_profiles(names: set[str]) -> None:
    """Remove AppArmor profiles that confine no process: a confined process would continue unconfined."""
    if not names:
        return
    confined = set()
    for file in Path("/proc").glob("[0-9]*/attr/current"):
        with contextlib.suppress(OSError):
            confined.add(file.read_text(encoding="utf-8").rpartition(" (")[0])
    for name in sorted(names - confined):
        with contextlib.suppress(OSError):
            (_APPARMOR / ".remove").write_text(name, encoding="utf-8")
