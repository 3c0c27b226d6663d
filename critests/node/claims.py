"""Choosing what a throwaway runtime will be called and where it will live, and writing that down before
anything is made.
"""

import ipaddress
import os
import secrets
from pathlib import Path

from critests.node import baseline, cni, places
from critests.node.daemons import Daemon
from critests.node.locks import FileLock, ProcessIdentity, machine_lock
from critests.node.traces import Traces


def claim(daemon: Daemon, run_id: str, root: Path | None, *, dual_stack: bool) -> tuple[Traces, FileLock]:
    """Choose a token and a subnet, take the lock of the new runtime, and write down what it will make.

    Args:
        daemon: what will be started.
        run_id: the run that the runtime belongs to.
        root: where images and snapshots go; None for below /var/lib/critests.
        dual_stack: whether an IPv6 subnet is wanted too.

    Raises:
        NoFreeSubnet: there is no subnet left on this machine.
        LockHeld: another process holds the lock of the machine, or of a runtime of this name.
    """
    with machine_lock():
        baseline.note()
        token = secrets.token_hex(3)
        name = f"{daemon.kind.facts.name}-{token}"
        state = places.run_dir(run_id) / places.NODE / name
        taken = [*cni.networks_in_use(), *_subnets_of_others()]
        subnets = [
            str(cni.free_subnet(taken)),
            *([str(cni.unique_local_subnet(token))] if dual_stack else []),
        ]
        traces = Traces(
            kind=daemon.kind.facts.name,
            run_id=run_id,
            token=token,
            state=state,
            root=(root or places.FILES / run_id / places.NODE) / name,
            subnets=tuple(subnets),
            owner=ProcessIdentity.of(os.getpid()),
            binaries=daemon.binaries,
        )
        lock = traces.lock
        lock.acquire(seconds=0)
        traces.write()
    return traces, lock


def _subnets_of_others() -> list[ipaddress.IPv4Network]:
    others = [Traces.read(state) for state in places.throwaway_dirs()]
    return [ipaddress.IPv4Network(other.subnets[0]) for other in others if other is not None]
