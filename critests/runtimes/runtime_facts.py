"""What is known of a kind of runtime before one is started or asked."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Monitor:
    """The process that a runtime leaves beside its containers: containerd's shim, CRI-O's conmon."""

    name: str
    """How the kernel's name of the process begins."""
    names_folder: bool = False
    """Whether its command line names a directory beside the daemon's sockets, and not a socket itself."""


@dataclass(frozen=True, kw_only=True)
class RuntimeKind:
    """One kind of runtime. What the suite does to start one is no part of this: see ``private_kind``."""

    name: str
    """As the user writes it: `--node crio`."""
    title: str
    """As a sentence names it: `CRI-O`."""
    reported_name: str
    """As Version reports it: `cri-o`."""
    program: str
    """The daemon's binary."""
    sockets: tuple[Path, ...]
    """Where it listens unless told otherwise; the first is its own default, the others are distributions'."""
    helpers: tuple[str, ...] = ()
    """Further programs that it cannot do without, OCI runtimes left out."""
    helper_directories: tuple[Path, ...] = ()
    """Where packages put the helpers, beside the directories of PATH."""
    with_version: tuple[str, ...] = ()
    """Those of the helpers that answer to `--version`."""
    packages: dict[str, str] = field(default_factory=dict)
    """Package of Debian and Ubuntu by program, where the two names differ."""
    monitor: Monitor | None = None
    shared_directories: tuple[Path, ...] = ()
    """Directories that every instance of a machine shares, whatever its configuration; parents first."""
    shared_files: tuple[Path, ...] = ()
    """Files that every instance writes into, whatever its configuration, and that it can do without."""
    apparmor_profile: str = ""
    """The profile that it loads into the kernel for its containers."""
