"""CPUs to bind containers to, and CPUs and memory nodes that the machine cannot have."""

import os
from pathlib import Path

from critests.node.cgroups.container_cgroup import numbers_in
from critests.testing import blocked

POSSIBLE = Path("/sys/devices/system/cpu/possible")
POSSIBLE_NODES = Path("/sys/devices/system/node/possible")
"""Missing if the kernel has no NUMA support; all memory is in node 0 then."""


def usable_cpu() -> int:
    """Return a CPU that containers may be bound to, which need not be CPU 0."""
    return min(os.sched_getaffinity(0))


def another_cpu() -> int:
    """Return a CPU other than the first usable one; the test is blocked if there is only one."""
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        blocked("needs two CPUs, to bind a container to one of them")
    return max(usable)


def impossible_cpu() -> int:
    """Return the number of a CPU that this machine cannot have."""
    return max(numbers_in(POSSIBLE.read_text(encoding="ascii"))) + 1


def impossible_node() -> int:
    """Return the number of a memory node that this machine cannot have."""
    possible = POSSIBLE_NODES.read_text(encoding="ascii") if POSSIBLE_NODES.exists() else "0"
    return max(numbers_in(possible)) + 1
