"""Sizes of huge pages that the kernel of this machine has, and limits."""

from pathlib import Path

from critests.node.cgroups.cgroup_mounts import cgroup_facts

_SIZES = Path("/sys/kernel/mm/hugepages")
_UNITS = ("KB", "MB", "GB")


def hugepage_sizes(folder: Path = _SIZES) -> list[str]:
    """Return them as the kubelet writes them (`2MB`, `1GB`), the smallest first."""
    kibibytes = sorted(
        int(entry.name.removeprefix("hugepages-").removesuffix("kB"))
        for entry in folder.glob("hugepages-*kB")
    )
    return [_written(size) for size in kibibytes]


def limited_sizes() -> list[str]:
    """Return those that the kubelet limits for every container; none where the machine has no cgroup
    controller for huge pages, with which not every runtime could start a container then.
    """
    return hugepage_sizes() if "hugetlb" in cgroup_facts().controllers else []


def _written(kibibytes: int) -> str:
    size, unit = kibibytes, 0
    while size % 1024 == 0 and unit < len(_UNITS) - 1:
        size, unit = size // 1024, unit + 1
    return f"{size}{_UNITS[unit]}"
