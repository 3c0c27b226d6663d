"""Putting the wrappers between a throwaway runtime's daemon and the programs that it starts."""

import os
from dataclasses import replace
from pathlib import Path

from critests.node.daemons import Daemon
from critests.node.traces import Traces
from critests.node.wrappers.stand_in import CniWrapper, OciWrapper


def attach(
    daemon: Daemon, traces: Traces, *, oci: bool, cni: bool
) -> tuple[Daemon, OciWrapper | None, CniWrapper | None]:
    """Write the wrappers that are wanted into the runtime's own directories, with which they go.

    Returns:
        The daemon with the wrappers in place of the default handler's OCI runtime and of the CNI plugins, and
        the wrappers.

    Raises:
        PermissionError: neither the state directory nor the root directory is on a file system that programs
            run from.
    """
    if not oci and not cni:
        return daemon, None, None
    directory = _executable(traces) / "wrappers"
    default, real = next(iter(daemon.handlers.items()))
    runtime = OciWrapper(directory / "oci", real, state=traces.state) if oci else None
    plugins = CniWrapper(directory / "cni", daemon.cni_plugins, state=traces.state) if cni else None
    wrapped = replace(
        daemon,
        handlers={**daemon.handlers, default: runtime.path if runtime else real},
        cni_plugins=plugins.plugins if plugins else daemon.cni_plugins,
    )
    return wrapped, runtime, plugins


def _executable(traces: Traces) -> Path:
    """Return the state directory, or the root directory where /run is mounted noexec, as some distributions
    do.
    """
    for directory in (traces.state, traces.root):
        if not os.statvfs(directory).f_flag & os.ST_NOEXEC:
            return directory
    raise PermissionError(
        f"no wrapper can be executed: {traces.state} and {traces.root} are both on file systems mounted"
        " noexec"
    )
