"""The faults below the runtime, in its OCI runtime and its CNI plugins."""

import functools
from collections.abc import Sequence
from pathlib import Path

from critests_proof.derived import DerivedFault, Reach, derived_faults
from critests_proof.language.faults import BelowFault, NetworkFault, OciFault, is_of_the_network
from critests_proof.matrix import MatrixEntry, load

OCI_FAULTS = Path(__file__).with_name("oci.faults.toml")
"""Derived from the specification of OCI runtimes, field by field."""
COMMAND_FAULTS = Path(__file__).with_name("commands.faults.toml")
"""Faults in commands of the OCI runtime and in CNI plugins."""
_ACTS_IN = {
    "create": Reach("CreateContainer", "response"),
    "start": Reach("StartContainer", "response"),
    "exec": Reach("ExecSync", "response"),
    "kill": Reach("StopContainer", "response"),
    "delete": Reach("RemoveContainer", "response"),
    "update": Reach("UpdateContainerResources", "response"),
    "pause": Reach("CheckpointPod", "response"),
    "DEL": Reach("StopPodSandbox", "response"),
}
"""Command to the RPC that executes it; missing commands belong to checkpoints."""
_REPORTED_IN = {
    "keep-first": Reach("PodSandboxStatus", "response", "status.network.additional_ips"),
    "set": Reach("PodSandboxStatus", "response", "status.network.ip"),
}
"""Action on the address in a CNI result to the field that reports it: a test may read the address of a shared
pod.
"""


@functools.cache
def faults_below() -> tuple[DerivedFault, ...]:
    """Return the faults in documents and commands of the OCI runtime and in CNI plugins, from their files."""
    return tuple(_derived(entry) for file in (OCI_FAULTS, COMMAND_FAULTS) for entry in load(file).entries)


def all_faults() -> tuple[DerivedFault, ...]:
    """Return all faults: those of the API, then those below the runtime."""
    return (*derived_faults(), *faults_below())


def _derived(entry: MatrixEntry) -> DerivedFault:
    faults = [fault for fault in entry.faults if isinstance(fault, BelowFault)]
    return DerivedFault(
        entry.id,
        _kind(faults[0]),
        "\n".join(fault.text for fault in entry.faults),
        f"breaks this: {entry.promise}",
        _reach(faults),
        entry.breaks,
    )


def _kind(fault: BelowFault) -> str:
    if is_of_the_network(fault):
        return "network"
    return "bundle" if isinstance(fault, OciFault) else "command"


def _reach(faults: Sequence[BelowFault]) -> Reach:
    documents = [fault for fault in faults if isinstance(fault, OciFault)]
    if documents:
        return Reach(_read_at(documents), "response")
    fault = faults[0]
    if isinstance(fault, NetworkFault):
        if not fault.in_result:
            return Reach("RunPodSandbox", "request", "config.port_mappings")
        return _REPORTED_IN.get(fault.change.action, Reach("RunPodSandbox", "response"))
    return _ACTS_IN.get(fault.operation.rpartition("/")[2], Reach("CheckpointContainer", "response"))


def _read_at(faults: Sequence[OciFault]) -> str:
    """Return the RPC in which the OCI runtime reads the changed document."""
    if any(fault.change.of == "sandbox" for fault in faults):
        return "RunPodSandbox"
    operations = {fault.operation for fault in faults}
    for operation in ("exec", "update"):
        if operations == {operation}:
            return _ACTS_IN[operation].rpc
    return "StartContainer"
