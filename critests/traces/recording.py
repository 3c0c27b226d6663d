"""A proxy that hands everything on and writes down what passes."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from critests.audit.language.descriptors import Rpc
from critests.audit.proxy.fault_proxy import FaultProxy
from critests.traces.redaction import without_secrets
from critests.traces.trace import Entry


class TraceProxy(FaultProxy):
    """A proxy without faults.

    Args:
        upstream: the runtime's endpoint.
        listen: path of the proxy's own unix socket; None makes one in a new directory.
        image_upstream: endpoint of the image service, where it is another.
        note: gets every call when it is over; called from several threads, one at a time.
    """

    def __init__(
        self,
        upstream: str,
        listen: Path | None,
        note: Callable[[Entry], None],
        *,
        image_upstream: str | None = None,
    ) -> None:
        super().__init__(upstream, listen, image_upstream=image_upstream)
        self._note = note
        self._noting = threading.Lock()
        self._begun = time.monotonic()

    def unary(self, rpc: Rpc, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer one call of a unary RPC, and write it down."""
        began = time.monotonic()
        answer: bytes | None = None
        try:
            answer = super().unary(rpc, raw, context)
        finally:
            self._write(rpc, raw, context, began, answer)
        return answer

    def stream(self, rpc: Rpc, raw: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """Answer one call of an RPC whose answer is a stream, and write down how many messages it had."""
        began = time.monotonic()
        messages = 0
        try:
            for message in super().stream(rpc, raw, context):
                messages += 1
                yield message
        finally:
            self._write(rpc, raw, context, began, None, messages)

    def _write(
        self,
        rpc: Rpc,
        raw: bytes,
        context: grpc.ServicerContext,
        began: float,
        answer: bytes | None,
        messages: int = 0,
    ) -> None:
        code = context.code()  # type: ignore[attr-defined]  # grpcio's stubs leave it out
        entry = Entry(
            round(began - self._begun, 6),
            round(time.monotonic() - began, 6),
            rpc.name,
            _plain(rpc.request, raw),
            code.name if isinstance(code, grpc.StatusCode) else "OK",
            {} if answer is None else _plain(rpc.response, answer),
            messages,
        )
        with self._noting:
            self._note(entry)


def _plain(kind: type[Message], raw: bytes) -> dict[str, object]:
    message = kind()
    try:
        message.ParseFromString(raw)
    except DecodeError:  # a client that sends what is no message
        return {}
    found: dict[str, object] = json_format.MessageToDict(
        without_secrets(message), preserving_proto_field_name=True
    )
    return found
