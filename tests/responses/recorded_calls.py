"""A client whose calls a judge follows, for tests."""

from itertools import count
from typing import Any

from critests.api import api_pb2 as cri
from critests.responses.response_judge import ResponseJudge
from critests.responses.rules import Response

NOW = 1_800_000_000
"""Seconds since the epoch."""
NS = 10**9
META = cri.ContainerMetadata(name="c", attempt=1)
POD = cri.PodSandboxMetadata(name="p", uid="u", namespace="n")
CREATED, RUNNING, EXITED = cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED
Fields = Any
Message = Any


class Client:
    """Makes calls, one second each, and collects the violations."""

    def __init__(self) -> None:
        self.judge = ResponseJudge()
        self.clock = count(NOW)

    def call(self, rpc: str, request: Message, message: Message, started: float | None = None) -> None:
        begin = next(self.clock) if started is None else started
        self.judge.succeeded(Response(rpc, "unix:///a", request, message, begin, begin + 1))

    def violations(self) -> set[str]:
        return {f"{each.aspect} {each.field}" for each in self.judge.take()}

    def created(self, **config: Fields) -> None:
        self.call(
            "CreateContainer",
            cri.CreateContainerRequest(
                pod_sandbox_id="s1",
                config=cri.ContainerConfig(
                    metadata=META,
                    labels={"l": "1"},
                    annotations={"a": "1"},
                    log_path="c/0.log",
                    stop_signal=cri.SIGNAL_SIGUSR1,
                    image=cri.ImageSpec(image="i"),
                    mounts=[cri.Mount(container_path="/m", host_path="/h", readonly=True)],
                    **config,
                ),
            ),
            cri.CreateContainerResponse(container_id="c1"),
        )

    def status(self, started: float | None = None, **fields: Fields) -> None:
        values: dict[str, Any] = {
            "id": "c1",
            "metadata": META,
            "created_at": NOW * NS,
            "image": cri.ImageSpec(image="i"),
            "image_ref": "i",
            "labels": {"l": "1"},
            "annotations": {"a": "1"},
            "log_path": "/logs/c/0.log",
            "mounts": [cri.Mount(container_path="/m", host_path="/h", readonly=True)],
            "reason": "Completed" if fields.get("state") == EXITED else "",
        }
        status = cri.ContainerStatus(**{**values, **fields})
        request = cri.ContainerStatusRequest(container_id="c1")
        self.call("ContainerStatus", request, cri.ContainerStatusResponse(status=status), started)

    def listed(self, **fields: Fields) -> None:
        values: dict[str, Any] = {
            "id": "c1",
            "pod_sandbox_id": "s1",
            "metadata": META,
            "created_at": NOW * NS,
            "image_ref": "i",
            "labels": {"l": "1", "added": "by the runtime"},
            "annotations": {"a": "1"},
        }
        entry = cri.Container(**{**values, **fields})
        self.call(
            "ListContainers", cri.ListContainersRequest(), cri.ListContainersResponse(containers=[entry])
        )

    def run_sandbox(self, **options: Fields) -> None:
        context = cri.LinuxSandboxSecurityContext(namespace_options=cri.NamespaceOption(**options))
        config = cri.PodSandboxConfig(
            metadata=POD,
            labels={"l": "1"},
            annotations={"a": "1"},
            linux=cri.LinuxPodSandboxConfig(security_context=context),
        )
        self.call(
            "RunPodSandbox",
            cri.RunPodSandboxRequest(config=config, runtime_handler="h"),
            cri.RunPodSandboxResponse(pod_sandbox_id="s1"),
        )

    def sandbox(self, ip: str = "10.0.0.2", **fields: Fields) -> None:
        options = fields.pop("options", {})
        values: dict[str, Any] = {
            "id": "s1",
            "metadata": POD,
            "created_at": NOW * NS,
            "labels": {"l": "1"},
            "annotations": {"a": "1"},
            "network": cri.PodSandboxNetworkStatus(ip=ip),
            "runtime_handler": "h",
            "linux": cri.LinuxPodSandboxStatus(
                namespaces=cri.Namespace(options=cri.NamespaceOption(**options))
            ),
        }
        status = cri.PodSandboxStatus(**{**values, **fields})
        request = cri.PodSandboxStatusRequest(pod_sandbox_id="s1")
        self.call("PodSandboxStatus", request, cri.PodSandboxStatusResponse(status=status))

    def changed(self, rpc: str) -> None:
        """Make a call that starts, stops or removes the container or the sandbox, as its name says."""
        request = getattr(cri, f"{rpc}Request")()
        field = "pod_sandbox_id" if rpc.endswith("PodSandbox") else "container_id"
        setattr(request, field, "s1" if rpc.endswith("PodSandbox") else "c1")
        self.call(rpc, request, getattr(cri, f"{rpc}Response")())

    def stats(self, cpu: int = 0, faults: int = 0, memory: int = 0, at: int = NOW) -> None:
        reported = cri.ContainerStats(
            attributes=cri.ContainerAttributes(
                id="c1", metadata=META, labels={"l": "1"}, annotations={"a": "1"}
            ),
            cpu=cri.CpuUsage(timestamp=at * NS, usage_core_nano_seconds=cri.UInt64Value(value=cpu)),
            memory=cri.MemoryUsage(
                timestamp=at * NS,
                usage_bytes=cri.UInt64Value(value=memory),
                page_faults=cri.UInt64Value(value=faults),
            ),
        )
        request = cri.ContainerStatsRequest(container_id="c1")
        self.call("ContainerStats", request, cri.ContainerStatsResponse(stats=reported))
