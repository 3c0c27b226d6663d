"""An NRI plugin of a test: it receives the events of its runtime, and responds with hooks of the test."""

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from critests.api import nri_pb2 as nri
from critests.api import ttrpc_pb2
from critests.node.nri import ttrpc
from critests.node.nri.multiplexer import PLUGIN, RUNTIME, Multiplexer

PACKAGE = nri.DESCRIPTOR.package
CALLED = nri.DESCRIPTOR.services_by_name["Plugin"].methods_by_name
"""The methods that a runtime may call, by name."""
WITHOUT_VALIDATION = (1 << nri.REMOVE_CONTAINER) - 1
"""Bit mask of the events that every version of the NRI has. Runtimes reject unknown bits. 0 subscribes to all
known events, including the validation of container adjustments, without which no container is created.
"""
OWN_CALL_SECONDS = 10.0
"""Timeout of a call to the runtime, before scaling."""


class HookRefusal(Exception):
    """Raised by a hook to make the plugin respond with an error."""


class PluginNotConnected(AssertionError):
    """A plugin could not connect, or lost its connection; the message has the progress. It is an assertion
    error, because a runtime that offers NRI must accept plugins.
    """


@dataclass(frozen=True)
class PluginEvent:
    """An event that the plugin received from the runtime.

    Attributes:
        name: of the event, such as `CreateContainer`, also for a StateChange.
        request: the whole message.
    """

    name: str
    request: Any

    @property
    def pod(self) -> nri.PodSandbox:
        """The pod of the event, or of its container."""
        pod: nri.PodSandbox = self.request.pod
        return pod

    @property
    def container(self) -> nri.Container:
        """The container of the event; empty for an event of a pod."""
        container: nri.Container = getattr(self.request, "container", nri.Container())
        return container


Tampering = Callable[[str, Message], bool]
TAMPERINGS: dict[str, Tampering] = {}
"""Fault injection between the plugins of this process and their runtimes: each function gets every event and
every call of `UpdateContainers`, may change its message, and returns whether it passes. One that does not
pass gets an empty response.
"""


Hook = Callable[[PluginEvent], Message | None]
"""Called for an event: returns the response, None for the usual one, or raises `HookRefusal`."""


@dataclass
class SynchronizedObjects:
    """The existing pods and containers in Synchronize."""

    pods: dict[str, nri.PodSandbox] = field(default_factory=dict)
    containers: dict[str, nri.Container] = field(default_factory=dict)


class NriPlugin:
    """One plugin with a connection to a runtime.

    Args:
        trunk: a socket that is connected to the runtime.
        name: by which it registers.
        index: two digits; plugins are called in ascending order.
        events: bit mask of the subscribed events; 0 for all.
        scale: factor on the timeout of its own calls.
        hooks: hooks by event name, also for `Synchronize`.

    Attributes:
        configuration: the Configure request; None before it.
        snapshot: the objects of Synchronize; None before it.
        received: every event after that, in order.
        hooks: hooks by event name; other events get an empty response.
    """

    def __init__(
        self,
        trunk: socket.socket,
        name: str,
        index: str,
        events: int = WITHOUT_VALIDATION,
        scale: float = 1.0,
        hooks: Mapping[str, Hook] = MappingProxyType({}),
    ) -> None:
        self.name, self.index = name, index
        self._subscribed = events
        self.configuration: nri.ConfigureRequest | None = None
        self.snapshot: SynchronizedObjects | None = None
        self.received: list[PluginEvent] = []
        self.hooks: dict[str, Hook] = dict(hooks)
        self._seconds = OWN_CALL_SECONDS * scale
        self._synchronizing = SynchronizedObjects()
        self._multiplexer = Multiplexer(trunk)
        self._ended = threading.Event()
        self._synchronized = threading.Event()
        self._streams = iter(range(1, 1 << 31, 2))  # in ttrpc, streams of a client have odd ids
        self._calling = threading.Lock()
        self._waiting: dict[int, queue.SimpleQueue[ttrpc_pb2.Response | None]] = {}
        self._reader = threading.Thread(target=self._read, name=f"NRI plugin {index}-{name}", daemon=True)
        self._reader.start()

    @classmethod
    def connect(
        cls,
        path: Path,
        name: str,
        index: str,
        *,
        seconds: float,
        events: int = WITHOUT_VALIDATION,
        scale: float = 1.0,
        hooks: Mapping[str, Hook] = MappingProxyType({}),
    ) -> "NriPlugin":
        """Connect to a runtime's socket, register, and return after Synchronize.

        Raises:
            PluginNotConnected: Synchronize did not come.
        """
        trunk = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        trunk.settimeout(seconds)
        try:
            trunk.connect(str(path))
        except OSError as error:
            trunk.close()
            raise PluginNotConnected(f"the runtime takes no plugins at {path}: {error}") from error
        trunk.settimeout(None)
        plugin = cls(trunk, name, index, events, scale, hooks)
        try:
            plugin.register()
        except (ttrpc.TtrpcError, PluginNotConnected) as error:
            plugin.close()
            raise PluginNotConnected(f"the plugin could not register: {error}") from error
        if plugin.is_synchronized(seconds):
            return plugin
        how_far = "Configure came" if plugin.configuration else "neither Configure nor Synchronize came"
        over = ", and the runtime has ended the connection" if plugin.ended else ""
        plugin.close()
        raise PluginNotConnected(
            f"Synchronize did not come within {seconds:g} s of the registration: {how_far}{over}"
        )

    @property
    def ended(self) -> bool:
        """Whether the connection is over."""
        return self._ended.is_set()

    def ends_within(self, seconds: float | None) -> bool:
        """Wait for the end of the connection, without a limit for None; return whether it came in time."""
        return self._ended.wait(seconds)

    def is_synchronized(self, seconds: float) -> bool:
        """Wait for Synchronize, and return whether it came in time."""
        return self._synchronized.wait(seconds)

    @property
    def event_names(self) -> set[str]:
        """The names of all received events."""
        return {event.name for event in list(self.received)}

    def events_of(self, object_id: str) -> list[PluginEvent]:
        """Return the received events of a container, or of a pod itself, in order."""
        return [event for event in list(self.received) if object_id == (event.container.id or event.pod.id)]

    def first(self, name: str, object_id: str) -> PluginEvent | None:
        """Return the first received event with a name for a container or pod; None without one."""
        return next((event for event in self.events_of(object_id) if event.name == name), None)

    @contextlib.contextmanager
    def hooked(self, event_name: str, hook: Hook) -> Iterator[None]:
        """Set a hook for an event for the time of a `with`."""
        self.hooks[event_name] = hook
        try:
            yield
        finally:
            del self.hooks[event_name]

    def register(self) -> None:
        """Register with name and index.

        Raises:
            TtrpcError: the runtime rejected it.
            PluginNotConnected: the connection has ended, or there was no response.
        """
        self._call("RegisterPlugin", nri.RegisterPluginRequest(plugin_name=self.name, plugin_idx=self.index))

    def update(self, request: nri.UpdateContainersRequest) -> nri.UpdateContainersResponse:
        """Request changes of containers.

        Raises:
            TtrpcError: the runtime rejected it.
            PluginNotConnected: the connection has ended, or there was no response.
        """
        return nri.UpdateContainersResponse.FromString(self._call("UpdateContainers", request))

    def close(self) -> None:
        """Close the connection without a message, as a plugin that crashes does."""
        self._multiplexer.close()
        if threading.current_thread() is not self._reader:
            self._reader.join(self._seconds)

    def _call(self, method: str, request: Message) -> bytes:
        answers: queue.SimpleQueue[ttrpc_pb2.Response | None] = queue.SimpleQueue()
        if not _passes(method, request):
            return b""
        # streams must begin in the order of their numbers
        with self._calling:
            stream = next(self._streams)
            self._waiting[stream] = answers
            frame = ttrpc.request(
                stream, f"{PACKAGE}.Runtime", method, request.SerializeToString(), self._seconds
            )
            with contextlib.suppress(OSError):
                self._multiplexer.send(RUNTIME, frame.packed())
        try:
            response = None if self.ended else answers.get(timeout=self._seconds)
        except queue.Empty:
            raise PluginNotConnected(f"{method} was not answered within {self._seconds:g} s") from None
        finally:
            self._waiting.pop(stream, None)
        if response is None:
            raise PluginNotConnected(f"{method} was not answered: the connection has ended")
        if response.status.code:
            raise ttrpc.TtrpcError(response.status)
        return response.payload

    def _read(self) -> None:
        """Read until the connection ends; each call runs in its own thread, so that a slow hook delays
        nothing else.
        """
        frames = {PLUGIN: ttrpc.Frames(), RUNTIME: ttrpc.Frames()}
        with contextlib.suppress(OSError, DecodeError):
            while True:
                connection, data = self._multiplexer.receive()
                for frame in frames[connection].feed(data) if connection in frames else ():
                    if connection == PLUGIN and frame.kind == ttrpc.REQUEST:
                        self._take(frame)
                    elif connection == RUNTIME and frame.stream in self._waiting:
                        response = ttrpc_pb2.Response.FromString(frame.payload)
                        self._waiting[frame.stream].put(response)
        self._ended.set()
        self._multiplexer.close()
        for answers in list(self._waiting.values()):
            answers.put(None)

    def _take(self, frame: ttrpc.TtrpcFrame) -> None:
        call = ttrpc_pb2.Request.FromString(frame.payload)
        if call.method not in CALLED:
            self._send(ttrpc.refusal(frame.stream, ttrpc.UNIMPLEMENTED, f"no {call.method}"))
            return
        request = GetMessageClass(CALLED[call.method].input_type).FromString(call.payload)
        answer: Callable[[], Message | None]
        name = call.method
        if isinstance(request, nri.StateChangeEvent):
            name = nri.Event.Name(request.event).title().replace("_", "")
        match request:
            case _ if not _passes(name, request):
                answer = GetMessageClass(CALLED[call.method].output_type)
            case nri.ConfigureRequest():
                self.configuration = request
                answer = partial(nri.ConfigureResponse, events=self._subscribed)
            case nri.SynchronizeRequest():
                answer = self._synchronize(request)
            case _ if call.method == "Shutdown":
                answer = nri.Empty
            case _:
                answer = self._receive(name, request)
        threading.Thread(
            target=self._answer, args=(frame.stream, call.method, answer), name="NRI hook", daemon=True
        ).start()

    def _synchronize(self, request: nri.SynchronizeRequest) -> Callable[[], Message]:
        self._synchronizing.pods |= {pod.id: pod for pod in request.pods}
        self._synchronizing.containers |= {container.id: container for container in request.containers}

        hook = self.hooks.get("Synchronize")

        def answer() -> Message:
            response = hook(PluginEvent("Synchronize", request)) if hook else None
            if not request.more:
                self.snapshot = self._synchronizing
                self._synchronized.set()
            return response or nri.SynchronizeResponse(more=request.more)

        return answer

    def _receive(self, name: str, request: Message) -> Callable[[], Message | None]:
        event = PluginEvent(name, request)
        self.received.append(event)
        hook = self.hooks.get(name)
        return (lambda: hook(event)) if hook else lambda: None

    def _answer(self, stream: int, method: str, answer: Callable[[], Message | None]) -> None:
        try:
            message = answer() or GetMessageClass(CALLED[method].output_type)()
        except HookRefusal as error:
            self._send(ttrpc.refusal(stream, ttrpc.UNKNOWN, str(error)))
            return
        self._send(ttrpc.answer(stream, message.SerializeToString()))

    def _send(self, frame: ttrpc.TtrpcFrame) -> None:
        # the runtime may have closed the connection meanwhile
        with contextlib.suppress(OSError):
            self._multiplexer.send(PLUGIN, frame.packed())


def _passes(name: str, message: Message) -> bool:
    return all(tampering(name, message) for tampering in list(TAMPERINGS.values()))
