"""What a runtime that does nothing answers: bytes prepared beforehand, into which an id is put where the
answer needs one.

It remembers which sandboxes and containers there are and their states, so that a lifecycle runs through it
and a look at its result is satisfied. Filters of lists are obeyed; anything else in a request is taken as it
comes.
"""

import itertools
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import grpc
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.benchmark.floors.null_server import messages
from critests.benchmark.floors.null_server.wire import PLACEHOLDER, Template, chunks, identity_in, repeated

Answer: TypeAlias = Callable[[bytes], bytes]
Stream: TypeAlias = Callable[[bytes], Iterable[bytes]]

_EVENTS: Final = (
    cri.CONTAINER_CREATED_EVENT,
    cri.CONTAINER_STARTED_EVENT,
    cri.CONTAINER_STOPPED_EVENT,
    cri.CONTAINER_DELETED_EVENT,
)


class Refused(Exception):
    """A call is answered with a status code instead of a message."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


@dataclass(slots=True)
class _Made:
    """A sandbox or container that a request made."""

    request: bytes
    state: int
    parent: bytes = b""
    children: list[bytes] = field(default_factory=list)


class NullAnswers:
    """The state of a runtime that does nothing, and its answer to each RPC.

    Attributes:
        unary: RPC to its answer, from the bytes of a request to those of the response. Each may raise
            `Refused`.
        streams: RPC to the messages of its answer; GetContainerEvents is not among them.
        listeners: called with the bytes of every container event.
    """

    def __init__(self, *, entries: int = 0, exec_bytes: int = 0) -> None:
        """Prepare the answers.

        Args:
            entries: how many sandboxes, containers (with their stats) and images there are from the
                beginning.
            exec_bytes: how much ExecSync gives on standard output.
        """
        self.listeners: list[Callable[[bytes], None]] = []
        self._prefix = secrets.token_hex(24).encode()
        self._numbers = itertools.count()
        self._sandboxes: dict[bytes, _Made] = {}
        self._containers: dict[bytes, _Made] = {}
        self._images: dict[str, cri.Image] = {}
        self._lists: dict[str, list[bytes]] = {}
        self._prepare_states()
        for number in range(entries):
            self._hold(number)
        self._stats: list[Message] = [
            messages.container_stats(identity.decode()) for identity in self._containers
        ]
        self._pod_stats: list[Message] = [
            messages.pod_stats(identity.decode()) for identity in self._sandboxes
        ]
        self._pod_metrics: list[Message] = [
            messages.pod_metrics(identity.decode()) for identity in self._sandboxes
        ]
        self.unary: dict[str, Answer] = {
            **{rpc: _always(message) for rpc, message in messages.fixed(exec_bytes).items()},
            **self._about_sandboxes(),
            **self._about_containers(),
            **self._about_images(),
        }
        self.streams: dict[str, Stream] = {
            "StreamPodSandboxes": lambda raw: self._stream("sandboxes", self._sandbox_items, raw),
            "StreamContainers": lambda raw: self._stream("containers", self._container_items, raw),
            "StreamImages": lambda raw: self._stream("images", self._image_items, raw),
            "StreamContainerStats": _always_stream(self._stats),
            "StreamPodSandboxStats": _always_stream(self._pod_stats),
            "StreamPodSandboxMetrics": _always_stream(self._pod_metrics),
        }

    def _prepare_states(self) -> None:
        self._sandbox_status: dict[int, Template] = {
            state: Template(cri.PodSandboxStatusResponse(status=messages.sandbox_status(state)))
            for state in (cri.SANDBOX_READY, cri.SANDBOX_NOTREADY)
        }
        states = (cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED)
        self._container_status: dict[int, Template] = {
            state: Template(cri.ContainerStatusResponse(status=messages.container_status(state)))
            for state in states
        }
        self._events = {kind: Template(messages.event(kind)) for kind in _EVENTS}

    def _hold(self, number: int) -> None:
        """Put in a sandbox, a container and an image."""
        labels, text, name = {"critests.null": str(number)}, f"held-{number}", f"example.test/held:{number}"
        pod = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=text, uid=text, namespace=messages.NAME), labels=labels
        )
        sandbox = self._run(cri.RunPodSandboxRequest(config=pod).SerializeToString())
        container = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=text), image=cri.ImageSpec(image=name), labels=labels
        )
        identity = self._create(
            cri.CreateContainerRequest(pod_sandbox_id=sandbox.decode(), config=container).SerializeToString()
        )
        self._containers[identity].state = cri.CONTAINER_RUNNING
        self._images[name] = messages.image(name)

    def _about_sandboxes(self) -> dict[str, Answer]:
        ran = Template(cri.RunPodSandboxResponse(pod_sandbox_id=PLACEHOLDER))
        restored = Template(cri.RestorePodResponse(pod_sandbox_id=PLACEHOLDER))
        stats = Template(cri.PodSandboxStatsResponse(stats=messages.pod_stats(PLACEHOLDER)))
        stats_list = repeated(self._pod_stats)
        metrics_list = repeated(self._pod_metrics)
        return {
            "RunPodSandbox": lambda raw: ran.of(self._run(raw)),
            "RestorePod": lambda _: restored.of(self._run(b"")),
            "StopPodSandbox": self._stop_sandbox,
            "RemovePodSandbox": self._remove_sandbox,
            "PodSandboxStatus": self._status_of_sandbox,
            "ListPodSandbox": lambda raw: self._list("sandboxes", self._sandbox_items, raw),
            "PodSandboxStats": lambda raw: stats.of(identity_in(raw)),
            "ListPodSandboxStats": lambda _: stats_list,
            "ListPodSandboxMetrics": lambda _: metrics_list,
        }

    def _about_containers(self) -> dict[str, Answer]:
        created = Template(cri.CreateContainerResponse(container_id=PLACEHOLDER))
        stats = Template(cri.ContainerStatsResponse(stats=messages.container_stats(PLACEHOLDER)))
        stats_list = repeated(self._stats)
        return {
            "CreateContainer": lambda raw: created.of(self._create(raw)),
            "StartContainer": self._start,
            "StopContainer": self._stop,
            "RemoveContainer": self._remove,
            "ContainerStatus": self._status_of_container,
            "ListContainers": lambda raw: self._list("containers", self._container_items, raw),
            "ContainerStats": lambda raw: stats.of(identity_in(raw)),
            "ListContainerStats": lambda _: stats_list,
        }

    def _about_images(self) -> dict[str, Answer]:
        return {
            "PullImage": self._pull,
            "ListImages": lambda raw: self._list("images", self._image_items, raw),
            "ImageStatus": self._status_of_image,
            "RemoveImage": self._remove_image,
        }

    def _new_id(self) -> bytes:
        return self._prefix + b"%016x" % next(self._numbers)

    def _list(self, kind: str, items: Callable[[bytes], list[Message]], raw: bytes) -> bytes:
        return b"".join(
            self._stream(kind, items, raw)
        )  # messages of a field that repeats can be put one behind the other

    def _stream(self, kind: str, items: Callable[[bytes], list[Message]], raw: bytes) -> list[bytes]:
        """Return the messages of a list; without a filter they are kept until something changes."""
        if raw:
            return chunks(items(raw))
        answer = self._lists.get(kind)
        if answer is None:
            answer = self._lists[kind] = chunks(items(raw))
        return answer

    def _run(self, raw: bytes) -> bytes:
        identity = self._new_id()
        self._sandboxes[identity] = _Made(raw, cri.SANDBOX_READY)
        self._lists.pop("sandboxes", None)
        return identity

    def _stop_sandbox(self, raw: bytes) -> bytes:
        sandbox = self._sandboxes.get(identity_in(raw))
        if sandbox is not None:
            for container in sandbox.children:
                self._exit(container)
            sandbox.state = cri.SANDBOX_NOTREADY
            self._lists.pop("sandboxes", None)
        return b""

    def _remove_sandbox(self, raw: bytes) -> bytes:
        sandbox = self._sandboxes.pop(identity_in(raw), None)
        if sandbox is not None:
            for container in list(sandbox.children):
                self._forget(container)
            self._lists.pop("sandboxes", None)
        return b""

    def _status_of_sandbox(self, raw: bytes) -> bytes:
        identity, sandbox = _named_in(raw, self._sandboxes, "sandbox")
        return self._sandbox_status[sandbox.state].of(identity)

    def _sandbox_items(self, raw: bytes) -> list[Message]:
        wanted = cri.ListPodSandboxRequest.FromString(raw).filter
        items: list[Message] = []
        for identity, made in self._sandboxes.items():
            config = cri.RunPodSandboxRequest.FromString(made.request).config
            if _passes(wanted, identity, made.state, config.labels):
                items.append(
                    cri.PodSandbox(
                        id=identity.decode(),
                        metadata=config.metadata,
                        state=made.state,  # type: ignore[arg-type]  # kept as a plain number
                        created_at=messages.CREATED_AT,
                        labels=config.labels,
                        annotations=config.annotations,
                    )
                )
        return items

    def _create(self, raw: bytes) -> bytes:
        sandbox_id, sandbox = _named_in(raw, self._sandboxes, "sandbox")
        identity = self._new_id()
        self._containers[identity] = _Made(raw, cri.CONTAINER_CREATED, sandbox_id)
        sandbox.children.append(identity)
        self._changed(identity, cri.CONTAINER_CREATED_EVENT)
        return identity

    def _changed(self, identity: bytes, kind: "cri.ContainerEventType") -> None:
        self._lists.pop("containers", None)
        if self.listeners:
            event = self._events[kind].of(identity)
            for tell in tuple(self.listeners):
                tell(event)

    def _start(self, raw: bytes) -> bytes:
        identity, container = _named_in(raw, self._containers, "container")
        container.state = cri.CONTAINER_RUNNING
        self._changed(identity, cri.CONTAINER_STARTED_EVENT)
        return b""

    def _stop(self, raw: bytes) -> bytes:
        self._exit(identity_in(raw))
        return b""

    def _exit(self, identity: bytes) -> None:
        container = self._containers.get(identity)
        if container is not None and container.state != cri.CONTAINER_EXITED:
            container.state = cri.CONTAINER_EXITED
            self._changed(identity, cri.CONTAINER_STOPPED_EVENT)

    def _remove(self, raw: bytes) -> bytes:
        identity = identity_in(raw)
        container = self._containers.get(identity)
        if container is not None:
            self._forget(identity)
            sandbox = self._sandboxes.get(container.parent)
            if sandbox is not None:
                sandbox.children.remove(identity)
        return b""

    def _forget(self, identity: bytes) -> None:
        self._exit(identity)
        if self._containers.pop(identity, None):
            self._changed(identity, cri.CONTAINER_DELETED_EVENT)

    def _status_of_container(self, raw: bytes) -> bytes:
        identity, container = _named_in(raw, self._containers, "container")
        return self._container_status[container.state].of(identity)

    def _container_items(self, raw: bytes) -> list[Message]:
        wanted = cri.ListContainersRequest.FromString(raw).filter
        items: list[Message] = []
        for identity, made in self._containers.items():
            if wanted.pod_sandbox_id and not made.parent.startswith(wanted.pod_sandbox_id.encode()):
                continue
            config = cri.CreateContainerRequest.FromString(made.request).config
            if _passes(wanted, identity, made.state, config.labels):
                items.append(
                    cri.Container(
                        id=identity.decode(),
                        pod_sandbox_id=made.parent.decode(),
                        metadata=config.metadata,
                        image=config.image,
                        image_ref=messages.DIGEST,
                        state=made.state,  # type: ignore[arg-type]  # kept as a plain number
                        created_at=messages.CREATED_AT,
                        labels=config.labels,
                        annotations=config.annotations,
                    )
                )
        return items

    def _pull(self, raw: bytes) -> bytes:
        name = cri.PullImageRequest.FromString(raw).image.image
        image = self._images.get(name)
        if image is None:
            image = self._images[name] = messages.image(name)
            self._lists.pop("images", None)
        return cri.PullImageResponse(image_ref=image.id).SerializeToString()

    def _find_image(self, name: str) -> cri.Image | None:
        return self._images.get(name) or next(
            (image for image in self._images.values() if image.id == name), None
        )

    def _status_of_image(self, raw: bytes) -> bytes:
        return cri.ImageStatusResponse(
            image=self._find_image(cri.ImageStatusRequest.FromString(raw).image.image)
        ).SerializeToString()

    def _remove_image(self, raw: bytes) -> bytes:
        image = self._find_image(cri.RemoveImageRequest.FromString(raw).image.image)
        if image is not None:
            for name in [name for name, other in self._images.items() if other.id == image.id]:
                del self._images[name]
            self._lists.pop("images", None)
        return b""

    def _image_items(self, raw: bytes) -> list[Message]:
        wanted = cri.ListImagesRequest.FromString(raw).filter.image.image
        return [image for name, image in self._images.items() if wanted in {"", name, image.id}]


def _named_in(raw: bytes, made: dict[bytes, _Made], kind: str) -> tuple[bytes, _Made]:
    """Return what a request names, with its id."""
    identity = identity_in(raw)
    found = made.get(identity)
    if found is None:
        raise Refused(grpc.StatusCode.NOT_FOUND, f"no {kind} {identity.decode(errors='replace')!r}")
    return identity, found


def _passes(
    wanted: "cri.PodSandboxFilter | cri.ContainerFilter",
    identity: bytes,
    state: int,
    labels: "cri.PodSandbox | object",
) -> bool:
    if wanted.id and not identity.startswith(wanted.id.encode()):
        return False
    if wanted.HasField("state") and wanted.state.state != state:
        return False
    # a map of texts
    return all(labels.get(key) == value for key, value in wanted.label_selector.items())  # type: ignore[union-attr]  # see above


def _always(message: Message) -> Answer:
    answer = message.SerializeToString()
    return lambda _: answer


def _always_stream(items: list[Message]) -> Stream:
    answer = chunks(items)
    return lambda _: answer
