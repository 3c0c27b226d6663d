"""The connections from a proxy to the runtime behind it."""

import contextlib
import threading
from typing import Any

import grpc

from critests.client.endpoint import Endpoint

UNBOUNDED: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
]
_CHANNEL_OPTIONS: list[tuple[str, Any]] = [
    *UNBOUNDED,
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
]


class Upstreams:
    """Channels to a runtime and its image service, created on demand; thread-safe.

    Args:
        runtime: endpoint of the runtime service.
        images: endpoint of the image service, often the same.
    """

    def __init__(self, runtime: Endpoint, images: Endpoint) -> None:
        self.runtime = runtime
        self.images = images
        self._channels: dict[str, grpc.Channel] = {}
        self._calls: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._open = contextlib.ExitStack()

    # one of gRPC's multi-callables
    def call(self, path: str, arity: str) -> Any:  # noqa: ANN401 - see above
        """Return the callable of a method.

        Args:
            path: of the method.
            arity: `unary_unary` and so on.
        """
        call = self._calls.get(path)
        if call is None:
            with self._lock:
                channel = self._channel(self._endpoint(path))
                call = self._calls[path] = getattr(channel, arity)(path)
        return call

    def _endpoint(self, path: str) -> Endpoint:
        return self.images if ".ImageService/" in path else self.runtime

    def _channel(self, endpoint: Endpoint) -> grpc.Channel:
        if endpoint.target not in self._channels:
            options = (
                [*_CHANNEL_OPTIONS, ("grpc.default_authority", "localhost")]
                if endpoint.socket
                else _CHANNEL_OPTIONS
            )
            channel = self._channels[endpoint.target] = grpc.insecure_channel(endpoint.target, options)
            self._open.callback(channel.close)
        return self._channels[endpoint.target]

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            self._open.close()
            self._channels.clear()
            self._calls.clear()
