"""Settings of this machine that no pod may change: those of the kernel that a pod has of its own, and the
options of the machine's own mounts.
"""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from critests.node.host.mount_table import mount_table

_KERNEL: Final = Path("/proc/sys")
_OF_PODS: Final = (
    "kernel/domainname",
    "kernel/hostname",
    *(f"kernel/{name}" for name in ("msgmax", "msgmnb", "msgmni", "sem")),
    *(f"kernel/{name}" for name in ("shm_rmid_forced", "shmall", "shmmax", "shmmni")),
    *(f"fs/mqueue/{name}" for name in ("msg_default", "msg_max", "msgsize_max", "queues_max")),
    "net/core/somaxconn",
    *(f"net/ipv4/{name}" for name in ("ip_local_port_range", "ip_local_reserved_ports")),
    *(f"net/ipv4/{name}" for name in ("ip_unprivileged_port_start", "ping_group_range")),
    *(f"net/ipv4/{name}" for name in ("tcp_fin_timeout", "tcp_keepalive_time", "tcp_syncookies")),
)
"""Settings of the namespaces of a pod that requests in tests change. `net/ipv4/ip_forward` is not among them:
CNI plugins switch it on.
"""

_PEERS: Final = re.compile(r"\b(shared|master|propagate_from):[0-9]+")


@dataclass(frozen=True)
class HostSettings:
    """The settings at one time.

    Attributes:
        kernel: name to value, as with `sysctl`.
        mounts: root and mount point to the options and the propagation.
    """

    kernel: dict[str, str]
    mounts: dict[tuple[str, str], str]

    @classmethod
    def read(cls) -> "HostSettings":
        """Read the settings."""
        kernel = {}
        for name in _OF_PODS:
            with contextlib.suppress(OSError):
                kernel[name.replace("/", ".")] = (_KERNEL / name).read_text(encoding="utf-8").strip()
        mounts: dict[tuple[str, str], str] = {}
        for root, point, rest in mount_table():
            # of several at one place the first, which the others hide
            mounts.setdefault((root, point), _PEERS.sub(r"\1", rest))
        return cls(kernel, mounts)

    def kernel_changes(self, later: "HostSettings") -> list[str]:
        """Return the settings of the kernel that have another value now, in words."""
        return [
            f"{name} is {later.kernel[name]!r}, was {value!r}"
            for name, value in self.kernel.items()
            if later.kernel.get(name, value) != value
        ]

    def mount_changes(self, later: "HostSettings") -> list[str]:
        """Return the mounts that have other options now, in words; not those that have come or gone."""
        return [
            f"{place[1]} is mounted {later.mounts[place]}, was {options}"
            for place, options in self.mounts.items()
            if later.mounts.get(place, options) != options
        ]
