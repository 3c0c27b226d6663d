"""The List RPCs, which return one message, and the Stream RPCs that return the same items as a stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.testing import Runtime


@dataclass(frozen=True)
class ListRpcs:
    """A List RPC and its Stream RPC.

    Attributes:
        stream: name of the streaming RPC.
        unary: name of the unary RPC.
        stream_items: field of the streamed messages that holds the items.
        unary_items: field of the unary response that holds the items.
        id_of: returns the id of an item.
        filter: type of the request's filter; None if the request has none.
        of_images: whether the RPCs belong to ImageService.
    """

    stream: str
    unary: str
    stream_items: str
    unary_items: str
    id_of: Callable[[Any], str]
    filter: type[Message] | None = None
    of_images: bool = False

    def messages(self, runtime: Runtime, **filtered: Any) -> Any:  # noqa: ANN401 - a filter's own fields
        """Open the stream, filtered by these fields, and return an iterator over its messages."""
        return self._call(runtime, self.stream)(self._request(self.stream, filtered))

    def items_by_message(self, runtime: Runtime, **filtered: Any) -> list[list[Any]]:  # noqa: ANN401 - as above
        """Return the items of each message of the whole stream."""
        return [list(getattr(message, self.stream_items)) for message in self.messages(runtime, **filtered)]

    def streamed(self, runtime: Runtime, **filtered: Any) -> list[Any]:  # noqa: ANN401 - as above
        """Return all items of the stream, in order."""
        return [item for piece in self.items_by_message(runtime, **filtered) for item in piece]

    def listed(self, runtime: Runtime, **filtered: Any) -> list[Any]:  # noqa: ANN401 - as above
        """Return all items of the list."""
        return list(
            getattr(self._call(runtime, self.unary)(self._request(self.unary, filtered)), self.unary_items)
        )

    def ids(self, items: list[Any]) -> list[str]:
        """Return the ids of items, in order."""
        return [self.id_of(item) for item in items]

    def _call(self, runtime: Runtime, rpc: str) -> Callable[..., Any]:
        call: Callable[..., Any] = getattr(runtime.images if self.of_images else runtime.stub, rpc)
        return call

    def _request(self, rpc: str, filtered: dict[str, Any]) -> Message:
        # the API names the request of every RPC after it
        request: type[Message] = getattr(cri, f"{rpc}Request")
        if not filtered:
            return request()
        assert self.filter is not None
        return request(filter=self.filter(**filtered))


SANDBOXES = ListRpcs(
    "StreamPodSandboxes",
    "ListPodSandbox",
    "pod_sandboxes",
    "items",
    lambda item: str(item.id),
    cri.PodSandboxFilter,
)
CONTAINERS = ListRpcs(
    "StreamContainers",
    "ListContainers",
    "containers",
    "containers",
    lambda item: str(item.id),
    cri.ContainerFilter,
)
CONTAINER_STATS = ListRpcs(
    "StreamContainerStats",
    "ListContainerStats",
    "container_stats",
    "stats",
    lambda item: str(item.attributes.id),
    cri.ContainerStatsFilter,
)
SANDBOX_STATS = ListRpcs(
    "StreamPodSandboxStats",
    "ListPodSandboxStats",
    "pod_sandbox_stats",
    "stats",
    lambda item: str(item.attributes.id),
    cri.PodSandboxStatsFilter,
)
METRICS = ListRpcs(
    "StreamPodSandboxMetrics",
    "ListPodSandboxMetrics",
    "pod_sandbox_metrics",
    "pod_metrics",
    lambda item: str(item.pod_sandbox_id),
)
IMAGES = ListRpcs("StreamImages", "ListImages", "images", "images", lambda item: str(item.id), of_images=True)

LIST_RPCS = {
    rpcs.stream: rpcs for rpcs in (SANDBOXES, CONTAINERS, CONTAINER_STATS, SANDBOX_STATS, METRICS, IMAGES)
}
WITH_FILTERS = {name: rpcs for name, rpcs in LIST_RPCS.items() if rpcs.filter is not None}
