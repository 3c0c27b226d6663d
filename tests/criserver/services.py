"""Every RPC of the small CRI server: its name, and its function.

A function takes the request and returns the response, or an iterator of responses for a streaming RPC. An RPC
that is not in the table returns UNIMPLEMENTED.
"""

import queue
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import grpc
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from tests.criserver.checkpoints import Checkpoints
from tests.criserver.containers import Containers
from tests.criserver.images import Images
from tests.criserver.sandboxes import HANDLERS, Sandboxes, fail_with
from tests.criserver.state import ImageConfig, Store
from tests.criserver.streaming import StreamingServer
from tests.criserver.usage import DESCRIPTORS, RECEIVED, Statistics, container_stats

Answer = Any  # a message, or an iterator of messages for a streaming RPC
Function = Callable[[Any], Answer]

ITEMS_A_MESSAGE = 2
"""How many items one message of a streaming list has: few, so that a short list needs several messages."""


def pieces(items: Iterable[Any], wrap: Callable[[list[Any]], Answer]) -> Iterator[Answer]:
    """Yield the messages of a streaming list; none for an empty list."""
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) == ITEMS_A_MESSAGE:
            yield wrap(batch)
            batch = []
    if batch:
        yield wrap(batch)


class EventStream:
    """The events of one subscriber, from now until it closes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listener: queue.SimpleQueue[cri.ContainerEventResponse | None] = store.listen()

    def __iter__(self) -> Iterator[cri.ContainerEventResponse]:
        return iter(self._listener.get, None)

    def close(self) -> None:
        """End the stream: the client disconnected, or the server stops."""
        self._store.unlisten(self._listener)


class Services:
    """Both services of the CRI over one store."""

    def __init__(self, pullable: dict[str, ImageConfig]) -> None:
        self.store = Store()
        self.sandboxes = Sandboxes(self.store)
        self.containers = Containers(self.store, self.sandboxes)
        self.checkpoints = Checkpoints(self.store, self.sandboxes, self.containers)
        self.images = Images(self.store, pullable)
        self.statistics = Statistics(self.store)
        self.streaming = StreamingServer()
        self.attaches = False
        """Whether the URLs of Attach have a session: without a terminal or an end of input."""

    def close(self) -> None:
        """End every process and stream."""
        self.store.unlisten_all()
        self.streaming.close()
        with self.store.lock:
            containers = list(self.store.containers.values())
        for container in containers:
            container.process.stop(9, 0)

    def functions(self) -> dict[str, Function]:
        """Return the function of every implemented RPC, by its name."""
        stats, boxes, cons, images = self.statistics, self.sandboxes, self.containers, self.images
        return {
            "Version": lambda _request: cri.VersionResponse(
                version="0.1.0",
                runtime_name="criserver",
                runtime_version="1.0.0",
                runtime_api_version="v1",
            ),
            "Status": self._status,
            "RuntimeConfig": lambda _request: cri.RuntimeConfigResponse(
                linux=cri.LinuxRuntimeConfiguration(cgroup_driver=cri.CGROUPFS)
            ),
            "UpdateRuntimeConfig": lambda _request: cri.UpdateRuntimeConfigResponse(),
            "RunPodSandbox": boxes.run,
            "StopPodSandbox": _done(
                lambda request: boxes.stop(request.pod_sandbox_id), cri.StopPodSandboxResponse
            ),
            "RemovePodSandbox": _done(
                lambda request: boxes.remove(request.pod_sandbox_id), cri.RemovePodSandboxResponse
            ),
            "PodSandboxStatus": boxes.status,
            "ListPodSandbox": lambda request: cri.ListPodSandboxResponse(
                items=boxes.matching(request.filter)
            ),
            "StreamPodSandboxes": lambda request: pieces(
                boxes.matching(request.filter),
                lambda batch: cri.StreamPodSandboxesResponse(pod_sandboxes=batch),
            ),
            "UpdatePodSandboxResources": _done(
                lambda request: boxes.get(request.pod_sandbox_id), cri.UpdatePodSandboxResourcesResponse
            ),
            "CreateContainer": self.checkpoints.create,
            "StartContainer": _done(
                lambda request: cons.start(request.container_id), cri.StartContainerResponse
            ),
            "StopContainer": _done(cons.stop, cri.StopContainerResponse),
            "RemoveContainer": _done(
                lambda request: cons.remove(request.container_id), cri.RemoveContainerResponse
            ),
            "ContainerStatus": cons.status,
            "ListContainers": lambda request: cri.ListContainersResponse(
                containers=cons.matching(request.filter)
            ),
            "StreamContainers": lambda request: pieces(
                cons.matching(request.filter), lambda batch: cri.StreamContainersResponse(containers=batch)
            ),
            "UpdateContainerResources": _done(cons.update, cri.UpdateContainerResourcesResponse),
            "ReopenContainerLog": _done(
                lambda request: cons.reopen_log(request.container_id), cri.ReopenContainerLogResponse
            ),
            "ExecSync": cons.exec_sync,
            "CheckpointContainer": _done(self.checkpoints.container, cri.CheckpointContainerResponse),
            "CheckpointPod": _done(self.checkpoints.pod, cri.CheckpointPodResponse),
            "RestorePod": self.checkpoints.restore,
            "Exec": self._exec,
            "Attach": self._attach,
            "PortForward": self._port_forward,
            "ContainerStats": lambda request: cri.ContainerStatsResponse(
                stats=container_stats(cons.running(request.container_id))
            ),
            "ListContainerStats": lambda request: cri.ListContainerStatsResponse(
                stats=stats.containers(request.filter)
            ),
            "StreamContainerStats": lambda request: pieces(
                stats.containers(request.filter),
                lambda batch: cri.StreamContainerStatsResponse(container_stats=batch),
            ),
            "PodSandboxStats": lambda request: cri.PodSandboxStatsResponse(
                stats=stats.sandbox(boxes.get(request.pod_sandbox_id))
            ),
            "ListPodSandboxStats": lambda request: cri.ListPodSandboxStatsResponse(
                stats=stats.sandboxes(request.filter)
            ),
            "StreamPodSandboxStats": lambda request: pieces(
                stats.sandboxes(request.filter),
                lambda batch: cri.StreamPodSandboxStatsResponse(pod_sandbox_stats=batch),
            ),
            "ListMetricDescriptors": lambda _request: cri.ListMetricDescriptorsResponse(
                descriptors=[*DESCRIPTORS, RECEIVED]
            ),
            "ListPodSandboxMetrics": lambda _request: cri.ListPodSandboxMetricsResponse(
                pod_metrics=stats.metrics()
            ),
            "StreamPodSandboxMetrics": lambda _request: pieces(
                stats.metrics(), lambda batch: cri.StreamPodSandboxMetricsResponse(pod_sandbox_metrics=batch)
            ),
            "GetContainerEvents": lambda _request: EventStream(self.store),
            "ListImages": lambda request: cri.ListImagesResponse(images=images.matching(request.filter)),
            "StreamImages": lambda request: pieces(
                images.matching(request.filter), lambda batch: cri.StreamImagesResponse(images=batch)
            ),
            "ImageStatus": images.status,
            "PullImage": images.pull,
            "RemoveImage": _done(images.remove, cri.RemoveImageResponse),
            "ImageFsInfo": lambda _request: images.filesystems(),
        }

    @staticmethod
    def _status(request: cri.StatusRequest) -> cri.StatusResponse:
        conditions = [
            cri.RuntimeCondition(type="RuntimeReady", status=True),
            cri.RuntimeCondition(type="NetworkReady", status=True),
            # runtimes may add conditions that are false for good
            cri.RuntimeCondition(type="NoDeprecatedSettings", status=False),
        ]
        handlers = [cri.RuntimeHandler(name=name, features=cri.RuntimeHandlerFeatures()) for name in HANDLERS]
        info = {"config": "{}"} if request.verbose else {}
        return cri.StatusResponse(
            status=cri.RuntimeStatus(conditions=conditions),
            info=info,
            runtime_handlers=handlers,
            features=cri.RuntimeFeatures(),
        )

    def _exec(self, request: cri.ExecRequest) -> cri.ExecResponse:
        container = self.containers.running(request.container_id)
        if not request.cmd:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "there is no command")
        if request.tty and request.stderr:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "a terminal has no stderr of its own")
        if not (request.stdin or request.stdout or request.stderr):
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "one of stdin, stdout and stderr is needed")
        return cri.ExecResponse(url=self.streaming.offer_exec(request, container.process.environment))

    def _attach(self, request: cri.AttachRequest) -> cri.AttachResponse:
        container = self.containers.running(request.container_id)
        if not self.attaches:
            return cri.AttachResponse(url=self.streaming.offer_nothing("attach"))
        return cri.AttachResponse(url=self.streaming.offer_attach(request, container.process))

    def _port_forward(self, request: cri.PortForwardRequest) -> cri.PortForwardResponse:
        self.sandboxes.get(request.pod_sandbox_id)
        return cri.PortForwardResponse(url=self.streaming.offer_port_forward())


def _done(act: Callable[[Any], object], answer: type[Message]) -> Function:
    """Return a function that acts and then returns an empty message."""

    def function(request: Message) -> Answer:
        act(request)
        return answer()

    return function
