"""The small CRI server: gRPC on a unix socket, right by default and wrong in chosen ways."""

import contextlib
import functools
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from critests.api import api_pb2 as cri
from tests.criserver.images import DEFAULT_IMAGES
from tests.criserver.sandboxes import RpcFailure
from tests.criserver.services import EventStream, Services
from tests.criserver.state import ImageConfig
from tests.criserver.way import Answer, Call
from tests.criserver.ways import choose

METHODS: dict[str, MethodDescriptor] = {
    method.name: method for service in cri.DESCRIPTOR.services_by_name.values() for method in service.methods
}


class CriServer:
    """A CRI runtime in memory.

    Args:
        wrong: names of `ways.WAYS`, some with `=ARGUMENT`.
        images: what can be pulled, by full reference, in addition to registries on this machine.
        without: RPCs that are not implemented (UNIMPLEMENTED).
    """

    def __init__(
        self,
        wrong: Collection[str] = (),
        images: dict[str, ImageConfig] | None = None,
        without: Collection[str] = (),
    ) -> None:
        self.services = Services(DEFAULT_IMAGES if images is None else images)
        self.calls: list[str] = []
        """The names of the RPCs that were called, in order."""
        self._wrong = choose(wrong)
        self._version = "v1alpha2" if "v1alpha2-only" in wrong else "v1"
        self._functions = {
            rpc: function for rpc, function in self.services.functions().items() if rpc not in without
        }
        self._stopping = threading.Event()
        self._server: grpc.Server | None = None
        self._socket = Path()
        self.when_killed: Callable[[], None] | None = None
        """Called instead of an immediate stop, if the server is a process of its own."""

    def start(self, socket: Path) -> str:
        """Serve on a unix socket.

        Returns:
            The endpoint, as `unix://PATH`.
        """
        self._socket = socket
        endpoint = f"unix://{socket}"
        server = grpc.server(
            ThreadPoolExecutor(max_workers=64, thread_name_prefix="criserver"),
            options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
        )
        server.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(
                    service.full_name.replace("v1", self._version),
                    {method.name: self._handler(method) for method in service.methods},
                )
                for service in cri.DESCRIPTOR.services_by_name.values()
            ]
        )
        server.add_insecure_port(endpoint)
        server.start()
        self._server = server
        return endpoint

    def stop(self) -> None:
        """Stop serving and kill every container's process."""
        self._stopping.set()
        if self._server:
            self._server.stop(grace=0).wait(5)
        self.services.close()

    def mend(self) -> None:
        """Be right from now on."""
        self._wrong = []

    def die(self) -> None:
        """Stop like after SIGKILL: connections break, containers' processes go on."""
        if self.when_killed:
            self.when_killed()
        elif self._server:
            self._stopping.set()
            self._server.stop(grace=0)

    def start_again(self) -> None:
        """Start again after `die`, with all objects."""
        if self._server:
            self._server.stop(grace=0).wait(5)
        self._stopping.clear()
        self.start(self._socket)

    def _handler(self, method: MethodDescriptor) -> "grpc.RpcMethodHandler[Any, Any]":
        decode = cast("Callable[[bytes], Message]", GetMessageClass(method.input_type).FromString)
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(
                functools.partial(self._stream, method.name), decode, _encode
            )
        return grpc.unary_unary_rpc_method_handler(
            functools.partial(self._unary, method.name), decode, _encode
        )

    def _unary(self, rpc: str, request: Message, context: grpc.ServicerContext) -> Message | bytes:
        try:
            return cast("Message | bytes", self._answer(rpc, request, context))
        except RpcFailure as answer:
            context.abort(answer.code, answer.details)

    def _stream(self, rpc: str, request: Message, context: grpc.ServicerContext) -> Iterator[Message | bytes]:
        try:
            answer = self._answer(rpc, request, context)
            if isinstance(answer, EventStream):
                context.add_callback(answer.close)
                context.send_initial_metadata(())
            yield from ([answer] if isinstance(answer, bytes) else answer)
        except RpcFailure as answer:
            context.abort(answer.code, answer.details)

    def _answer(self, rpc: str, request: Message, context: grpc.ServicerContext) -> Answer:
        self.calls.append(rpc)
        over = self._stopping if not self._wrong else _Over(self._stopping)
        if isinstance(over, _Over):
            context.add_callback(over.set)
        ask: Callable[[str, Any], Any] = self._right
        for act, argument in self._wrong:
            ask = functools.partial(self._through, act, argument, ask, over)
        return ask(rpc, request)

    def _through(
        self,
        act: Callable[[Call, str], Any],
        argument: str,
        ask: Callable[[str, Any], Any],
        over: threading.Event,
        rpc: str,
        request: Message,
    ) -> Answer:
        return act(Call(rpc, request, ask, over, self.die), argument)

    def _right(self, rpc: str, request: Message) -> Answer:
        function = self._functions.get(rpc)
        if function is None:
            raise RpcFailure(grpc.StatusCode.UNIMPLEMENTED, f"unknown method {rpc}")
        return function(request)


class _Over(threading.Event):
    """Set when one call is over: its client disconnected, or the server stops."""

    def __init__(self, stopping: threading.Event) -> None:
        super().__init__()
        self._stopping = stopping

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is over; a stop of the server is noticed within 50 ms."""
        left = float("inf") if timeout is None else timeout
        while left > 0 and not self._stopping.is_set():
            step = min(left, 0.05)
            if super().wait(step):
                return True
            left -= step
        return self._stopping.is_set()


def _encode(answer: Message | bytes) -> bytes:
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


@contextlib.contextmanager
def serve(server: CriServer) -> Iterator[str]:
    """Serve on a new unix socket within the context; yields the endpoint."""
    directory = Path(tempfile.mkdtemp(prefix="criserver-"))
    try:
        yield server.start(directory / "cri.sock")
    finally:
        server.stop()
        shutil.rmtree(directory)
