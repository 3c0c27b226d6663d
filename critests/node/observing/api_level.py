"""The API level that a runtime is proven to support, from the newest part of the API that it implements."""

from collections.abc import Callable
from dataclasses import dataclass

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.client.failures import CallNotAllowed
from critests.node.observing.capabilities import NO_SUCH_ID

FIRST_MINOR = 20
"""CRI v1 itself."""
PROVING = (
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNKNOWN,
)
"""Codes of a method that exists and rejects the request."""


@dataclass(frozen=True)
class ProvenLevel:
    """The newest Kubernetes minor whose API the runtime is proven to support.

    A runtime that was built with the API of 1.34 has every field of 1.34, so one part of it proves them all.
    A missing part proves nothing, because it may be left out on purpose.

    Attributes:
        minor: 34 for 1.34.
        evidence: how it was proven.
    """

    minor: int
    evidence: str

    def __str__(self) -> str:
        return f"1.{self.minor}"


KNOWS_CRI_V1 = ProvenLevel(FIRST_MINOR, "it answers Version of runtime.v1")


def prove(connection: Connection, after_call: Callable[[], None] = lambda: None) -> ProvenLevel:
    """Find the newest part of the API that the runtime implements. Nothing is created or changed.

    Args:
        connection: to the runtime.
        after_call: called after each RPC, to check whether the daemon is alive.
    """
    runtime = connection.runtime
    levels = [KNOWS_CRI_V1]

    def try_rpc(minor: int, name: str, call: object) -> None:
        try:
            call()  # type: ignore[operator]  # a lambda per RPC; their types have nothing in common
        except CallNotAllowed:
            return
        except grpc.RpcError as error:
            # only an error of the method itself proves that it exists
            if error.code() not in PROVING:
                return
        finally:
            after_call()
        levels.append(ProvenLevel(minor, f"{name} is implemented"))

    try_rpc(
        23,
        "PodSandboxStats",
        lambda: runtime.PodSandboxStats(cri.PodSandboxStatsRequest(pod_sandbox_id=NO_SUCH_ID)),
    )
    try_rpc(
        26, "ListMetricDescriptors", lambda: runtime.ListMetricDescriptors(cri.ListMetricDescriptorsRequest())
    )
    try_rpc(28, "RuntimeConfig", lambda: runtime.RuntimeConfig(cri.RuntimeConfigRequest()))
    try_rpc(
        33,
        "UpdatePodSandboxResources",
        lambda: runtime.UpdatePodSandboxResources(
            cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=NO_SUCH_ID)
        ),
    )
    try_rpc(
        36,
        "StreamPodSandboxes",
        lambda: next(iter(runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest(), timeout=5.0)), None),
    )
    try:
        status = runtime.Status(cri.StatusRequest())
    except grpc.RpcError:
        return max(levels, key=lambda level: level.minor)
    if status.runtime_handlers:
        levels.append(ProvenLevel(30, "Status lists runtime handlers"))
    if status.features.supplemental_groups_policy:
        levels.append(ProvenLevel(31, "Status has supplemental_groups_policy"))
    if status.features.user_namespaces_host_network:
        levels.append(ProvenLevel(36, "Status has user_namespaces_host_network"))
    if status.features.mount_options:
        levels.append(ProvenLevel(37, "Status has mount_options"))
    return max(levels, key=lambda level: level.minor)
