"""Installs wrappers between a private runtime's daemon and the programs that it starts."""

import os
from dataclasses import replace
from pathlib import Path

from critests.exit_codes import CannotTest
from critests.node.run_state.footprint import Footprint
from critests.node.starting.daemon_choice import DaemonChoice
from critests.node.wrappers.stand_in import CniWrapper, MonitorWrapper, OciWrapper


class WrapperUnsupported(CannotTest):
    """There is no OCI runtime to wrap."""


def attach(
    daemon: DaemonChoice,
    footprint: Footprint,
    *,
    oci: bool,
    cni: bool,
    monitor: bool = False,
    handler: str = "",
) -> tuple[DaemonChoice, OciWrapper | None, CniWrapper | None, MonitorWrapper | None]:
    """Write the requested wrappers into the runtime's own directories.

    Args:
        daemon: whose programs are wrapped.
        footprint: of the runtime.
        oci: whether to wrap the OCI runtime of a handler.
        cni: whether to wrap the CNI plugins.
        monitor: whether to wrap the program of the monitors, if the kind has one.
        handler: by its name; empty for the default one.

    Returns:
        The daemon with the wrappers instead of the programs, and the wrappers.

    Raises:
        WrapperUnsupported: the handler has no OCI runtime to wrap.
        PermissionError: the file systems of the state directory and of the root directory do not allow
            execution.
    """
    if not oci and not cni and not monitor:
        return daemon, None, None, None
    directory = _executable(footprint) / "wrappers"
    name = handler if handler in daemon.handlers else next(iter(daemon.handlers))
    real = daemon.handlers[name]
    if oci and name in daemon.shims:
        raise WrapperUnsupported(
            f"the handler {name} has its own shim, {real}, and no OCI runtime that could be wrapped"
        )
    runtime = OciWrapper(directory / "oci", real, state=footprint.state) if oci else None
    plugins = CniWrapper(directory / "cni", daemon.cni_plugins, state=footprint.state) if cni else None
    shim = None
    if monitor and daemon.monitor:
        shim = MonitorWrapper(directory / "monitor", daemon.helpers[daemon.monitor], state=footprint.state)
    wrapped = replace(
        daemon,
        handlers={**daemon.handlers, name: runtime.path if runtime else real},
        cni_plugins=plugins.plugins if plugins else daemon.cni_plugins,
        helpers={**daemon.helpers, daemon.monitor: shim.path} if shim else daemon.helpers,
        # containerd's configuration does not name its shim
        first_on_path=shim.path.parent if shim else None,
    )
    return wrapped, runtime, plugins, shim


def _executable(footprint: Footprint) -> Path:
    """Return the state directory, or the root directory if /run is mounted noexec, as in some
    distributions.
    """
    for directory in (footprint.state, footprint.root):
        if not os.statvfs(directory).f_flag & os.ST_NOEXEC:
            return directory
    raise PermissionError(
        f"no wrapper can be executed: {footprint.state} and {footprint.root} are both on file systems mounted"
        " noexec"
    )
