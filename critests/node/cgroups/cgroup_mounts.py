"""How this machine's cgroups are mounted, as the OCI runtimes see it."""

from dataclasses import dataclass
from pathlib import Path

from critests.lifecycle.process_cgroups import MOUNT
from critests.node.host.mount_table import mount_table


@dataclass(frozen=True)
class CgroupFacts:
    """The cgroup version in force, where it is mounted, and which controllers can be used."""

    version: int
    """2 if /sys/fs/cgroup is the unified hierarchy; otherwise 1, also with an unused unified hierarchy
    elsewhere.
    """
    mount: str
    controllers: tuple[str, ...]


def cgroup_facts() -> CgroupFacts:
    """Read the mount table; version 0 if no cgroups are mounted."""
    mounts = [(point, rest.partition(" - ")[2].split()) for _, point, rest in mount_table()]
    if any(point == str(MOUNT) and fields[0] == "cgroup2" for point, fields in mounts):
        return CgroupFacts(
            2, str(MOUNT), tuple(sorted((MOUNT / "cgroup.controllers").read_text(encoding="ascii").split()))
        )
    options = {option for _, fields in mounts if fields[0] == "cgroup" for option in fields[-1].split(",")}
    found = {
        option
        for option in options
        if option not in {"rw", "ro"} and "=" not in option and option not in {"xattr", "none"}
    }
    return CgroupFacts(1 if options else 0, str(MOUNT) if options else "", tuple(sorted(found)))


def unified_controllers_with_version_1() -> tuple[str, ...]:
    """Return the controllers of the unified hierarchy while cgroup version 1 is in use; crun does not run if
    there are any.
    """
    if cgroup_facts().version == 2:
        return ()
    points = [
        Path(point) for _, point, rest in mount_table() if rest.partition(" - ")[2].startswith("cgroup2 ")
    ]
    files = [point / "cgroup.controllers" for point in points]
    return tuple(
        sorted({name for file in files if file.exists() for name in file.read_text(encoding="ascii").split()})
    )


def cgroup_hierarchies() -> list[Path]:
    """Return the mount points of this machine's cgroup hierarchies, version 1 and 2."""
    points = [
        point
        for _, point, rest in mount_table()
        if rest.partition(" - ")[2].split(" ", 1)[0] in {"cgroup", "cgroup2"}
    ]
    return [Path(point) for point in dict.fromkeys(points)]
