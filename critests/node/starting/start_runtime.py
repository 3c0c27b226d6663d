"""Starting a private runtime: its files, its processes, and the wait until it is ready."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from critests.exit_codes import CannotTest
from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.node.cleanup import runtime_removal
from critests.node.cleanup.leftovers import CleanupIncomplete
from critests.node.host.privileges import user_namespace
from critests.node.observing.machine_facts import booted_by_systemd
from critests.node.run_state.footprint import Footprint
from critests.node.run_state.locks import FileLock, LockHeld
from critests.node.starting import readiness, selinux
from critests.node.starting.allocation import claim
from critests.node.starting.certificates import with_certificates
from critests.node.starting.daemon_choice import DaemonChoice, find_daemon
from critests.node.starting.daemon_process import DaemonProcess, log_tail
from critests.node.starting.throwaway import START_SECONDS, RuntimeStartFailed, ThrowawayRuntime
from critests.node.starting.wrapper_setup import attach
from critests.node.wrappers.wrapped_programs import NONE_WRAPPED, WrappedPrograms
from critests.runtimes.cni_conflist import CONFLIST_NAME, conflist
from critests.runtimes.private_kinds import KINDS
from critests.runtimes.runtime_settings import RuntimeSetting


def start_throwaway(
    kind: str = "containerd",
    *,
    run_id: str,
    pause_image: str,
    registry_addresses: Sequence[str] = (),
    binary: Path | None = None,
    root: Path | None = None,
    log_file: Path | None = None,
    extra_handlers: Mapping[str, Path] | None = None,
    cni_plugins: Path | None = None,
    network: bool = True,
    cgroup_driver: CgroupDriver = CgroupDriver.UNKNOWN,
    wrapped: WrappedPrograms = NONE_WRAPPED,
    extra_settings: Sequence[RuntimeSetting] = (),
    seconds: float = START_SECONDS,
) -> ThrowawayRuntime:
    """Start a private runtime and wait until it is ready.

    Args:
        kind: a name in `critests.runtimes.private_kinds`.
        run_id: the run that it belongs to; its directories lie below those of the run.
        pause_image: the sandbox image, from one of the registries below.
        registry_addresses: `host:port` of registries that speak plain HTTP.
        binary: the daemon; None for the one on PATH. Its directory comes first on the daemon's PATH, so that
            it finds its own shim.
        root: where images and snapshots go; None for below /var/lib/critests.
        log_file: the daemon's log, appended to and not removed; None for a file that is removed with the
            runtime.
        extra_handlers: further handlers by name, each with its OCI runtime's binary, or its own shim.
        cni_plugins: directory of CNI plugins; None to look for it.
        network: whether there is a CNI network; without one the runtime stays "network not ready".
        cgroup_driver: who makes the cgroups; see `systemd_makes_cgroups`.
        wrapped: the programs that get a wrapper, in `ThrowawayRuntime.wrappers`.
        extra_settings: settings added to its configuration.
        seconds: how long it may take to become ready.

    Raises:
        SettingNotSupported: the runtime has no configuration for one of `extra_settings`.
        RuntimeStartFailed: it did not start; the message says why and ends with the tail of its log.
            Everything of it was removed.
    """
    if os.geteuid() != 0:
        raise RuntimeStartFailed("a private runtime can only be started by root")
    if users := user_namespace():
        raise RuntimeStartFailed(
            "a private runtime can only be started by root of the machine, and this process is in a user"
            f" namespace (/proc/self/uid_map: {users}); run critests outside it"
        )
    systemd_cgroup = systemd_makes_cgroups(cgroup_driver)
    try:
        daemon = find_daemon(
            KINDS[kind], binary, extra_handlers=extra_handlers or {}, cni_plugins=cni_plugins
        )
        footprint, lock = claim(daemon, run_id, root, extra_settings)
    except (CannotTest, LockHeld, OSError) as error:
        raise RuntimeStartFailed(f"{kind} cannot be started: {error}") from error
    try:
        runtime = _prepare(
            footprint,
            daemon,
            lock,
            pause_image=pause_image,
            registry_addresses=registry_addresses,
            network=network,
            systemd_cgroup=systemd_cgroup,
            log_file=log_file,
            wrapped=wrapped,
            extra_settings=extra_settings,
        )
    except BaseException as error:
        runtime_removal.remove(footprint)
        lock.release()
        if isinstance(error, OSError):
            raise RuntimeStartFailed(f"the files of {kind} cannot be written: {error}") from error
        raise
    _start_or_stop(runtime, network=network, seconds=seconds)
    return runtime


def systemd_makes_cgroups(asked: CgroupDriver) -> bool:
    """Choose between the two cgroup drivers.

    Args:
        asked: unknown for systemd if it is the first process, else cgroupfs.

    Raises:
        RuntimeStartFailed: systemd is requested and does not run.
    """
    if asked is CgroupDriver.UNKNOWN:
        return booted_by_systemd()
    if asked is CgroupDriver.SYSTEMD and not booted_by_systemd():
        raise RuntimeStartFailed("systemd cannot make cgroups here: this machine was not booted by systemd")
    return asked is CgroupDriver.SYSTEMD


def _prepare(
    footprint: Footprint,
    daemon: DaemonChoice,
    lock: FileLock,
    *,
    pause_image: str,
    registry_addresses: Sequence[str],
    network: bool,
    systemd_cgroup: bool,
    log_file: Path | None,
    wrapped: WrappedPrograms,
    extra_settings: Sequence[RuntimeSetting],
) -> ThrowawayRuntime:
    """Write all files that the daemon needs."""
    footprint.root.mkdir(parents=True)
    selinux.label_directories(footprint, daemon.kind.standard_directories)
    for directory in footprint.directories:
        directory.mkdir(parents=True)
    if network:
        (footprint.state / "cni" / CONFLIST_NAME).write_text(conflist(footprint), encoding="utf-8")
    daemon, wrappers = attach(daemon, footprint, wrapped)
    extra_settings = with_certificates(extra_settings, footprint.state)
    log = log_file or footprint.state / "daemon.log"

    def processes_of(configured: DaemonChoice) -> list[DaemonProcess]:
        variables = configured.environment(footprint)
        commands = configured.configure(
            footprint,
            pause_image=pause_image,
            registry_addresses=registry_addresses,
            systemd_cgroup=systemd_cgroup,
            extra_settings=extra_settings,
        )
        return [DaemonProcess(command, variables, log) for command in commands]

    runtime = ThrowawayRuntime(footprint, daemon, processes_of, log, lock)
    runtime.wrappers = wrappers
    runtime.storage = "overlay" if daemon.stores_overlays(footprint, extra_settings) else "copies"
    return runtime


def _start_or_stop(runtime: ThrowawayRuntime, *, network: bool, seconds: float) -> None:
    """Start the daemon; if that fails, remove everything and raise that failure, with a note on leftovers."""
    try:
        runtime.stop_at_exit()
        runtime.start_daemon(network=network, seconds=seconds)
    except (readiness.RuntimeNotReady, OSError) as error:
        failure = RuntimeStartFailed(
            f"{runtime.binary} ({runtime.version_line}) did not start: {error}", log_tail(runtime.log_file)
        )
        try:
            runtime.stop()
        except CleanupIncomplete as left:
            failure.add_note(str(left))
        raise failure from error
    except BaseException:
        runtime.stop()
        raise
