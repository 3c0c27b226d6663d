"""containerd with its CRI plugin."""

from pathlib import Path
from typing import Final

from critests.runtimes.runtime_facts import Monitor, RuntimeKind

SHIM: Final = "containerd-shim-runc-v2"
CTR: Final = "ctr"
"""Its own client."""

DEFAULT_SOCKET: Final = Path("/run/containerd/containerd.sock")
K3S_SOCKET: Final = Path("/run/k3s/containerd/containerd.sock")
"""Of the containerd inside k3s and RKE2."""

CONTAINERD: Final = RuntimeKind(
    name="containerd",
    title="containerd",
    reported_name="containerd",
    program="containerd",
    sockets=(DEFAULT_SOCKET, K3S_SOCKET),
    helpers=(SHIM,),
    packages={SHIM: "containerd", CTR: "containerd"},
    monitor=Monitor(name="containerd-shim"),
    shared_directories=(
        Path("/run/containerd"),
        Path("/run/containerd/s"),
        Path("/run/containerd/runc"),
        Path("/opt/containerd"),
    ),
    apparmor_profile="cri-containerd.apparmor.d",
    api_levels=(
        ("1.6.0", 23),
        ("1.6.9", 25),
        ("1.7.0", 26),
        ("1.7.1", 27),
        ("2.0.0", 31),
        ("2.1.0", 32),
        ("2.2.0", 34),
        ("2.3.0", 36),
    ),
)
