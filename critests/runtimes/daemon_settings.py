"""Input of the configuration of a private runtime, in addition to the paths in `Footprint`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from critests.runtimes.runtime_settings import RuntimeSetting

NRI_SOCKET = "nri.sock"
"""Name of the socket for plugins, in `Footprint.nri`."""
NRI_REGISTRATION_SECONDS, NRI_REQUEST_SECONDS = 5, 2
"""How long a plugin may take to register and to respond: the defaults of all kinds."""


@dataclass(frozen=True)
class DaemonSettings:
    """Options of the caller and facts about the machine for a daemon's configuration."""

    version: tuple[int, int, int]
    handlers: Mapping[str, Path]
    """OCI runtime binary of each handler; the first is the default."""
    cni_plugins: Path
    pause_image: str
    registry_addresses: Sequence[str]
    """`host:port` of registries that speak plain HTTP."""
    apparmor: bool = False
    """Whether the kernel has AppArmor switched on."""
    selinux: bool = False
    """Whether the kernel has SELinux switched on, enforcing or not."""
    may_lower_oom_score: bool = True
    """Whether the daemon will have CAP_SYS_RESOURCE."""
    systemd_cgroup: bool = False
    overlays: bool = True
    """Whether images may be stored as overlays: overlayfs cannot be on overlayfs, as in a container."""
    helpers: Mapping[str, Path] = field(default_factory=dict)
    """Other programs that the configuration names (CRI-O: conmon, pinns)."""
    extra_settings: Sequence[RuntimeSetting] = ()
    """Extra settings that the caller requested."""
