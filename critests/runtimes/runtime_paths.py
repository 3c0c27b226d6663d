"""Directories and names of one private runtime, from which its configuration is written."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RuntimePaths(ABC):
    """Directories and names of one private runtime."""

    kind: str
    run_id: str
    token: str
    """Six hexadecimal digits, unique among the private runtimes of this machine."""
    state: Path
    """Directory below /run: configuration, socket, log, the daemon's state."""
    root: Path
    """Directory below /var/lib, or the one that the caller requested: images, snapshots."""
    subnets: tuple[str, ...]

    @property
    @abstractmethod
    def sockets(self) -> Path:
        """Return the directory for sockets whose paths would be too long below the state directory."""

    @property
    def name(self) -> str:
        """Return the name of the state directory."""
        return f"{self.kind}-{self.token}"

    @property
    def bridge(self) -> str:
        """Return the name of the network bridge (at most 15 characters: IFNAMSIZ without the NUL)."""
        return f"crt-{self.token}"

    @property
    def network(self) -> str:
        """Return the name of the CNI network."""
        return f"critests-{self.token}"

    @property
    def cgroup(self) -> str:
        """Return the base name of a cgroup for pods, which is removed with the runtime."""
        return f"critests-{self.token}"

    @property
    def cdi(self) -> Path:
        """Return the runtime's own directory of CDI specifications."""
        return self.state / "cdi"

    @property
    def nri(self) -> Path:
        """Return the directory of the NRI socket, and of pre-installed NRI plugins (none)."""
        return self.state / "nri"

    @property
    def directories(self) -> tuple[Path, ...]:
        """Return the subdirectories to create before the daemon starts."""
        return (self.root / "tmp", self.root / "root", self.state / "cni", self.cdi, self.nri)
