"""The processes of a runtime and their roles: daemon, shim, sandbox, container.

A runtime consists of its daemon with its child processes, and of its shims (containerd's shims, CRI-O's
conmon) with theirs; the parent of a shim is PID 1. A shim belongs to this runtime if its command line names a
socket of the daemon, or for conmon the directory of a socket. Below a shim, every process with its own mount
namespace is a container.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, unique
from pathlib import Path
from typing import Final

from critests.lifecycle.process import open_files
from critests.runtimes.known_runtimes import monitors

_PAUSES: Final = ("pause", "runc:[")
"""Names of a sandbox's process, also before it executes `pause`: RunPodSandbox may return earlier."""
_LISTENS: Final = 0x10000
"""The flag of a listening socket in /proc/net/unix, proc(5): SO_ACCEPTCON."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class RuntimeNotVisible(Exception):
    """The runtime has exited, or this process may not read its processes."""


@unique
class Role(StrEnum):
    """The role of a process."""

    DAEMON = "daemon"
    DAEMON_HELPER = "started by the daemon"
    """A child that the daemon waits for: a CNI plugin, a starting shim, a decompressor."""
    SHIM = "shim"
    SHIM_HELPER = "started by a shim"
    """A child that a shim waits for: the OCI runtime, or a process that serves a container from outside, such
    as a virtual machine.
    """
    PAUSE = "pause"
    CONTAINER = "container"

    @property
    def is_workload(self) -> bool:
        """Whether the process runs for the user, not for the runtime."""
        return self in {Role.PAUSE, Role.CONTAINER}


@dataclass(frozen=True)
class RuntimeProcess:
    """A process at the time of the snapshot.

    Attributes:
        pid: its PID.
        started: start time in clock ticks after boot, which distinguishes it from a later process with the
            PID.
        parent: PID of its parent.
        role: its role.
        name: its name in the kernel, at most 15 characters.
        own_cpu_seconds: CPU time of its threads, exited ones included.
        children_cpu_seconds: CPU time of the children that it has waited for, and of their children.
        zombie: whether it has exited and is not reaped.
    """

    pid: int
    started: int
    parent: int
    role: Role
    name: str
    own_cpu_seconds: float
    children_cpu_seconds: float
    zombie: bool

    @property
    def key(self) -> tuple[int, int]:
        """PID and start time, unique since boot."""
        return self.pid, self.started


def runtime_processes(daemon_pid: int) -> list[RuntimeProcess]:
    """Find the processes of a runtime.

    Args:
        daemon_pid: PID of containerd or CRI-O.

    Raises:
        RuntimeNotVisible: the daemon has exited, or its sockets cannot be read (needs root).
    """
    sockets = listening_sockets(daemon_pid)
    table = _process_table()
    if daemon_pid not in table:
        raise RuntimeNotVisible(f"there is no process {daemon_pid}: the runtime has exited")
    children: dict[int, list[_Line]] = {}
    for line in table.values():
        children.setdefault(line.parent, []).append(line)
    found: dict[int, RuntimeProcess] = {}
    shims: list[_Line] = []
    _collect(table[daemon_pid], Role.DAEMON, Role.DAEMON_HELPER, children, found, shims)
    shims += [
        line
        for line in table.values()
        if line.pid not in found and _is_shim(line) and _names_socket(line, sockets)
    ]
    for shim in shims:
        _collect_shim(shim, children, found)
    return list(found.values())


def listening_sockets(pid: int) -> tuple[str, ...]:
    """Return the paths of the unix sockets on which a process listens.

    Raises:
        RuntimeNotVisible: the process has exited, or this process may not read its files.
    """
    try:
        targets = {*open_files(pid)}
        lines = Path(f"/proc/{pid}/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    except (FileNotFoundError, ProcessLookupError) as error:
        raise RuntimeNotVisible(f"there is no process {pid}: the runtime has exited") from error
    except PermissionError as error:
        raise RuntimeNotVisible(
            f"permission to read the files of process {pid} is denied: run as root"
        ) from error
    # columns 3, 6 and 7: flags, inode, path
    sockets = (line.split(maxsplit=7) for line in lines)
    return tuple(
        fields[7]
        for fields in sockets
        if len(fields) > 7 and int(fields[3], 16) & _LISTENS and f"socket:[{fields[6]}]" in targets
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """One process of /proc/PID/stat."""

    pid: int
    name: str
    state: str
    parent: int
    own: float
    children: float
    started: int

    def as_(self, role: Role) -> RuntimeProcess:
        return RuntimeProcess(
            self.pid, self.started, self.parent, role, self.name, self.own, self.children, self.state in "ZX"
        )


def _process_table() -> dict[int, _Line]:
    table = {}
    # creating a Path for each of hundreds of entries costs more than reading the names
    for entry in os.listdir("/proc"):  # noqa: PTH208 - see above
        if entry.isdigit():
            line = _line(int(entry))
            if line is not None:
                table[line.pid] = line
    return table


def _line(pid: int) -> _Line | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    head, _, rest = text.rpartition(")")
    fields = rest.split()  # from the state on, which is field 3 in proc_pid_stat(5)
    user, system, waited_user, waited_system = (int(field) / _TICKS for field in fields[11:15])
    return _Line(
        pid,
        head.partition("(")[2],
        fields[0],
        int(fields[1]),
        user + system,
        waited_user + waited_system,
        int(fields[19]),
    )


def _collect(
    line: _Line,
    role: Role,
    below: Role,
    children: dict[int, list[_Line]],
    found: dict[int, RuntimeProcess],
    shims: list[_Line],
) -> None:
    """Add a process and its descendants to `found`, and the shims among them to `shims`."""
    found[line.pid] = line.as_(role)
    for child in children.get(line.pid, ()):
        if _is_shim(child):
            shims.append(child)
        elif child.pid not in found:
            _collect(child, below, below, children, found, shims)


def _collect_shim(shim: _Line, children: dict[int, list[_Line]], found: dict[int, RuntimeProcess]) -> None:
    found[shim.pid] = shim.as_(Role.SHIM)
    outside = _mount_namespace(shim.pid)
    sandbox_found = False
    for child in sorted(children.get(shim.pid, ()), key=lambda line: line.started):
        if _is_shim(child):
            _collect_shim(child, children, found)  # containerd's shim starts itself again while it starts
        elif child.state in "ZX" or _mount_namespace(child.pid) == outside:
            _collect(child, Role.SHIM_HELPER, Role.SHIM_HELPER, children, found, [])
        else:
            first, sandbox_found = not sandbox_found, True
            role = Role.PAUSE if first and child.name.startswith(_PAUSES) else Role.CONTAINER
            _collect(child, role, Role.CONTAINER, children, found, [])


def _is_shim(line: _Line) -> bool:
    return line.name.startswith(tuple(monitor.name for monitor in monitors())) and line.state not in "ZX"


def _names_socket(line: _Line, sockets: Iterable[str]) -> bool:
    try:
        text = Path(f"/proc/{line.pid}/cmdline").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    arguments = [os.path.realpath(argument) for argument in text.split("\0") if argument.startswith("/")]
    places = [os.path.realpath(socket) for socket in sockets if socket.startswith("/")]
    if any(monitor.names_folder for monitor in monitors() if line.name.startswith(monitor.name)):
        places += [os.path.dirname(place) for place in places]  # noqa: PTH120 - texts on both sides
    return any(
        argument == place or argument.startswith(f"{place}/") for argument in arguments for place in places
    )


def _mount_namespace(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}/ns/mnt").st_ino  # noqa: PTH116 - as above
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
