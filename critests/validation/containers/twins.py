"""The lists that come in one message and their twins that come as a stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.fixtures.runtime import Runtime


@dataclass(frozen=True)
class Twin:
    """A list and its stream.

    Attributes:
        stream: the RPC that streams.
        unary: the RPC that answers with one message.
        pieces: the field of the stream's messages that holds the items.
        items: the field of the other's answer.
        id_of: returns the id of an item.
        filter: the message that selects; None where everything comes.
        of_images: whether it belongs to the image service.
    """

    stream: str
    unary: str
    pieces: str
    items: str
    id_of: Callable[[Any], str]
    filter: type[Message] | None = None
    of_images: bool = False

    def messages(self, runtime: Runtime, **wanted: Any) -> Any:  # noqa: ANN401 - a filter's own fields
        """Open the stream and return its messages as they come, of what a filter with these fields leaves."""
        return self._call(runtime, self.stream)(self._request(self.stream, wanted))

    def pieces_of(self, runtime: Runtime, **wanted: Any) -> list[list[Any]]:  # noqa: ANN401 - as above
        """Return the items of each message of the whole stream."""
        return [list(getattr(message, self.pieces)) for message in self.messages(runtime, **wanted)]

    def streamed(self, runtime: Runtime, **wanted: Any) -> list[Any]:  # noqa: ANN401 - as above
        """Return all items of the stream, in their order."""
        return [item for piece in self.pieces_of(runtime, **wanted) for item in piece]

    def listed(self, runtime: Runtime, **wanted: Any) -> list[Any]:  # noqa: ANN401 - as above
        """Return all items of the list."""
        return list(getattr(self._call(runtime, self.unary)(self._request(self.unary, wanted)), self.items))

    def ids(self, items: list[Any]) -> list[str]:
        """Return the ids of items, in their order."""
        return [self.id_of(item) for item in items]

    def _call(self, runtime: Runtime, rpc: str) -> Callable[..., Any]:
        call: Callable[..., Any] = getattr(runtime.images if self.of_images else runtime.stub, rpc)
        return call

    def _request(self, rpc: str, wanted: dict[str, Any]) -> Message:
        request: type[Message] = getattr(cri, f"{rpc}Request")
        if not wanted:
            return request()
        assert self.filter is not None
        return request(filter=self.filter(**wanted))


SANDBOXES = Twin(
    "StreamPodSandboxes",
    "ListPodSandbox",
    "pod_sandboxes",
    "items",
    lambda item: str(item.id),
    cri.PodSandboxFilter,
)
CONTAINERS = Twin(
    "StreamContainers",
    "ListContainers",
    "containers",
    "containers",
    lambda item: str(item.id),
    cri.ContainerFilter,
)
CONTAINER_STATS = Twin(
    "StreamContainerStats",
    "ListContainerStats",
    "container_stats",
    "stats",
    lambda item: str(item.attributes.id),
    cri.ContainerStatsFilter,
)
SANDBOX_STATS = Twin(
    "StreamPodSandboxStats",
    "ListPodSandboxStats",
    "pod_sandbox_stats",
    "stats",
    lambda item: str(item.attributes.id),
    cri.PodSandboxStatsFilter,
)
METRICS = Twin(
    "StreamPodSandboxMetrics",
    "ListPodSandboxMetrics",
    "pod_sandbox_metrics",
    "pod_metrics",
    lambda item: str(item.pod_sandbox_id),
)
IMAGES = Twin("StreamImages", "ListImages", "images", "images", lambda item: str(item.id), of_images=True)

TWINS = {
    twin.stream: twin for twin in (SANDBOXES, CONTAINERS, CONTAINER_STATS, SANDBOX_STATS, METRICS, IMAGES)
}
WITH_FILTERS = {name: twin for name, twin in TWINS.items() if twin.filter is not None}
