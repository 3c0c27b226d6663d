"""What the kernel reports about a process in /proc/<pid>/status, and stat."""

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

FIRST_PROCESS = "first process"
EXEC = "exec"
STREAMING_EXEC = "streaming exec"
VIEWS = (FIRST_PROCESS, EXEC, STREAMING_EXEC)
"""Which process of a container is observed: its first one, one that ExecSync starts, or one of a streaming
session. Runtimes configure each of them separately.
"""
HOST = "host"
"""The first process as this machine sees it."""

_CAPABILITY_NAMES = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE"
    " NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT"
    " SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE"
    " AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ"
    " PERFMON BPF CHECKPOINT_RESTORE"
)
CAPABILITIES = _CAPABILITY_NAMES.split()
"""The names without `CAP_`, in the order of their numbers (linux/capability.h)."""
_SETS = {
    "CapInh": "inheritable",
    "CapPrm": "permitted",
    "CapEff": "effective",
    "CapBnd": "bounding",
    "CapAmb": "ambient",
}


@dataclass(frozen=True)
class ProcessStatus:
    """A process as the kernel reports it.

    Attributes:
        fields: every line of /proc/<pid>/status, name to value.
    """

    fields: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> "ProcessStatus":
        """Parse the content of /proc/<pid>/status."""
        pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
        return cls({name.strip(): value.strip() for name, _, value in pairs})

    @property
    def uids(self) -> tuple[int, ...]:
        """Real, effective, saved and file-system user id."""
        return tuple(int(part) for part in self.fields["Uid"].split())

    @property
    def gids(self) -> tuple[int, ...]:
        """Real, effective, saved and file-system group id."""
        return tuple(int(part) for part in self.fields["Gid"].split())

    @property
    def groups(self) -> set[int]:
        """Supplementary groups."""
        return {int(part) for part in self.fields.get("Groups", "").split()}

    @property
    def capabilities(self) -> dict[str, set[str]]:
        """Capabilities by the name of the set: inheritable, permitted, effective, bounding, ambient."""
        return {
            name: {
                capability
                for bit, capability in enumerate(CAPABILITIES)
                if int(self.fields[field], 16) >> bit & 1
            }
            for field, name in _SETS.items()
            if field in self.fields
        }

    @property
    def no_new_privs(self) -> bool:
        """Whether execve can grant the process no privileges."""
        return self.fields.get("NoNewPrivs") == "1"

    @property
    def seccomp_mode(self) -> int:
        """0 none, 1 strict, 2 filter."""
        return int(self.fields.get("Seccomp", "0"))


def stat_of(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat from the state on, proc(5); none if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()


TERMINALS = "/dev/pt"
"""How the targets of open pseudo-terminals begin: `/dev/ptmx`, `/dev/pts/ptmx`, `/dev/pts/0`."""


def open_files(pid: int) -> list[str]:
    """Return the targets of a process's open files, such as `socket:[12]`, proc(5), except files that it
    closes meanwhile.

    Raises:
        FileNotFoundError: there is no such process.
    """
    found: list[str] = []
    # pathlib would create an object for each of a thousand links
    for number in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - see above
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))  # noqa: PTH115 - see above
    return found


@dataclass(frozen=True)
class ProcessTree:
    """A container's first process with a child and another one in its own session, all in the machine's
    process table.

    Attributes:
        mark: in the command lines of all three, and of no other process.
    """

    SIZE: ClassVar[int] = 3
    """How many they are. The table has more between the fork and the exec of each sleep."""

    mark: str = field(default_factory=lambda: "mark-" + os.urandom(8).hex())

    @property
    def script(self) -> str:
        """The script of the first process; it prints `ready` once the others run, and exits at SIGTERM."""
        child = f"sh -c 'sleep 1000; : {self.mark}'"
        return f"setsid {child} & {child} & trap 'exit 0' TERM; echo ready; wait"

    def alive(self) -> dict[int, str]:
        """Return the command lines of the living processes, by process id."""
        return host_processes(self.mark)


def host_processes(mark: str) -> dict[int, str]:
    """Return the living processes of this machine with a marker in their command line, by process id.

    A zombie has no command line, so it is not included.

    Args:
        mark: a text that is in no other command line of the machine.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (
                (entry / "cmdline")
                .read_bytes()
                .replace(b"\0", b" ")
                .decode(errors="backslashreplace")
                .strip()
            )
        except OSError:
            # it has exited since the directory was read
            continue
        if mark in command:
            found[int(entry.name)] = command
    return found
