"""The state of a machine at one time, to show that a private runtime leaves nothing.

It covers processes, mounts, network namespaces and links, iptables and nftables rules, cgroups, and the
directories of runtimes.
"""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.host.mount_table import mount_table
from critests.node.run_state.locks import start_time

WATCHED = (
    "/run",
    "/run/containerd",
    "/run/netns",
    "/run/critests",
    "/var/lib",
    "/var/lib/cni",
    "/var/lib/critests",
    "/etc/cni",
    "/opt",
    "/tmp",
)
"""Directories whose entries are part of a snapshot, with those of the directories below them."""

_COUNTERS = re.compile(r"\[\d+:\d+\]")
_BUILT_IN = re.compile(r"^:[A-Z]+ ACCEPT|^\*|^COMMIT|^#")
_SUMMARY_CHARACTERS = 160


@dataclass(frozen=True)
class MachineSnapshot:
    """Sets of short descriptions, one set for each kind of thing that can be left behind."""

    things: Mapping[str, frozenset[str]]

    @classmethod
    def take(cls) -> Self:
        """Take a snapshot, without kernel threads, zombies and empty built-in chains."""
        return cls(
            {
                "process": frozenset(_processes()),
                "mount": frozenset(
                    f"{point} ({rest.partition(' - ')[2].split()[0]})" for _, point, rest in mount_table()
                ),
                "network namespace": frozenset(_network_namespaces()),
                "network interface": frozenset(name for _, name in socket.if_nameindex()),
                "firewall rule": frozenset(_firewall()),
                "kernel switch": frozenset(_switches()),
                "cgroup": frozenset(
                    parent for hierarchy in cgroup_hierarchies() for parent, _, _ in os.walk(hierarchy)
                ),
                "loop device": frozenset(
                    str(path.parent.parent) for path in Path("/sys/block").glob("loop*/loop/backing_file")
                ),
                "file": frozenset(_files()),
            }
        )


@dataclass(frozen=True)
class MachineChange:
    """One thing that is in only one of two snapshots."""

    kind: str
    thing: str
    appeared: bool

    def __str__(self) -> str:
        """Return `left behind: mount /x (overlay)` or `gone: …`."""
        return f"{'left behind' if self.appeared else 'gone'}: {self.kind} {self.thing}"


def difference(before: MachineSnapshot, after: MachineSnapshot) -> list[MachineChange]:
    """Return what appeared and what went between two snapshots, sorted by kind and name."""
    changes = []
    for kind in before.things:
        changes += [
            MachineChange(kind, thing, appeared=True)
            for thing in sorted(after.things[kind] - before.things[kind])
        ]
        changes += [
            MachineChange(kind, thing, appeared=False)
            for thing in sorted(before.things[kind] - after.things[kind])
        ]
    return changes


def mentioning(changes: Iterable[MachineChange], words: Iterable[str]) -> list[MachineChange]:
    """Return the changes whose thing holds one of the words; for a machine on which others work at the same
    time.
    """
    wanted = tuple(words)
    return [change for change in changes if any(word in change.thing for word in wanted)]


def _processes() -> Iterable[str]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (started := start_time(int(entry.name))) is not None:
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if words:
                yield f"{entry.name} started {started}: {words[:_SUMMARY_CHARACTERS]}"


def _network_namespaces() -> Iterable[str]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield os.readlink(entry / "ns/net")  # noqa: PTH115 - not a file name
            except OSError:
                continue


def _firewall() -> Iterable[str]:
    programs = ["iptables-save", "ip6tables-save"]
    programs += [f"{family}-legacy-save" for family in ("iptables", "ip6tables") if _legacy_tables(family)]
    for program in programs:
        for line in _output(program):
            if not _BUILT_IN.match(line):
                yield f"{program}: {_COUNTERS.sub('', line).strip()}"
    for line in _output("nft", "list", "tables"):
        if "CNI" in line or "cni" in line:
            yield f"nft: {line}"


def _legacy_tables(family: str) -> bool:
    names = Path("/proc/net", {"iptables": "ip_tables_names", "ip6tables": "ip6_tables_names"}[family])
    return names.exists() and bool(names.read_text(encoding="ascii").strip())


def _output(program: str, *arguments: str) -> list[str]:
    found = shutil.which(program)
    if found is None:
        return []
    answer = subprocess.run(
        [found, *arguments], capture_output=True, text=True, errors="replace", timeout=15, check=False
    )
    return answer.stdout.splitlines()


def _switches() -> Iterable[str]:
    for path in ("/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"):
        if Path(path).exists():
            yield f"{path} = {Path(path).read_text(encoding='ascii').strip()}"


def _files() -> Iterable[str]:
    for top in WATCHED:
        for path in Path(top).glob("*"):
            yield str(path)
