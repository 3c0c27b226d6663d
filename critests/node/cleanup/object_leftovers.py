"""What this machine still has of sandboxes and containers that were removed.

An object is recognised by names that no other one has: its id, the name under which its namespaces are
pinned, and the host's end of its link. What carries none of them, such as a pipe, is not seen here.
"""

import base64
import contextlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from critests.lifecycle.cgroup_parents import holds_pods
from critests.lifecycle.process import open_files
from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.host.mount_table import mount_table
from critests.node.network.firewall import nat_rules
from critests.runtimes.known_runtimes import monitors

SHOWN: Final = 300
"""Characters of a trace: enough of a command line to see whose it is."""
CNI_RESULTS: Final = Path("/var/lib/cni/results")
"""Where libcni stores the result of every ADD until DEL."""
UNITS: Final = Path("/run/systemd/transient")
"""Where systemd has a file for every transient unit, such as the scope of a container, that is loaded."""
_SHORTEST: Final = 12
"""Characters of a name; a shorter one may be a part of others by chance."""
_DEPTH: Final = 7
_CONTENTS: Final = frozenset(
    {"blobs", "ingest", "snapshots", "overlay", "overlay-layers", "vfs", "vfs-layers", "rootfs", "merged"}
)
"""Directories of images, layers and root file systems: large, and without names of objects."""
_CHANGING: Final = re.compile(
    r"[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{10}-[0-9a-f]{6}|-[0-9a-f]{6}\b|[0-9]+"
)


class TraceKind(StrEnum):
    """What kind of thing carries the name of an object."""

    MOUNT = "mount"
    NAMESPACE = "pinned namespace"
    LINK = "network interface"
    ADDRESS = "lease of an address"
    RULE = "firewall rule"
    CGROUP = "cgroup"
    UNIT = "systemd unit"
    PROCESS = "process"
    FILE = "file"
    OPEN_FILE = "open file"


@dataclass(frozen=True)
class ObjectNames:
    """The names on this machine that only one sandbox or container has.

    Attributes:
        id: of the sandbox or container.
        pins: names of the files on which its namespaces are mounted.
        links: network interfaces of the host that lead to it.
        leases: directories in which an IPAM plugin has a file for its address.
        log: log file of a container; it stays, and only processes must not have it open any more.
        pod_cgroup: path of its pod's cgroup in each hierarchy; empty if it is not known.
        host_ports: whether ports of the host were requested for it.
    """

    id: str
    pins: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    leases: frozenset[Path] = frozenset()
    log: str = ""
    pod_cgroup: str = ""
    host_ports: bool = False

    @classmethod
    def of_sandbox(cls, sandbox_id: str, *, pod_cgroup: str = "", host_ports: bool = False) -> "ObjectNames":
        """Return the names of a sandbox, while it exists: its network is known by libcni's results only."""
        pins, links, leases = set(), set(), set()
        for file in _entries(CNI_RESULTS):
            if sandbox_id not in file.name:
                continue
            with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
                cached = json.loads(Path(file.path).read_bytes())
                result = cached["result"]
                interfaces = result.get("interfaces") or []
                paths = {cached.get("netns"), *(each.get("sandbox") for each in interfaces)}
                pins |= {Path(path).name for path in paths if path and not path.startswith("/proc/")}
                links |= {
                    each["name"] for each in interfaces if not each.get("sandbox") and _has_peer(each["name"])
                }
                leases |= _lease_directories(base64.b64decode(cached["config"]), cached["networkName"])
        network = (frozenset(pins), frozenset(links), frozenset(leases))
        return cls(sandbox_id, *network, pod_cgroup=pod_cgroup, host_ports=host_ports)


@dataclass(frozen=True)
class Trace:
    """A thing that carries the name of an object.

    Attributes:
        kind: what it is.
        thing: a path, a command line, or a rule.
        object_id: of the sandbox or container.
    """

    kind: TraceKind
    thing: str
    object_id: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.thing}"[:SHOWN]

    @property
    def what(self) -> str:
        """The kind, and the program of a process."""
        return f"{self.kind} {self._program}" if self.kind is TraceKind.PROCESS else str(self.kind)

    @property
    def _program(self) -> str:
        return Path(self.thing.partition("(")[2].partition(" ")[0]).name

    @property
    def shape(self) -> str:
        """The same text for equal things of different objects; one for a cgroup in all hierarchies."""
        if self.kind is TraceKind.PROCESS:
            return self.what
        thing = Path(self.thing).name if self.kind is TraceKind.CGROUP else self.thing
        return f"{self.kind} {_CHANGING.sub('*', thing)}"


@dataclass(frozen=True)
class Places:
    """Where traces are looked for, in addition to the tables of the kernel.

    Attributes:
        directories: of the runtime's files; what lies deep below them is not looked at.
        daemons: process ids of the daemon and its companions.
    """

    directories: tuple[Path, ...] = ()
    daemons: tuple[int, ...] = ()
    cgroups: tuple[Path, ...] = field(default_factory=lambda: tuple(cgroup_hierarchies()))


def traces_of(objects: Sequence[ObjectNames], places: Places) -> list[Trace]:
    """Return everything on this machine that carries a name of one of the objects."""
    if not objects:
        return []
    ids = {each.id: each.id for each in objects if len(each.id) >= _SHORTEST}
    pins = {pin: each.id for each in objects for pin in each.pins if len(pin) >= _SHORTEST}
    logs = {each.log: each.id for each in objects if each.log}
    ports = {each.id: each.id for each in objects if each.host_ports}
    mounted, running = _mounts(places), _commands()
    left = {pid for pid, command in running.items() if any(id_ in command for id_ in ids)}
    files = [path for path in _files(places.directories, frozenset(mounted)) if path not in mounted]
    looked_at = (
        (TraceKind.MOUNT, mounted, ids),
        (TraceKind.NAMESPACE, mounted, pins),
        (TraceKind.PROCESS, [f"{pid} ({running[pid]})" for pid in left], ids),
        (TraceKind.CGROUP, _cgroups(places.cgroups, {each.pod_cgroup for each in objects}), ids),
        (TraceKind.UNIT, [entry.name for entry in _entries(UNITS)], ids),
        (TraceKind.FILE, files, ids | pins),
        # without those of processes that are traces themselves
        (TraceKind.OPEN_FILE, _open_files(places.daemons, running, left), ids | pins | logs),
        (TraceKind.RULE, nat_rules() if ports else [], ports),
    )
    found = [Trace(kind, text, id_) for kind, texts, names in looked_at for text, id_ in _named(texts, names)]
    return list(dict.fromkeys([*found, *_interfaces(objects), *_leases(objects)]))


def remains_of(*ids: str) -> list[str]:
    """Return the mounts, processes and cgroups of this machine that carry one of the ids in their name."""
    kinds = {TraceKind.MOUNT, TraceKind.PROCESS, TraceKind.CGROUP}
    traces = traces_of([ObjectNames(id_) for id_ in ids], Places())
    return [str(trace) for trace in traces if trace.kind in kinds]


def _named(texts: Collection[str], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the texts with one of the names, and the id that belongs to it. Normally there is none, and then
    no text is looked at alone.
    """
    everything = "\n".join(texts)
    for name in [name for name in names if name in everything]:
        yield from ((text, names[name]) for text in texts if name in text)


def _mounts(places: Places) -> list[str]:
    """Return the mount points of this machine, and those of the daemon if it has its own mount namespace."""
    own = _mount_namespace("self")
    others = [str(pid) for pid in places.daemons if _mount_namespace(pid) not in {own, ""}]
    return [point for pid in ("self", *others) for _, point, _ in mount_table(pid)]


def _mount_namespace(pid: int | str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt")  # noqa: PTH115 - not a file name
    except OSError:
        return ""


def _commands() -> dict[int, str]:
    """Return the command lines of all processes but this one, without zombies and kernel threads."""
    found = {}
    # creating a Path per process takes longer than reading the files
    for name in os.listdir("/proc"):  # noqa: PTH208 - see above
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:  # noqa: PTH123 - see above
                if words := file.read():
                    found[int(name)] = words.replace(b"\0", b" ").decode(errors="backslashreplace").strip()
    return found


def _cgroups(hierarchies: Iterable[Path], pods: Collection[str]) -> list[str]:
    """Return all cgroups, but of the pods of runs, of which there may be thousands, only the given ones; all
    if one of these is empty.
    """
    everywhere = "" in pods
    found: list[str] = []
    for hierarchy in map(str, hierarchies):
        waiting = [f"{hierarchy}/{pod.strip('/')}" for pod in pods if not everywhere]
        top = [entry for entry in _entries(hierarchy) if entry.is_dir(follow_symlinks=False)]
        waiting += [entry.path for entry in top if everywhere or not holds_pods(entry.name)]
        found += [entry.path for entry in top]
        while waiting:
            directory = waiting.pop()
            with contextlib.suppress(OSError):
                # the kernel counts a link for each child, so that the files of a leaf need not be listed
                if os.stat(directory).st_nlink == 2:  # noqa: PTH116 - faster
                    continue
            below = [entry.path for entry in _entries(directory) if entry.is_dir(follow_symlinks=False)]
            found += below
            waiting += below
    return found


def _files(directories: Iterable[Path], mounted: Collection[str]) -> list[str]:
    """Return the paths below some directories, without the contents of mounts and of layers."""
    found: list[str] = []
    waiting = [(str(directory), _DEPTH) for directory in directories]
    while waiting:
        directory, depth = waiting.pop()
        for entry in _entries(directory):
            found.append(entry.path)
            if (
                depth > 1
                and entry.is_dir(follow_symlinks=False)
                and entry.name not in _CONTENTS
                and entry.path not in mounted
            ):
                waiting.append((entry.path, depth - 1))
    return found


def _open_files(daemons: Iterable[int], running: Mapping[int, str], but: Collection[int]) -> list[str]:
    """Return the open files of the daemons and of all shims and monitors but some, with their process."""
    names = tuple(monitor.name for monitor in monitors())
    programs = {pid: command.partition(" ")[0].rpartition("/")[2] for pid, command in running.items()}
    watching = [pid for pid, program in programs.items() if program.startswith(names) and pid not in but]
    found = []
    for pid in dict.fromkeys([*daemons, *watching]):
        with contextlib.suppress(OSError):
            process = f"{programs.get(pid, '')} ({pid})"
            found += [f"{file} of {process}" for file in open_files(pid) if file.startswith("/")]
    return found


def _interfaces(objects: Iterable[ObjectNames]) -> list[Trace]:
    return [
        Trace(TraceKind.LINK, link, each.id)
        for each in objects
        for link in each.links
        if Path("/sys/class/net", link).exists()
    ]


def _leases(objects: Iterable[ObjectNames]) -> Iterator[Trace]:
    for each in objects:
        for lease in (lease for directory in each.leases for lease in _entries(directory)):
            with contextlib.suppress(OSError):
                if lease.is_file() and each.id in Path(lease.path).read_text(encoding="utf-8"):
                    yield Trace(TraceKind.ADDRESS, lease.path, each.id)


def _has_peer(link: str) -> bool:
    """Return whether a network interface is one of a pair, not a bridge that others share."""
    directory = Path("/sys/class/net", link)
    with contextlib.suppress(OSError):
        return (directory / "iflink").read_bytes() != (directory / "ifindex").read_bytes()
    return False


def _lease_directories(configuration: bytes, network: str) -> set[Path]:
    """Return where the host-local plugin of a network has its leases."""
    plugins = json.loads(configuration).get("plugins") or []
    ipams = [plugin.get("ipam") or {} for plugin in plugins]
    return {
        Path(ipam.get("dataDir") or "/var/lib/cni/networks", network)
        for ipam in ipams
        if ipam.get("type") == "host-local"
    }


def _entries(directory: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []
