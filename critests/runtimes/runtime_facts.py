"""Static facts about a kind of runtime."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Monitor:
    """The process that monitors a container: containerd's shim, CRI-O's conmon."""

    name: str
    """Prefix of the process name in /proc/PID/comm."""
    names_folder: bool = False
    """Whether its command line has a directory next to the daemon's sockets, instead of a socket."""


@dataclass(frozen=True, kw_only=True)
class RuntimeKind:
    """One kind of runtime. For starting one, see ``private_kind``."""

    name: str
    """As the user writes it: `--node crio`."""
    title: str
    """As a sentence names it: `CRI-O`."""
    reported_name: str
    """As Version reports it: `cri-o`."""
    program: str
    """The daemon's binary."""
    sockets: tuple[Path, ...]
    """Default sockets: first its own, then those of distributions."""
    helpers: tuple[str, ...] = ()
    """Further required programs, without OCI runtimes."""
    helper_directories: tuple[Path, ...] = ()
    """Where packages install the helpers, in addition to PATH."""
    with_version: tuple[str, ...] = ()
    """Helpers with a `--version` option."""
    packages: dict[str, str] = field(default_factory=dict)
    """Debian or Ubuntu package by program, if the names differ."""
    monitor: Monitor | None = None
    shared_directories: tuple[Path, ...] = ()
    """Directories that all instances of a machine share in any configuration; parents first."""
    shared_files: tuple[Path, ...] = ()
    """Files that all instances write in any configuration; they may be deleted."""
    apparmor_profile: str = ""
    """The AppArmor profile that it loads for its containers."""
    api_levels: tuple[tuple[str, int], ...] = ()
    """First release that is built with the CRI of a Kubernetes minor, `("2.1.0", 32)`, oldest first; from
    `k8s.io/cri-api` in its go.mod, and the vendored api.proto.
    """
