"""The components of a runtime, as far as they are known: a comparison of two runtimes must show whether their
components differ.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.node.host.binaries import MissingProgram, version_text
from critests.record.identity import OCI_RUNTIME
from critests.runtimes import shims

if TYPE_CHECKING:  # only the controller starts a private runtime
    from critests.node.starting.throwaway import ThrowawayRuntime

CNI_PLUGINS: Final = "CNI plugins"
STORAGE: Final = "storage"
CGROUP_DRIVER: Final = "cgroup driver"
SANDBOX_IMAGE: Final = "sandbox image"
NODE_SETTINGS: Final = "node settings"
_CNI_PLUGIN: Final = "bridge"


def parts_of_throwaway(
    runtime: "ThrowawayRuntime", handler: str, settings: Sequence[str] = ()
) -> dict[str, str]:
    """Return the components of a private runtime.

    Args:
        runtime: the runtime.
        handler: the handler under test; empty for the default.
        settings: names of its node settings.
    """
    program, plugins = runtime.oci_program(handler), runtime.cni_plugins
    return {
        OCI_RUNTIME: _below(program) if program else "",
        CNI_PLUGINS: f"{_version(plugins / _CNI_PLUGIN)} in {plugins}",
        STORAGE: runtime.storage,
        SANDBOX_IMAGE: "critests' own",
        NODE_SETTINGS: ", ".join(settings) or "default",
    }


def driver_part(driver: CgroupDriver) -> dict[str, str]:
    """Return the cgroup driver, if the runtime reports it."""
    return {} if driver is CgroupDriver.UNKNOWN else {CGROUP_DRIVER: driver.name.lower()}


def storage_part(connection: Connection) -> dict[str, str]:
    """Return how images are stored, from the directory that ImageFsInfo reports: containerd's snapshotter or
    CRI-O's storage driver.
    """
    try:
        answer = connection.images.ImageFsInfo(cri.ImageFsInfoRequest())
    except grpc.RpcError:
        return {}
    folders = [Path(each.fs_id.mountpoint).name for each in answer.image_filesystems]
    name = folders[0].removesuffix("-images").rpartition(".")[2] if folders else ""
    return {STORAGE: {"overlayfs": "overlay"}.get(name, name)} if name else {}


def _below(program: Path) -> str:
    if shims.runtime_type(program):  # a shim may bring its own OCI runtime, and reports its own version
        return f"the shim {program.name}"
    return _version(program).replace(" version ", " ")


def _version(program: Path) -> str:
    try:
        return version_text(program)
    except MissingProgram:
        return f"{program.name} of unknown version"
