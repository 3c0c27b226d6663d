"""What SELinux has denied, from the kernel's log; a machine with auditd has it in the audit log instead."""

import contextlib
import os
import re
from pathlib import Path
from typing import Final

KERNEL_LOG: Final = Path("/dev/kmsg")
MOST: Final = 3
"""Denials that are named; one cause is often logged many times."""
_DENIED: Final = re.compile(
    r"avc: +denied +\{ (?P<what>[^}]+) \}.* comm=\"(?P<program>[^\"]*)\".* scontext=(?P<source>\S+)"
    r" tcontext=(?P<target>\S+) tclass=(?P<kind>\S+) permissive=0"
)


def denied_since(boot_seconds: float, log: Path = KERNEL_LOG) -> list[str]:
    """Return what was denied, each once: `containerd (dockerd_t): execute_no_trans file of lib_t`.

    Args:
        boot_seconds: `time.monotonic()` at the beginning.
        log: of the kernel, in the format of /dev/kmsg: `priority,sequence,µs since boot,flags;text`.
    """
    found: dict[str, None] = {}
    with contextlib.suppress(OSError):
        for record in _records(log):
            head, _, text = record.partition(";")
            fields = head.split(",")
            denied = _DENIED.search(text)
            if denied and len(fields) > 2 and int(fields[2]) >= boot_seconds * 1e6:
                source, target = (_type_of(denied[name]) for name in ("source", "target"))
                found[f"{denied['program']} ({source}): {denied['what']} {denied['kind']} of {target}"] = None
    return list(found)[:MOST]


def _records(log: Path) -> list[str]:
    records = []
    # one record a read; a read blocks at the end of the log, or fails with EAGAIN
    descriptor = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while record := os.read(descriptor, 8192):
            records += record.decode(errors="replace").splitlines()
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)
    return records


def _type_of(label: str) -> str:
    return label.split(":")[2] if label.count(":") >= 2 else label
