"""The limits of the machine for the number of pods: resources that are nearly exhausted, and the resource
that ran out when the runtime rejected a pod.
"""

import shutil

import psutil

from critests.benchmark.measuring.target import Target

SPARE_BYTES = 512 << 20
"""Memory and disk space that a benchmark leaves free, so that it does not invoke the kernel's OOM killer."""
RAN_OUT = {
    "addresses": ("no ip addresses", "no available ip"),
    "disk space": ("no space left", "disk quota"),
    "memory": ("cannot allocate memory", "out of memory", "enomem"),
    "processes": ("resource temporarily unavailable",),
    "open files": ("too many open files",),
}
"""Resource to texts in the error messages of runtimes and their plugins."""


def what_ran_out(pod: int, code: str, details: str) -> str:
    """Return a sentence about a rejected pod, with the resource that ran out if the error names one."""
    text = details.lower()
    resource = next((name for name, words in RAN_OUT.items() if any(word in text for word in words)), "")
    return (
        f"{f'{resource} ran out: ' if resource else ''}the runtime rejected pod {pod} with {code}:"
        f" {details[:200]}"
    )


def exhausted_resource(target: Target) -> str:
    """Return a sentence about a nearly exhausted resource; empty if there is none."""
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
