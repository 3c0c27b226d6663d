"""The description of a kind of runtime with which a private instance can be started and removed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from critests.runtimes.daemon_settings import DaemonSettings
from critests.runtimes.node_setting import NodeSetting
from critests.runtimes.runtime_facts import RuntimeKind
from critests.runtimes.runtime_paths import RuntimePaths


@dataclass(frozen=True, kw_only=True)
class Companion:
    """A daemon that the runtime needs, as cri-dockerd needs dockerd.

    It is ready when it accepts connections, exits on SIGTERM, and writes to the log of the runtime.
    """

    program: str
    """Its binary, one of `helpers` in the facts of the kind."""
    socket: Callable[[RuntimePaths], Path]
    """Where it listens."""
    write_configuration: Callable[[RuntimePaths, DaemonSettings], list[str]]
    """Writes all files of its configuration; returns the arguments to start it with."""


@dataclass(frozen=True, kw_only=True)
class ThrowawayKind:
    """How a private instance of one kind of runtime is started, and which files it leaves.

    Every kind is ready when its Status reports so, and exits on SIGTERM. All files of an instance are in the
    two directories of its `RuntimePaths`, except `files_elsewhere`.
    """

    facts: RuntimeKind
    socket: Callable[[RuntimePaths], Path]
    """Where an instance listens."""
    sockets: Callable[[RuntimePaths], tuple[Path, ...]]
    """All sockets below its directories, including those of the daemon and its companions; one example of
    those that are named after a container.
    """
    write_configuration: Callable[[RuntimePaths, DaemonSettings], list[str]]
    """Writes all files of its configuration; returns the arguments to start the daemon with."""
    container_folders: Callable[[RuntimePaths], tuple[Path, ...]]
    """Directories whose entries are named after its sandboxes and containers."""
    standard_directories: tuple[str, str] = ("", "")
    """State and root directory of a packaged daemon: with SELinux, an instance's get the same labels."""
    companions: Sequence[Companion] = ()
    """Started before the daemon, in this order, and stopped after it; a restart of the daemon does not affect
    them.
    """
    environment: Callable[[RuntimePaths], Mapping[str, str]] = lambda _: {}
    """Further variables of the daemon and its companions."""
    files_elsewhere: Callable[[RuntimePaths], list[Path]] = lambda _: []
    """Files of an instance in shared directories; determined before anything is removed."""
    importing: Callable[[RuntimePaths, Path, str], Sequence[str]] | None = None
    """Returns the command that imports an OCI archive without the CRI, from the archive and the full image
    name. It runs with the environment of the daemon.
    """
    profiles: Callable[[RuntimePaths], Path] | None = None
    """The socket at which it serves profiles of its memory over HTTP, if they are enabled."""
    node_settings: Mapping[str, NodeSetting] = field(default_factory=dict)
    """Its named configurations, by the name for `--node-setting`."""
    hosts_folder: Callable[[RuntimePaths], Path] | None = None
    """The directory with a hosts.toml for each registry, if pulls read one."""
    registries_folder: Callable[[RuntimePaths], Path] | None = None
    """The directory of registries.conf and registries.conf.d, if the daemon reads them at its start and at
    SIGHUP.
    """
    profile_annotation: str = ""
    """The pod annotation that names a seccomp profile in a registry, if such profiles are enabled."""
    oldest: tuple[int, int] = (0, 0)
    """The oldest version with v1 of the API."""
