"""A gRPC proxy in front of a runtime that forwards everything byte for byte, except where a fault is set.

Messages without faults are never decoded. Unknown methods, deadlines, cancellation, metadata, codes and
messages of any size pass.
"""

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, cast

import grpc

from critests.client.endpoint import Endpoint
from critests.node.wrappers.stand_in import Wrapper
from critests_proof.language.descriptors import FaultError, RpcDescriptor, rpcs
from critests_proof.language.faults import (
    AnyFault,
    BelowFault,
    Fault,
    PluginFault,
    SocketFault,
    UnknownMethodFault,
    is_of_the_network,
    parse_fault,
)
from critests_proof.proxy.effects import make_effect
from critests_proof.proxy.exchange import (
    EVERYTHING_SECONDS,
    Answered,
    ArmedFault,
    Effect,
    Exchange,
    Way,
    deadline_of,
)
from critests_proof.proxy.oci_proxy import FaultsBelow
from critests_proof.proxy.upstreams import UNBOUNDED, Upstreams
from critests_proof.proxy.watch import Watch

_OWN_METADATA = (":", "grpc-", "user-agent", "content-type")
_WORKERS = 256
"""Limit of concurrent calls: each occupies a thread, and streams last long. Threads are created on demand."""

Metadata = tuple[tuple[str, str | bytes], ...]


class _Armed:
    """The set faults and their state. Immutable: setting faults creates a new object."""

    def __init__(self, faults: tuple[AnyFault, ...]) -> None:
        self.faults = faults
        self.by_rpc: dict[str, list[ArmedFault]] = {}
        self.effects: list[Effect] = []
        self._effect_hits: dict[str, int] = {}
        self._lock = threading.Lock()
        for fault in faults:
            if isinstance(fault, Fault):
                self.by_rpc.setdefault(fault.rpc.name, []).append(ArmedFault(fault))
            elif not isinstance(fault, UnknownMethodFault | BelowFault | SocketFault):
                self.effects.append(make_effect(fault, self.effect_hit))

    def effect_hit(self, text: str) -> None:
        """Count a change by an effect."""
        with self._lock:
            self._effect_hits[text] = self._effect_hits.get(text, 0) + 1

    def effects_on(self, rpc: str) -> list[Effect]:
        """Return the effects on an RPC."""
        return [effect for effect in self.effects if rpc in effect.rpcs]

    def hits(self) -> dict[str, int]:
        """Return how often each fault changed something, by its text."""
        with self._lock:
            counted = {fault.text: self._effect_hits.get(fault.text, 0) for fault in self.faults}
        for armed in (armed for some in self.by_rpc.values() for armed in some):
            counted[armed.fault.text] += armed.hits
        return counted


_NOTHING = _Armed(())


class FaultProxy:
    """A proxy between a client and a runtime.

    Args:
        upstream: the runtime's endpoint.
        listen: path of the proxy's unix socket; None creates one in a new directory.
        image_upstream: endpoint of the image service, if it differs.
        oci_wrapper: wrapper of the OCI runtime of a throwaway runtime; without it, its faults have no effect.
        cni_wrapper: wrapper of its CNI plugins; without it, their faults have no effect.

    Attributes:
        watch: records the calls outside `honest`; None without recording.

    Use it as a context manager, or call `start` and `close`.
    """

    def __init__(
        self,
        upstream: str,
        listen: Path | None = None,
        *,
        image_upstream: str | None = None,
        oci_wrapper: Wrapper | None = None,
        cni_wrapper: Wrapper | None = None,
    ) -> None:
        self.upstream = Endpoint.parse(upstream)
        self.image_upstream = Endpoint.parse(image_upstream) if image_upstream else self.upstream
        self._listen = listen
        self._directory: Path | None = None
        self._armed = _Armed(())
        wrappers = {False: oci_wrapper, True: cni_wrapper}
        self._below = {of_network: FaultsBelow(one) for of_network, one in wrappers.items() if one}
        self.watch: Watch | None = None
        self._setting = threading.Lock()
        self._bypassed = 0
        self._previous: dict[str, bytes] = {}
        self._server: grpc.Server | None = None
        self._upstreams = Upstreams(self.upstream, self.image_upstream)

    @property
    def endpoint(self) -> str:
        """The proxy's endpoint, `unix://PATH`."""
        assert self._listen is not None
        return f"unix://{self._listen}"

    @property
    def faults(self) -> tuple[AnyFault, ...]:
        """The set faults. Setting them, as texts or parsed, resets the hits and takes effect with the next
        call.
        """
        return self._armed.faults

    @faults.setter
    def faults(self, faults: Iterable[str | AnyFault]) -> None:
        armed = _Armed(tuple(parse_fault(fault) if isinstance(fault, str) else fault for fault in faults))
        with self._setting:
            old, self._armed = self._armed, armed
        for effect in old.effects:
            effect.close()
        self._set_mode(armed)
        for of_network, below in self._below.items():
            below.set(_below(armed.faults, of_network=of_network))

    def _set_mode(self, armed: _Armed) -> None:
        if self._listen is None or not self._listen.is_socket():
            return
        open_to_all = [fault for fault in armed.faults if isinstance(fault, SocketFault)]
        self._listen.chmod(0o777 if open_to_all else 0o755)
        for fault in open_to_all:
            armed.effect_hit(fault.text)

    @contextlib.contextmanager
    def honest(self) -> Iterator[None]:
        """Forward every call that starts in this block unchanged; the hits so far are preserved."""
        with self._setting:
            self._bypassed += 1
        try:
            with contextlib.ExitStack() as stack:
                for below in self._below.values():
                    stack.enter_context(below.honest())
                yield
        finally:
            with self._setting:
                self._bypassed -= 1

    def _acting(self) -> _Armed:
        return _NOTHING if self._bypassed else self._armed

    def _watching(self) -> Watch | None:
        return None if self._bypassed else self.watch

    @property
    def hits(self) -> dict[str, int]:
        """The number of changes by each set fault, by its text; the changes of several faults in the OCI
        runtime, or in CNI plugins, count for the first of them.
        """
        counted = self._armed.hits()
        for of_network, below in self._below.items():
            for fault in _below(self._armed.faults, of_network=of_network)[:1]:
                counted[fault.text] = below.hits()
        return counted

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> str:
        """Start listening; return the proxy's endpoint.

        Raises:
            OSError: the socket cannot be created.
        """
        if self._listen is None:
            self._directory = Path(tempfile.mkdtemp(prefix="critests-audit-"))
            self._listen = self._directory / "cri.sock"
        server = grpc.server(
            ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="audit"), options=UNBOUNDED
        )
        server.add_generic_rpc_handlers([_Handler(self)])
        try:
            server.add_insecure_port(f"unix:{self._listen}")
        except RuntimeError as error:
            msg = f"cannot listen at {self.endpoint}: {error}"
            raise OSError(msg) from error
        server.start()
        self._server = server
        return self.endpoint

    def close(self) -> None:
        """Stop listening, end every effect, and remove the socket."""
        self.faults = ()
        if self._server:
            self._server.stop(grace=0).wait(5)
            self._server = None
            if self._listen:
                self._listen.unlink(missing_ok=True)
        self._upstreams.close()
        if self._directory:
            shutil.rmtree(self._directory)
            self._directory = self._listen = None

    def unary(self, rpc: RpcDescriptor, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer one call of a unary RPC."""
        armed, watch = self._acting(), self._watching()
        faults, effects = armed.by_rpc.get(rpc.name, []), armed.effects_on(rpc.name)
        if watch is not None:
            watch.request(rpc, raw)
        try:
            if not faults and not effects:
                answer = self._forward(rpc, raw, context)
            else:
                way = Way(
                    lambda request: self._forward(rpc, request, context),
                    self._ask,
                    _gone(context),
                    self._previous.get(rpc.name),
                )
                answer = Exchange(rpc, raw, faults, effects, way).unary()
        except Answered as end:
            context.abort(end.code, end.details)
        except grpc.RpcError as error:
            if watch is not None:
                watch.error(rpc)
            _hand_on(error, context)
        if watch is not None:
            watch.response(rpc, answer)
        return answer

    def _forward(self, rpc: RpcDescriptor, raw: bytes, context: grpc.ServicerContext) -> bytes:
        multi = self._upstreams.call(rpc.path, "unary_unary")
        call = multi.future(raw, timeout=deadline_of(context), metadata=_metadata(context))
        if not context.add_callback(call.cancel):
            call.cancel()
        try:
            answer = cast("bytes", call.result())
        except grpc.FutureCancelledError:
            raise Answered(grpc.StatusCode.CANCELLED, "the client gave up") from None
        context.set_trailing_metadata(call.trailing_metadata() or ())
        self._previous[rpc.name] = answer
        return answer

    def _ask(self, rpc: RpcDescriptor, raw: bytes) -> bytes:
        return cast("bytes", self._upstreams.call(rpc.path, "unary_unary")(raw, timeout=EVERYTHING_SECONDS))

    def stream(self, rpc: RpcDescriptor, raw: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """Answer one call of a streaming RPC."""
        armed, watch = self._acting(), self._watching()
        faults, effects = armed.by_rpc.get(rpc.name, []), armed.effects_on(rpc.name)
        if watch is not None:
            watch.request(rpc, raw)
        multi = self._upstreams.call(rpc.path, "unary_stream")
        try:
            if not faults and not effects:
                call = multi(raw, timeout=deadline_of(context), metadata=_metadata(context))
                for message in _relay(call, context):
                    if watch is not None:
                        watch.response(rpc, message)
                    yield message
                return
            way = Way(lambda request: request, self._ask, _gone(context), None)
            exchange = Exchange(rpc, raw, faults, effects, way)
            exchange.before()
            if exchange.swallowed():
                return
            call = multi(exchange.request(), timeout=deadline_of(context), metadata=_metadata(context))
            yield from exchange.stream(_relay(call, context))
            call.cancel()
        except Answered as end:
            context.abort(end.code, end.details)
        except grpc.RpcError as error:
            if watch is not None:
                watch.error(rpc)
            _hand_on(error, context)

    def anything(
        self, path: str, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Forward a call of a method that is not part of the CRI."""
        armed = self._acting()
        for fault in armed.faults:
            if isinstance(fault, UnknownMethodFault):
                armed.effect_hit(fault.text)
                context.abort(fault.code, fault.details)
        try:
            call = self._upstreams.call(path, "stream_stream")(
                requests, timeout=deadline_of(context), metadata=_metadata(context)
            )
            yield from _relay(call, context)
        except grpc.RpcError as error:
            _hand_on(error, context)


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, proxy: FaultProxy) -> None:
        self._proxy = proxy
        self._known = {rpc.path: rpc for rpc in rpcs().values()}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any]":
        path = handler_call_details.method
        rpc = self._known.get(path)
        proxy = self._proxy
        if rpc is None:
            return grpc.stream_stream_rpc_method_handler(
                lambda requests, context: proxy.anything(path, requests, context)
            )
        if rpc.streams:
            return grpc.unary_stream_rpc_method_handler(lambda raw, context: proxy.stream(rpc, raw, context))
        return grpc.unary_unary_rpc_method_handler(lambda raw, context: proxy.unary(rpc, raw, context))


def _metadata(context: grpc.ServicerContext) -> Metadata:
    return tuple(
        (key, value) for key, value in context.invocation_metadata() if not key.startswith(_OWN_METADATA)
    )


def _below(faults: Iterable[AnyFault], *, of_network: bool) -> tuple[BelowFault, ...]:
    """Return the faults for the wrapper of the CNI plugins, or for that of the OCI runtime."""
    return tuple(
        fault for fault in faults if isinstance(fault, BelowFault) and is_of_the_network(fault) == of_network
    )


def _gone(context: grpc.ServicerContext) -> threading.Event:
    """Return an event that is set when the client has given up."""
    gone = threading.Event()
    if not context.add_callback(gone.set):
        gone.set()
    return gone


# a call, an iterator and a context in one
def _relay(call: Any, context: grpc.ServicerContext) -> Iterator[bytes]:  # noqa: ANN401 - see above
    """Yield the messages of a stream; cancel it when the client leaves."""
    if not context.add_callback(call.cancel):
        call.cancel()
    context.send_initial_metadata(call.initial_metadata())
    yield from call
    context.set_trailing_metadata(call.trailing_metadata() or ())


def _hand_on(error: grpc.RpcError, context: grpc.ServicerContext) -> None:
    """End a call like the runtime: with its code, message and trailing metadata."""
    call = cast("grpc.Call", error)
    context.set_trailing_metadata(call.trailing_metadata() or ())
    context.abort(call.code(), call.details() or "")


def run_proxy(
    listen: Path | None,
    endpoint: str,
    fault_texts: Iterable[str],
    *,
    say: Callable[[str], None] = print,
    until: threading.Event | None = None,
) -> dict[str, int]:
    """Run a proxy until interrupted.

    Args:
        listen: path of its unix socket; None chooses one.
        endpoint: of the runtime.
        fault_texts: the faults to set.
        say: called with the address and, at the end, with the hits of each fault.
        until: ends the proxy when it is set; None waits for KeyboardInterrupt.

    Returns:
        The number of changes by each fault.

    Raises:
        FaultError: a fault is malformed, or needs a runtime that the suite starts.
        OSError: the socket cannot be created.
    """
    over = until or threading.Event()
    proxy = FaultProxy(endpoint, listen)
    proxy.faults = fault_texts
    for fault in proxy.faults:
        if isinstance(fault, BelowFault):
            msg = f"{fault.text}: only where the suite starts the runtime can what is below it be disturbed"
            raise FaultError(msg)
        if isinstance(fault, PluginFault):
            msg = f"{fault.text}: only the suite's own plugins can be disturbed, in an audit"
            raise FaultError(msg)
    with proxy:
        say(f"proxy for {proxy.upstream.text} at {proxy.endpoint}")
        for fault in proxy.faults:
            say(f"  fault set: {fault.text}")
        try:
            over.wait()
        except KeyboardInterrupt:
            say("interrupted")
        hits = proxy.hits
    for text, count in hits.items():
        say(f"  changed something {count} times: {text}")
    return hits
