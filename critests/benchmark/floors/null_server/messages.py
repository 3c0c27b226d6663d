"""The messages that the null server answers with, each as plausible as a real one and always the same."""

import hashlib
from typing import Final

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.benchmark.floors.null_server.wire import PLACEHOLDER

NAME: Final = "null"
"""The name that Version reports."""
CREATED_AT: Final = 1_700_000_000_000_000_000
"""Nanoseconds; every time of day that an answer holds, as nothing here looks at a clock."""
DIGEST: Final = "sha256:" + "0" * 64


def sandbox_status(state: "cri.PodSandboxState") -> cri.PodSandboxStatus:
    """Return the status of a sandbox, with a placeholder for its id."""
    return cri.PodSandboxStatus(
        id=PLACEHOLDER,
        metadata=cri.PodSandboxMetadata(name=NAME, uid=NAME, namespace=NAME),
        state=state,
        created_at=CREATED_AT,
        network=cri.PodSandboxNetworkStatus(ip="192.0.2.1"),
        linux=cri.LinuxPodSandboxStatus(
            namespaces=cri.Namespace(options=cri.NamespaceOption(pid=cri.CONTAINER))
        ),
    )


def container_status(state: "cri.ContainerState") -> cri.ContainerStatus:
    """Return the status of a container, with a placeholder for its id."""
    status = cri.ContainerStatus(
        id=PLACEHOLDER,
        metadata=cri.ContainerMetadata(name=NAME),
        state=state,
        created_at=CREATED_AT,
        image=cri.ImageSpec(image="example.test/null:1"),
        image_ref=DIGEST,
        log_path="/var/log/pods/null.log",
    )
    if state != cri.CONTAINER_CREATED:
        status.started_at = CREATED_AT + 1
    if state == cri.CONTAINER_EXITED:
        status.finished_at = CREATED_AT + 2
        status.reason = "Completed"
    return status


def filesystem() -> cri.FilesystemUsage:
    """Return the usage of a file system."""
    number = cri.UInt64Value(value=1_000_000)
    return cri.FilesystemUsage(
        timestamp=CREATED_AT,
        fs_id=cri.FilesystemIdentifier(mountpoint="/var/lib/null"),
        used_bytes=number,
        inodes_used=number,
    )


def _cpu_and_memory() -> tuple[cri.CpuUsage, cri.MemoryUsage]:
    number = cri.UInt64Value(value=1_000_000)
    cpu = cri.CpuUsage(timestamp=CREATED_AT, usage_core_nano_seconds=number, usage_nano_cores=number)
    return cpu, cri.MemoryUsage(
        timestamp=CREATED_AT, working_set_bytes=number, usage_bytes=number, rss_bytes=number
    )


def container_stats(identity: str) -> cri.ContainerStats:
    """Return what a container uses."""
    cpu, memory = _cpu_and_memory()
    attributes = cri.ContainerAttributes(id=identity, metadata=cri.ContainerMetadata(name=NAME))
    return cri.ContainerStats(attributes=attributes, cpu=cpu, memory=memory, writable_layer=filesystem())


def pod_stats(identity: str) -> cri.PodSandboxStats:
    """Return what a sandbox uses."""
    cpu, memory = _cpu_and_memory()
    metadata = cri.PodSandboxMetadata(name=NAME, uid=NAME, namespace=NAME)
    return cri.PodSandboxStats(
        attributes=cri.PodSandboxAttributes(id=identity, metadata=metadata),
        linux=cri.LinuxPodSandboxStats(cpu=cpu, memory=memory),
    )


def pod_metrics(identity: str) -> cri.PodSandboxMetrics:
    """Return the metrics of a sandbox."""
    value = cri.UInt64Value(value=1)
    return cri.PodSandboxMetrics(
        pod_sandbox_id=identity, metrics=[cri.Metric(name="held", timestamp=CREATED_AT, value=value)]
    )


def event(kind: "cri.ContainerEventType") -> cri.ContainerEventResponse:
    """Return an event, with a placeholder for the id of its container."""
    return cri.ContainerEventResponse(
        container_id=PLACEHOLDER, container_event_type=kind, created_at=CREATED_AT
    )


def image(name: str) -> cri.Image:
    """Return an image of that name, with an id of its own."""
    identity, repository = (
        f"sha256:{hashlib.sha256(name.encode()).hexdigest()}",
        name.rpartition(":")[0] or name,
    )
    return cri.Image(
        id=identity,
        repo_tags=[name],
        repo_digests=[f"{repository}@{identity}"],
        size=1_000_000,
        spec=cri.ImageSpec(image=name),
    )


def fixed(exec_bytes: int) -> dict[str, Message]:
    """Return the answers that no request changes, by RPC; ExecSync's has so many bytes on standard output."""
    conditions = [cri.RuntimeCondition(type=name, status=True) for name in ("RuntimeReady", "NetworkReady")]
    url = "http://127.0.0.1:1/{}/token"
    return {
        "Version": cri.VersionResponse(
            version="0.1.0", runtime_name=NAME, runtime_version="1.0.0", runtime_api_version="v1"
        ),
        "Status": cri.StatusResponse(
            status=cri.RuntimeStatus(conditions=conditions),
            runtime_handlers=[cri.RuntimeHandler(name="")],
        ),
        "RuntimeConfig": cri.RuntimeConfigResponse(
            linux=cri.LinuxRuntimeConfiguration(cgroup_driver=cri.CGROUPFS)
        ),
        "UpdateRuntimeConfig": cri.UpdateRuntimeConfigResponse(),
        "ExecSync": cri.ExecSyncResponse(stdout=b"x" * exec_bytes),
        "Exec": cri.ExecResponse(url=url.format("exec")),
        "Attach": cri.AttachResponse(url=url.format("attach")),
        "PortForward": cri.PortForwardResponse(url=url.format("portforward")),
        "UpdatePodSandboxResources": cri.UpdatePodSandboxResourcesResponse(),
        "UpdateContainerResources": cri.UpdateContainerResourcesResponse(),
        "ReopenContainerLog": cri.ReopenContainerLogResponse(),
        "CheckpointContainer": cri.CheckpointContainerResponse(),
        "CheckpointPod": cri.CheckpointPodResponse(),
        "ListMetricDescriptors": cri.ListMetricDescriptorsResponse(
            descriptors=[cri.MetricDescriptor(name="held")]
        ),
        "ImageFsInfo": cri.ImageFsInfoResponse(image_filesystems=[filesystem()]),
    }
