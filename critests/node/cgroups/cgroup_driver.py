"""Which cgroup driver the runtime uses, as far as it says so."""

import json

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.lifecycle.cgroup_parents import CgroupDriver

_DRIVERS = {cri.CGROUPFS: CgroupDriver.CGROUPFS, cri.SYSTEMD: CgroupDriver.SYSTEMD}


def cgroup_driver(connection: Connection) -> CgroupDriver:
    """Return the driver from RuntimeConfig; of a runtime that does not have it, from the verbose status,
    where its configuration stands.
    """
    try:
        answer = connection.runtime.RuntimeConfig(cri.RuntimeConfigRequest())
    except grpc.RpcError:
        return _from_status(connection)
    return _DRIVERS.get(answer.linux.cgroup_driver, CgroupDriver.UNKNOWN)


def _from_status(connection: Connection) -> CgroupDriver:
    try:
        info = connection.runtime.Status(cri.StatusRequest(verbose=True)).info
    except grpc.RpcError:
        return CgroupDriver.UNKNOWN
    for text in info.values():
        try:
            found = _systemd_cgroup(json.loads(text))
        except ValueError:
            continue
        if found is not None:
            return CgroupDriver.SYSTEMD if found else CgroupDriver.CGROUPFS
    return CgroupDriver.UNKNOWN


def _systemd_cgroup(value: object) -> bool | None:
    """Look for the switch anywhere in a configuration; the default runtime's stands first, and an absent one
    means off.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.replace("_", "").lower() == "systemdcgroup" and inner is True:
                return True
        found = [_systemd_cgroup(inner) for inner in value.values()]
        if True in found:
            return True
        if False in found or "containerd" in value:
            return False
    return None
