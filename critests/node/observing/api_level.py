"""The API level that a runtime is proven to support: that of its release, or of the newest part of the API
that it implements.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.client.failures import CallNotAllowed
from critests.node.observing.capabilities import NO_SUCH_ID
from critests.runtimes.known_runtimes import built_with

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


def prove(
    connection: Connection, version: cri.VersionResponse, after_call: Callable[[], None] = lambda: None
) -> ProvenLevel:
    """Find the API that the runtime's release is built with, and the newest part of the API that it
    implements; return the newer one. Nothing is created or changed.

    Args:
        connection: to the runtime.
        version: what it reported.
        after_call: called after each RPC, to check whether the daemon is alive.
    """
    runtime = connection.runtime
    levels = [_of_release(version)]

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
    with contextlib.suppress(grpc.RpcError):
        levels += _of_status(runtime.Status(cri.StatusRequest()))
    return max(levels, key=lambda level: level.minor)


def _of_release(version: cri.VersionResponse) -> ProvenLevel:
    known = built_with(version.runtime_name, version.runtime_version)
    return ProvenLevel(known.minor, known.evidence) if known else KNOWS_CRI_V1


def _of_status(status: cri.StatusResponse) -> Iterator[ProvenLevel]:
    if status.runtime_handlers:
        yield ProvenLevel(30, "Status lists runtime handlers")
    if status.features.supplemental_groups_policy:
        yield ProvenLevel(31, "Status has supplemental_groups_policy")
    if status.features.user_namespaces_host_network:
        yield ProvenLevel(36, "Status has user_namespaces_host_network")
    if status.features.mount_options:
        yield ProvenLevel(37, "Status has mount_options")
