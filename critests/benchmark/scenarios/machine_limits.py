"""How many pods a machine bears: what there is too little of to go on, and what ran out when one was
refused.
"""

import shutil

import psutil

from critests.benchmark.measuring.target import Target

SPARE_BYTES = 512 << 20
"""Memory, and room on the disk, that is left to the machine: a benchmark must not make the kernel choose what
to kill.
"""
RAN_OUT = {
    "addresses": ("no ip addresses", "no available ip"),
    "disk space": ("no space left", "disk quota"),
    "memory": ("cannot allocate memory", "out of memory", "enomem"),
    "processes": ("resource temporarily unavailable",),
    "open files": ("too many open files",),
}
"""What ran out, by words in what runtimes and their plugins say then."""


def what_ran_out(pod: int, code: str, details: str) -> str:
    """Say what ran out, as far as the runtime's refusal of a pod tells it."""
    said = details.lower()
    thing = next((thing for thing, words in RAN_OUT.items() if any(word in said for word in words)), "")
    return (
        f"{f'{thing} ran out: ' if thing else ''}the runtime refused pod {pod} with {code}: {details[:200]}"
    )


def scarce(target: Target) -> str:
    """Say what there is too little of to go on; empty where there is enough."""
    if psutil.virtual_memory().available < SPARE_BYTES:
        return f"memory ran out: less than {SPARE_BYTES >> 20} MiB available"
    owned = target.context.owned
    if (
        owned is not None
        and owned.runtime is not None
        and shutil.disk_usage(owned.runtime.root).free < SPARE_BYTES
    ):
        return f"disk space ran out: less than {SPARE_BYTES >> 20} MiB free below {owned.runtime.root}"
    return ""
