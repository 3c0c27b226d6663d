"""CPUs that tests bind containers to, and one that the machine cannot have."""

import os
from pathlib import Path

from critests.node.container_cgroup import numbers_in
from critests.run.outcomes import blocked

POSSIBLE = Path("/sys/devices/system/cpu/possible")


def another_cpu() -> int:
    """Return a CPU that a container would not be bound to by itself; ends the test as blocked where there is
    only one.
    """
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        blocked("needs two CPUs, of which a container gets one")
    return max(usable)


def impossible_cpu() -> int:
    """Return the number of a CPU that this machine cannot have."""
    return max(numbers_in(POSSIBLE.read_text(encoding="ascii"))) + 1
