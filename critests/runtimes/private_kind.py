"""What has to be said of a kind of runtime so that one can be started privately and leaves nothing behind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from critests.runtimes.daemon_settings import DaemonSettings
from critests.runtimes.runtime_facts import RuntimeKind
from critests.runtimes.runtime_paths import RuntimePaths


@dataclass(frozen=True, kw_only=True)
class Companion:
    """A daemon that another one does its work with, as cri-dockerd does with dockerd.

    It is ready when it accepts connections, ends on SIGTERM, and writes to the log of the runtime.
    """

    program: str
    """Its binary, one of `helpers` in the facts of the kind."""
    socket: Callable[[RuntimePaths], Path]
    """Where it listens."""
    write_configuration: Callable[[RuntimePaths, DaemonSettings], list[str]]
    """Writes all files of its configuration; returns the arguments to start it with."""


@dataclass(frozen=True, kw_only=True)
class ThrowawayKind:
    """How one kind of runtime is started privately, and what it leaves.

    All of them are ready when their Status says so, and end on SIGTERM; each callable says what differs. All
    that an instance makes lies in the two directories of its `RuntimePaths`, but for `files_elsewhere`.
    """

    facts: RuntimeKind
    socket: Callable[[RuntimePaths], Path]
    """Where an instance listens."""
    sockets: Callable[[RuntimePaths], tuple[Path, ...]]
    """All sockets that are made below its directories, those of the daemon and its companions among them; of
    those that are named after a container, one.
    """
    write_configuration: Callable[[RuntimePaths, DaemonSettings], list[str]]
    """Writes all files of its configuration; returns the arguments to start the daemon with."""
    container_folders: Callable[[RuntimePaths], tuple[Path, ...]]
    """Directories whose entries are called as its sandboxes and containers."""
    standard_directories: tuple[str, str] = ("", "")
    """State and root directory of a packaged daemon: with SELinux, an instance's get the same labels."""
    companions: Sequence[Companion] = ()
    """Started before the daemon, in this order, and ended after it; a restart of the daemon leaves them
    alone.
    """
    environment: Callable[[RuntimePaths], Mapping[str, str]] = lambda _: {}
    """Further variables of the daemon and its companions."""
    files_elsewhere: Callable[[RuntimePaths], list[Path]] = lambda _: []
    """Files of an instance in directories that it shares with others; asked before anything is removed."""
    importing: Callable[[RuntimePaths, Path, str], Sequence[str]] | None = None
    """The command of another program that puts the image of an OCI archive into an instance, without the CRI:
    the archive, and the image's whole name. It has the environment of the daemon.
    """
    profile_annotation: str = ""
    """The annotation of a pod that names a seccomp profile in a registry, where it is told that there may be
    one.
    """
    oldest: tuple[int, int] = (0, 0)
    """The oldest version that speaks version v1 of the API."""
