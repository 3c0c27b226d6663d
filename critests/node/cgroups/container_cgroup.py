"""The values in a container's cgroup, in terms that cgroup v1 and v2 share; read on this machine, or inside
the container, which sees only its own cgroup.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from critests.lifecycle.process_cgroups import Membership, memberships
from critests.node.host.mount_table import mount_table

NAMES: Mapping[int, Sequence[str]] = {
    1: (
        "cpu.shares",
        "cpu.cfs_quota_us",
        "cpu.cfs_period_us",
        "cpu.stat",
        "cpuacct.usage",
        "cpuset.cpus",
        "cpuset.mems",
        "memory.limit_in_bytes",
        "memory.memsw.limit_in_bytes",
        "memory.usage_in_bytes",
        "memory.oom_control",
        "pids.max",
        "hugetlb.*.limit_in_bytes",
    ),
    2: (
        "cpu.weight",
        "cpu.max",
        "cpu.stat",
        "cpuset.cpus",
        "cpuset.mems",
        "memory.max",
        "memory.min",
        "memory.low",
        "memory.high",
        "memory.swap.max",
        "memory.current",
        "memory.events",
        "memory.oom.group",
        "pids.max",
        "hugetlb.*.max",
    ),
}
"""Files to read, by cgroup version; files of missing controllers do not exist."""

INSIDE = (
    "cd /sys/fs/cgroup || exit; "
    f"if [ -e cgroup.controllers ]; then echo version=2; grep -s '' {' '.join(NAMES[2])} /dev/null; "
    f"else echo version=1; grep -s '' {' '.join(f'*/{name}' for name in NAMES[1])} /dev/null; fi; :"
)
"""A script of the shell that prints the files of the container that it runs in; for `CgroupValues.printed`.
"""

_NO_LIMIT_FROM = 1 << 62
"""Values of cgroup v1 from here on mean no limit: the kernel shows the largest multiple of a page."""


class CgroupFileMissing(LookupError):
    """A cgroup has no such file: the machine lacks the controller, or it was not given to the container."""


@dataclass(frozen=True)
class CgroupValues:
    """The files of one container's cgroup at one time.

    Attributes:
        version: of cgroups, 1 or 2.
        files: their content without the last newline, by name without folder.
    """

    version: int
    files: Mapping[str, str]

    @classmethod
    def in_folders(cls, version: int, folders: Iterable[Path]) -> "CgroupValues":
        """Read the folders of a cgroup: one, or with version 1 one of each hierarchy."""
        found = [path for folder in folders for name in NAMES[version] for path in sorted(folder.glob(name))]
        return cls(version, {path.name: path.read_text(encoding="ascii").rstrip("\n") for path in found})

    @classmethod
    def printed(cls, text: str) -> "CgroupValues":
        """Read what `INSIDE` has printed.

        Raises:
            ValueError: it is no output of that script.
        """
        lines = text.splitlines()
        if not lines or lines[0] not in {"version=1", "version=2"}:
            msg = f"no files of a cgroup: {text[:200]!r}"
            raise ValueError(msg)
        files: dict[str, str] = {}
        for line in lines[1:]:
            path, _, value = line.partition(":")
            name = PurePosixPath(path).name
            # two names of one hierarchy, such as cpu and cpu,cpuacct, show the same file twice
            first = next((known for known in files if known.startswith(f"{name}@")), f"{name}@{path}")
            if first == f"{name}@{path}":
                files[first] = f"{files[first]}\n{value}" if first in files else value
        return cls(
            int(lines[0].removeprefix("version=")),
            {key.partition("@")[0]: value for key, value in files.items()},
        )

    def text(self, name: str) -> str:
        """Return the content of a file.

        Raises:
            CgroupFileMissing: the file does not exist.
        """
        if name not in self.files:
            msg = f"there is no {name} in the cgroup"
            raise CgroupFileMissing(msg)
        return self.files[name]

    def limit(self, name: str) -> int | None:
        """Return the number in a file; None for no limit."""
        text = self.text(name)
        if text == "max" or int(text) < 0 or int(text) >= _NO_LIMIT_FROM:
            return None
        return int(text)

    @property
    def memory(self) -> int | None:
        """The memory limit in bytes; None for none."""
        return self.limit("memory.max" if self.version == 2 else "memory.limit_in_bytes")

    @property
    def memory_used(self) -> int:
        """Bytes of memory in use."""
        return int(self.text("memory.current" if self.version == 2 else "memory.usage_in_bytes"))

    @property
    def swap(self) -> int | None:
        """Bytes that may be swapped, beyond the memory limit; None for no limit."""
        if self.version == 2:
            return self.limit("memory.swap.max")
        both, memory = self.limit("memory.memsw.limit_in_bytes"), self.memory
        return None if both is None or memory is None else both - memory

    @property
    def oom_kills(self) -> int:
        """How many processes the OOM killer has killed."""
        return self._count("memory.events" if self.version == 2 else "memory.oom_control", "oom_kill")

    def has_shares(self, shares: int) -> bool:
        """Whether the CPU weight corresponds to a number of shares; with version 2, by either of the two
        conversions in use.
        """
        if self.version == 1:
            return int(self.text("cpu.shares")) == shares
        return int(self.text("cpu.weight")) in weights_of(shares)

    @property
    def cpu_weight(self) -> str:
        """The CPU weight with its file name, for messages."""
        name = "cpu.weight" if self.version == 2 else "cpu.shares"
        return f"{name} is {self.text(name)}"

    @property
    def cpu_quota(self) -> int | None:
        """Microseconds of CPU time in a period; None for no limit."""
        if self.version == 1:
            return self.limit("cpu.cfs_quota_us")
        quota = self.text("cpu.max").split()[0]
        return None if quota == "max" else int(quota)

    @property
    def cpu_period(self) -> int:
        """The period of the quota in microseconds."""
        if self.version == 1:
            return int(self.text("cpu.cfs_period_us"))
        return int(self.text("cpu.max").split()[1])

    @property
    def cpu_used(self) -> int:
        """Nanoseconds of CPU time that were used."""
        if self.version == 1:
            return int(self.text("cpuacct.usage"))
        return self._count("cpu.stat", "usage_usec") * 1000

    @property
    def throttled(self) -> int:
        """In how many periods the quota was used up."""
        return self._count("cpu.stat", "nr_throttled")

    @property
    def cpus(self) -> frozenset[int]:
        """CPUs that were chosen; with version 2 empty where none were."""
        return numbers_in(self.text("cpuset.cpus"))

    @property
    def mems(self) -> frozenset[int]:
        """Memory nodes that were chosen; with version 2 empty where none were."""
        return numbers_in(self.text("cpuset.mems"))

    @property
    def pids(self) -> int | None:
        """How many processes and threads there may be; None for no limit."""
        return self.limit("pids.max")

    @property
    def hugepages(self) -> dict[str, int | None]:
        """Limits in bytes by size of page (`2MB`); empty where the machine has no such controller."""
        ending = ".max" if self.version == 2 else ".limit_in_bytes"
        return {
            name.removeprefix("hugetlb.").removesuffix(ending): self.limit(name)
            for name in self.files
            if name.startswith("hugetlb.") and not name.endswith(f".rsvd{ending}")
        }

    def _count(self, name: str, what: str) -> int:
        for line in self.text(name).splitlines():
            key, _, value = line.partition(" ")
            if key == what:
                return int(value)
        msg = f"{name} has no {what}"
        raise CgroupFileMissing(msg)


def weights_of(shares: int) -> frozenset[int]:
    """Return the weights of cgroup v2 that OCI runtimes make of a number of shares: by the linear conversion
    of the Kubernetes enhancement on cgroup v2, and by the later one that keeps the default (1024 is 100).
    """
    # the kernel's ranges are 2 to 262144 for shares and 1 to 10000 for weights
    inside = min(max(shares, 2), 262_144)
    linear = 1 + (inside - 2) * 9999 // 262_142
    # a parabola in log2(shares) through 2 → 1, 1024 → 100 and 262144 → 10000
    power = math.log2(inside)
    later = math.ceil(10 ** ((power * power + 125 * power) / 612 - 7 / 34))
    return frozenset({linear, min(max(later, 1), 10_000)})


def same_weight(shares: int, others: int) -> bool:
    """Return whether two numbers of shares can have the same weight: runtimes that read a cgroup v2 weight
    back report the shares of that weight, and by rounding the weight may be lower by one.
    """
    return shares == others or any(
        abs(one - another) <= 1 for one in weights_of(shares) for another in weights_of(others)
    )


def numbers_in(text: str) -> frozenset[int]:
    """Return the numbers of a list as the kernel writes it: `0-3,7`."""
    parts = [part.partition("-") for part in text.strip().split(",") if part]
    return frozenset(
        number for first, _, last in parts for number in range(int(first), int(last or first) + 1)
    )


def of_process(pid: int, parent: str = "") -> CgroupValues:
    """Read the cgroup of a container from this machine.

    Args:
        pid: one of its processes.
        parent: cgroup that the container's was made in, as the request named it. OCI runtimes may put the
            processes one level further down than the limits; without it the limits are taken to be where the
            process is.

    Raises:
        ProcessLookupError: there is no such process.
    """
    return CgroupValues.in_folders(*folders_of(_memberships(pid), mount_table(), parent))


def folders_of_process(pid: int) -> list[Path]:
    """Return the folders of the cgroup of a process on this machine, one or one of each hierarchy.

    Raises:
        ProcessLookupError: there is no such process.
    """
    return folders_of(_memberships(pid), mount_table())[1]


def _memberships(pid: int) -> list[Membership]:
    found = memberships(pid)
    if not found:
        msg = f"there is no process {pid}"
        raise ProcessLookupError(msg)
    return found


def folders_of(
    places: Sequence[Membership], mounts: Sequence[tuple[str, str, str]], parent: str = ""
) -> tuple[int, list[Path]]:
    """Return the cgroup version in force, and the folders of a container's cgroup.

    Args:
        places: where its process is in each hierarchy.
        mounts: root, mount point and remaining fields of each line of our own mountinfo.
        parent: see `of_process`.
    """
    hierarchies: dict[str, tuple[str, str]] = {}
    for root, point, rest in mounts:
        kind, _, options = rest.partition(" - ")[2].partition(" ")
        if kind == "cgroup2":
            hierarchies.setdefault("", (root, point))
        elif kind == "cgroup":
            for option in options.split(" ", 1)[-1].split(","):
                hierarchies.setdefault(option, (root, point))
    version = 1 if any(name in hierarchies for name in ("cpu", "memory", "pids")) else 2
    found = []
    for place in places:
        name = place.controllers[0] if place.controllers else ""
        if bool(name) is (version == 2) or name.startswith("name=") or name not in hierarchies:
            continue
        root, point = hierarchies[name]
        inside = limits_at(place.path, parent).removeprefix(root.rstrip("/"))
        found.append(Membership(place.controllers, inside).below(Path(point)))
    return version, list(dict.fromkeys(found))


def limits_at(path: str, parent: str) -> str:
    """Return the cgroup that holds a container's limits: the first below its parent, on the way to where its
    process is; the process's own where the parent is not on the way.
    """
    last = PurePosixPath(parent).name
    parts = PurePosixPath(path).parts
    if not last or last not in parts[:-1]:
        return path
    return str(PurePosixPath(*parts[: parts.index(last) + 2]))
