"""The connections from a proxy to what is behind it: the runtime itself, and what commands make of it."""

import contextlib
import threading
from typing import Any

import grpc

from critests.audit.proxy.detour import Detour
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
    """Channels to a runtime and its image service, made when they are needed; safe to use from several
    threads.

    Args:
        runtime: endpoint of the runtime service.
        images: endpoint of the image service, often the same.
    """

    def __init__(self, runtime: Endpoint, images: Endpoint) -> None:
        self.runtime = runtime
        self.images = images
        self._channels: dict[str, grpc.Channel] = {}
        self._calls: dict[tuple[str, str], Any] = {}
        self._detours: dict[str, Endpoint] = {}
        self._lock = threading.RLock()
        self._open = contextlib.ExitStack()

    # one of gRPC's multi-callables
    def call(self, path: str, arity: str, through: str = "") -> Any:  # noqa: ANN401 - see above
        """Return what makes a call of a method.

        Args:
            path: of the method.
            arity: `unary_unary` and so on.
            through: the command of a detour that is there; empty for the straight way.
        """
        call = self._calls.get((path, through))
        if call is None:
            with self._lock:
                channel = self._channel(self._endpoint(path, through))
                call = self._calls[path, through] = getattr(channel, arity)(path)
        return call

    def _endpoint(self, path: str, through: str) -> Endpoint:
        if through:
            return self._detours[through]
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

    def detour(self, command: str) -> None:
        """Start a command that makes another runtime of this one, where that is not running.

        Raises:
            FaultError: it does not start.
        """
        with self._lock:
            if command not in self._detours:
                detour = Detour(command, self.runtime)
                self._detours[command] = detour.start()
                self._open.callback(detour.close)

    def close(self) -> None:
        """Close every connection, and end every command."""
        with self._lock:
            self._open.close()
            self._channels.clear()
            self._calls.clear()
            self._detours.clear()
