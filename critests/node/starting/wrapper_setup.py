"""Installs wrappers between a private runtime's daemon and the programs that it starts."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from critests.exit_codes import CannotTest
from critests.node.run_state.footprint import Footprint
from critests.node.starting.daemon_choice import DaemonChoice
from critests.node.wrappers.stand_in import CniWrapper, MonitorWrapper, OciWrapper
from critests.node.wrappers.wrapped_programs import WrappedPrograms


class WrapperUnsupported(CannotTest):
    """There is no OCI runtime to wrap."""


@dataclass(frozen=True)
class Wrappers:
    """The wrappers of a runtime; None for each program without one."""

    oci: OciWrapper | None = None
    cni: CniWrapper | None = None
    monitor: MonitorWrapper | None = None


def attach(
    daemon: DaemonChoice, footprint: Footprint, wrapped: WrappedPrograms
) -> tuple[DaemonChoice, Wrappers]:
    """Write the requested wrappers into the runtime's own directories.

    Args:
        daemon: whose programs are wrapped.
        footprint: of the runtime.
        wrapped: which programs.

    Returns:
        The daemon with the wrappers instead of the programs, and the wrappers.

    Raises:
        WrapperUnsupported: the handler has no OCI runtime to wrap.
        PermissionError: the file systems of the state directory and of the root directory do not allow
            execution.
    """
    if not (wrapped.oci or wrapped.cni or wrapped.monitor):
        return daemon, Wrappers()
    directory = _executable(footprint) / "wrappers"
    name = wrapped.handler if wrapped.handler in daemon.handlers else next(iter(daemon.handlers))
    real = daemon.handlers[name]
    if wrapped.oci and name in daemon.shims:
        raise WrapperUnsupported(
            f"the handler {name} has its own shim, {real}, and no OCI runtime that could be wrapped"
        )
    oci = cni = monitor = None
    if wrapped.oci:
        oci = OciWrapper(directory / "oci", real, state=footprint.state)
        daemon = replace(daemon, handlers={**daemon.handlers, name: oci.path})
    if wrapped.cni:
        cni = CniWrapper(directory / "cni", daemon.cni_plugins, state=footprint.state)
        daemon = replace(daemon, cni_plugins=cni.plugins)
    if wrapped.monitor and daemon.monitor:
        monitor = MonitorWrapper(directory / "monitor", daemon.helpers[daemon.monitor], state=footprint.state)
        helpers = {**daemon.helpers, daemon.monitor: monitor.path}
        # containerd's configuration does not name its shim
        daemon = replace(daemon, helpers=helpers, first_on_path=monitor.path.parent)
    return daemon, Wrappers(oci, cni, monitor)


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
