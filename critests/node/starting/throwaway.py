"""Private runtimes: a daemon that shares nothing with other daemons on the machine and leaves nothing.

Each has its own root, state, socket, streaming port, CNI network, bridge and subnet. Everything that it will
create is recorded first (`Footprint`). Its owner holds a lock while it lives; a watcher removes everything if
the owner dies first. See `runtime_removal` for the clean-up.
"""

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

from critests.api import api_pb2 as cri
from critests.exit_codes import CannotTest
from critests.node.cleanup import runtime_removal
from critests.node.cleanup.leftovers import our_processes
from critests.node.cleanup.runtime_objects import objects_of
from critests.node.cleanup.watcher import start_watcher
from critests.node.network import cni
from critests.node.observing.oci_version import OciRuntimes
from critests.node.run_state.footprint import Footprint
from critests.node.run_state.locks import FileLock
from critests.node.starting import readiness
from critests.node.starting.daemon_choice import DaemonChoice, find_daemon
from critests.node.starting.daemon_process import DaemonProcess, log_tail
from critests.node.starting.wrapper_setup import Wrappers
from critests.runtimes.cni_conflist import CONFLIST_NAME, LEASES_NAME
from critests.runtimes.daemon_settings import NRI_SOCKET
from critests.runtimes.private_kinds import KINDS
from critests.runtimes.runtime_paths import RuntimePaths

START_SECONDS = 20.0
"""How long a runtime may take to become ready; a healthy one takes well under a second."""


class RuntimeStartFailed(CannotTest):
    """A private runtime did not start; everything of it was removed."""

    def __init__(self, reason: str, log_tail: str = "") -> None:
        """Store the reason (a sentence for the user) and the last lines of the daemon's log."""
        super().__init__(f"{reason}\nThe end of its log:\n{log_tail}" if log_tail else reason)
        self.reason = reason
        self.log_tail = log_tail


class ThrowawayRuntime:
    """A running private runtime, from `start_throwaway`; `stop`, or the end of a `with`, removes it."""

    def __init__(
        self,
        footprint: Footprint,
        daemon: DaemonChoice,
        processes_of: Callable[[DaemonChoice], list[DaemonProcess]],
        log_file: Path,
        lock: FileLock,
    ) -> None:
        self._footprint = footprint
        self._daemon = daemon
        self._processes_of = processes_of
        self._processes = processes_of(daemon)
        self._lock = lock
        self._watcher: subprocess.Popen[bytes] | None = None
        self._stopping = threading.RLock()
        self._stopped = False
        self._network = False
        self._seconds = START_SECONDS
        self._written_before = {path.name for path in footprint.state.iterdir()} | {
            log_file.name,
            LEASES_NAME,
        }
        self.log_file = log_file
        self.wrappers = Wrappers()
        self.version = ""
        self.runtime_name = ""
        self.storage = ""
        self.after_start: Callable[[int], None] | None = None
        """Called with the process id of the daemon after each later start."""

    @property
    def _daemon_process(self) -> DaemonProcess:
        return self._processes[-1]

    @property
    def kind(self) -> str:
        """Return the name of its kind in `--node`."""
        return self._footprint.kind

    @property
    def binary(self) -> Path:
        """Return the daemon's binary."""
        return self._daemon.binary

    @property
    def version_line(self) -> str:
        """Return the output of the binary with `--version`; `version` is that of the Version RPC."""
        return self._daemon.version_line

    @property
    def endpoint(self) -> str:
        """Return the CRI endpoint, `unix:///…`; it stays the same over restarts."""
        return f"unix://{self._daemon_process.command.socket}"

    @property
    def pid(self) -> int:
        """Return the daemon's process id.

        Raises:
            ProcessLookupError: it has been killed or stopped.
        """
        pid = self._daemon_process.pid
        if pid is None:
            raise ProcessLookupError(f"the private runtime {self._footprint.name} is not running")
        return pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of the daemon, for a signal the negative number; None while it runs."""
        return self._daemon_process.exit_code

    @property
    def companions(self) -> tuple[Path, ...]:
        """Return the sockets of its companion daemons; each stays the same over restarts."""
        return tuple(process.command.socket for process in self._processes[:-1])

    @property
    def handlers(self) -> tuple[str, ...]:
        """Return the handlers to test: the default one (an empty name, which is runc), and each further one
        by name.
        """
        return ("", *list(self._daemon.handlers)[1:])

    def oci_program(self, handler: str) -> Path | None:
        """Return the OCI runtime of a handler; an empty name is the default one."""
        programs = self._daemon.handlers
        return programs.get(handler) if handler else next(iter(programs.values()))

    @property
    def program_files(self) -> list[tuple[str, Path]]:
        """Return the files that it consists of, each with its role, the daemon first."""
        return self._daemon.program_files

    @property
    def cni_plugins(self) -> Path:
        """Return the directory of its CNI plugins."""
        return self._daemon.cni_plugins

    @property
    def left_out(self) -> dict[str, str]:
        """Return the handlers that are installed but cannot work on this machine, each with the reason."""
        return dict(self._daemon.left_out)

    @property
    def oci_runtimes(self) -> OciRuntimes:
        """Return the OCI runtimes and the shims of its further handlers, and the folders of its bundles."""
        bundles = list(self._daemon.kind.container_folders(self._footprint))
        return OciRuntimes(
            self._daemon.further_programs,
            self.left_out,
            bundles,
            default=self.oci_program(""),
            reference=self._daemon.reference,
            cgroup=self._footprint.cgroup,
            shims=self._daemon.shims,
        )

    @property
    def state(self) -> Path:
        """Return the directory below /run that holds its configuration, sockets and state."""
        return self._footprint.state

    @property
    def processes(self) -> set[int]:
        """Return its living processes: daemon, shims or monitors, plugins, and those in its containers."""
        return our_processes(self._footprint)

    def objects(self, *pods: cri.PodSandboxConfig) -> set[str]:
        """Return its processes, mounts, cgroups, interfaces, leased addresses and directories, as text.

        Args:
            pods: whose cgroups count too: they may lie outside the runtime's own cgroup.
        """
        parents = [Path(pod.linux.cgroup_parent).name for pod in pods if pod.linux.cgroup_parent]
        return objects_of(self._footprint, parents)

    @property
    def root(self) -> Path:
        """Return the directory that holds its images and snapshots."""
        return self._footprint.root

    @property
    def subnets(self) -> tuple[str, ...]:
        """Return the subnets of its pods: one of IPv4 and, with dual stack, one of IPv6."""
        return self._footprint.subnets

    @property
    def bridge(self) -> str:
        """Return the name of its network bridge."""
        return self._footprint.bridge

    @property
    def conflist(self) -> Path:
        """Return its CNI configuration; the runtime notices when it changes."""
        return self.state / "cni" / CONFLIST_NAME

    @property
    def leases(self) -> set[str]:
        """Return the allocated pod addresses: assigned by CNI ADD and not yet released by DEL."""
        return cni.leases(self._footprint)

    def files_of(self, object_id: str) -> list[Path]:
        """Return the files in which it stores the state of a sandbox or container."""
        folders = KINDS[self.kind].container_folders(self._footprint)
        return [
            path
            for folder in folders
            for path in sorted((folder / object_id).rglob("*"))
            if path.is_file() and not path.is_symlink() and "rootfs" not in path.relative_to(folder).parts
        ]

    @property
    def cdi_folder(self) -> Path:
        """Return its own directory of CDI specifications."""
        return self._footprint.cdi

    @property
    def hosts_folder(self) -> Path | None:
        """Return its directory with a hosts.toml for each registry; None if its kind reads none."""
        return self._found_by(self._daemon.kind.hosts_folder)

    @property
    def registries_folder(self) -> Path | None:
        """Return its directory of registries.conf, which it reads again at SIGHUP; None if its kind reads
        none.
        """
        return self._found_by(self._daemon.kind.registries_folder)

    @property
    def nri_socket(self) -> Path:
        """Return the socket for NRI plugins, if they are enabled."""
        return self._footprint.nri / NRI_SOCKET

    @property
    def profiles(self) -> Path | None:
        """Return the socket at which it serves profiles of its memory, if enabled; None if it cannot."""
        return self._found_by(self._daemon.kind.profiles)

    def _found_by(self, find: Callable[[RuntimePaths], Path] | None) -> Path | None:
        return find(self._footprint) if find else None

    @property
    def profile_annotation(self) -> str:
        """Return the pod annotation that names a seccomp profile in a registry, if enabled."""
        return self._daemon.kind.profile_annotation

    @property
    def cgroup_parent(self) -> str:
        """Return a parent cgroup for pods that is removed with the runtime (for the cgroupfs driver)."""
        return f"/{self._footprint.cgroup}"

    def start_daemon(self, *, network: bool, seconds: float = START_SECONDS) -> None:
        """Start the companions that do not run, then the daemon, and wait until it is ready. For
        `start_throwaway` and `restart`.

        Raises:
            RuntimeNotReady: it was not ready within `seconds`.
            OSError: the binary cannot be executed.
        """
        self._network, self._seconds = network, seconds
        until = time.monotonic() + seconds
        for number, process in enumerate(self._processes, 1):
            if process.pid is None:
                process.start()
            if self._watcher is None:
                self._watcher = start_watcher(self._footprint)
            readiness.wait_until_listening(
                process.command.socket, until=until, ended=partial(_ended, self._processes[:number])
            )
        answer = readiness.wait_until_ready(
            self._daemon_process.command.socket,
            until=until,
            network=network,
            ended=partial(_ended, self._processes),
        )
        self.version, self.runtime_name = answer.runtime_version, answer.runtime_name
        if self.after_start is not None:
            self.after_start(self.pid)

    def kill(self, signal_number: int = signal.SIGKILL) -> None:
        """Stop the daemon by a signal and wait until it has exited. Its companions, containers and shims
        continue to run; `start_again` starts it again.
        """
        self._daemon_process.end(signal_number)

    def restart(self, signal_number: int = signal.SIGTERM) -> None:
        """Stop the daemon by a signal and start it again; see `start_again`.

        Raises:
            RuntimeStartFailed: it did not come back; the runtime is still to be stopped.
        """
        self.kill(signal_number)
        self.start_again()

    def start_again(self) -> None:
        """Start the stopped daemon with the same configuration, and wait until it is ready, as long as at
        first. A companion that has exited is started too.

        Raises:
            RuntimeStartFailed: it did not come back; the runtime is still to be stopped.
        """
        try:
            self.start_daemon(network=self._network, seconds=self._seconds)
        except readiness.RuntimeNotReady as error:
            raise RuntimeStartFailed(
                f"{self._footprint.name} did not come back after a restart: {error}", log_tail(self.log_file)
            ) from error

    def exchange(self, binary: Path | None) -> None:
        """Replace the program of the stopped daemon for its next start; its data and companions stay.

        Args:
            binary: the other program; None for the one on PATH.

        Raises:
            CannotTest: it is not of this kind, or its version is not supported.
        """
        other = find_daemon(
            self._daemon.kind, binary, extra_handlers={}, cni_plugins=self._daemon.cni_plugins
        )
        self._daemon = replace(other, handlers=self._daemon.handlers)
        self._processes[-1] = self._processes_of(self._daemon)[-1]

    def reboot(self) -> None:
        """Simulate a reboot of the machine, and start the runtime again. CNI leases stay, as they do in
        /var/lib/cni by default.

        Raises:
            CleanupIncomplete: a process, a mount or a file could not be removed.
            RuntimeStartFailed: it did not come back; the runtime is still to be stopped.
        """
        for process in reversed(self._processes):
            process.end(signal.SIGKILL)
        runtime_removal.simulate_reboot(self._footprint, self._written_before)
        self.start_again()

    def stop(self) -> None:
        """Stop the runtime and remove everything that it created. Further calls do nothing.

        Raises:
            CleanupIncomplete: something could not be removed; calling it again tries again.
        """
        with self._stopping:
            if self._stopped:
                return
            for process in reversed(self._processes):
                process.end(signal.SIGTERM)
            runtime_removal.remove(self._footprint)
            self._lock.release()
            if self._watcher is not None:
                self._watcher.kill()
                self._watcher.wait()
            self._stopped = True
            atexit.unregister(self._stop_at_exit)

    def stop_at_exit(self) -> None:
        """Call `stop` when this process exits normally, but not in a forked child."""
        atexit.register(self._stop_at_exit)

    def _stop_at_exit(self) -> None:
        if os.getpid() == self._footprint.owner.pid:
            self.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _ended(processes: Iterable[DaemonProcess]) -> str:
    """Return the name of the first process that has ended; empty while all run."""
    return next((process.command.program.name for process in processes if process.pid is None), "")
