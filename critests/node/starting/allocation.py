"""Chooses name, directories and subnet of a private runtime, and records them before anything is created."""

import ipaddress
import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from critests.exit_codes import CannotTest
from critests.node.cleanup import host_state
from critests.node.network import cni
from critests.node.run_state import run_directories
from critests.node.run_state.footprint import Footprint
from critests.node.run_state.locks import FileLock, ProcessIdentity, machine_lock
from critests.node.starting.daemon_choice import DaemonChoice
from critests.runtimes.runtime_settings import DualStack, Ipv6Only, RuntimeSetting


class PathTooLong(CannotTest):
    """A socket of a throwaway runtime would have a path that no process can connect to."""


def refuse_long_paths(sockets: Iterable[Path]) -> None:
    """Check the length of all socket paths of a runtime.

    Raises:
        PathTooLong: one of them is too long.
    """
    for socket in sockets:
        length = len(os.fsencode(socket))
        if length > run_directories.SOCKET_PATH_BYTES:
            raise PathTooLong(
                f"a socket of the private runtime would have a path of {length} bytes ({socket}), and the"
                f" kernel takes {run_directories.SOCKET_PATH_BYTES}"
            )


def claim(
    daemon: DaemonChoice, run_id: str, root: Path | None, settings: Sequence[RuntimeSetting]
) -> tuple[Footprint, FileLock]:
    """Choose a token and a subnet, take the lock of the new runtime, and write down what it will make.

    Args:
        daemon: what will be started.
        run_id: the run that the runtime belongs to.
        root: where images and snapshots go; None for below /var/lib/critests.
        settings: of its configuration; some concern the families of its subnets.

    Raises:
        PathTooLong: a socket of the runtime could not be reached.
        NoFreeSubnet: there is no subnet left on this machine.
        LockHeld: another process holds the lock of the machine, or of a runtime of this name.
    """
    with machine_lock():
        token = secrets.token_hex(3)  # short, because socket paths contain it
        name = f"{daemon.kind.facts.name}-{token}"
        state = run_directories.run_dir(run_id) / run_directories.NODE / name
        taken = [*cni.networks_in_use(), *_subnets_of_others()]
        dual_stack = DualStack() in settings
        subnets = [
            *([str(cni.free_subnet(taken))] if dual_stack or Ipv6Only() not in settings else []),
            *([str(cni.unique_local_subnet(token))] if dual_stack or Ipv6Only() in settings else []),
        ]
        footprint = Footprint(
            kind=daemon.kind.facts.name,
            run_id=run_id,
            token=token,
            state=state,
            root=(root or run_directories.FILES / run_id / run_directories.NODE) / name,
            subnets=tuple(subnets),
            owner=ProcessIdentity.of(os.getpid()),
            binaries=daemon.binaries,
        )
        refuse_long_paths(daemon.kind.sockets(footprint))
        host_state.record()
        lock = footprint.lock
        lock.acquire(seconds=0)
        footprint.write()
        footprint.sockets.mkdir(parents=True)
    return footprint, lock


def _subnets_of_others() -> list[ipaddress.IPv4Network]:
    others = [Footprint.read(state) for state in run_directories.throwaway_dirs()]
    subnets = [ipaddress.ip_network(subnet) for other in others if other for subnet in other.subnets]
    return [subnet for subnet in subnets if isinstance(subnet, ipaddress.IPv4Network)]
