"""The messages that the null server answers with, each as plausible as a real one and always the same."""

import hashlib
from collections.abc import Iterable
from typing import Final

from google.protobuf.message import Message

from critests.api import api_pb2 as cri

NAME: Final = "null"
"""The name that Version reports."""
CREATED_AT: Final = 1_700_000_000_000_000_000
"""Nanoseconds; every time of day that an answer holds, as nothing here looks at a clock."""
PLACEHOLDER: Final = "f" * 64
"""Stands where the id of a sandbox or container goes."""
DIGEST: Final = "sha256:" + "0" * 64
_STREAM_CHUNK: Final = 100
"""Entries in one message of a streaming list."""
FIRST_FIELD: Final = 0x0A  # field 1, length-delimited
LONGEST_SHORT: Final = 0x7F  # what a length of one byte can say


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


def repeated(items: Iterable[Message]) -> bytes:
    """Return a message whose field 1 holds the items, as every answer of a list does."""
    parts: list[bytes] = []
    for item in items:
        content = item.SerializeToString()
        parts += [bytes([FIRST_FIELD]), _varint(len(content)), content]
    return b"".join(parts)


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > LONGEST_SHORT:
        digits.append(number & LONGEST_SHORT | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def chunks(items: list[Message]) -> list[bytes]:
    """Return what a streaming list sends."""
    return [repeated(items[start : start + _STREAM_CHUNK]) for start in range(0, len(items), _STREAM_CHUNK)]
