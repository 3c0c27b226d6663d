"""The state of the small CRI server: sandboxes, containers, images, and the clients that listen for
events.
"""

import queue
import secrets
import threading
import time
from dataclasses import dataclass, field

from critests.api import api_pb2 as cri
from tests.criserver.processes import ContainerProcess


def new_id() -> str:
    """Return an id like a runtime's: 64 hexadecimal digits."""
    return secrets.token_hex(32)


@dataclass
class ImageConfig:
    """An image's defaults for processes."""

    entrypoint: list[str] = field(default_factory=list)
    cmd: list[str] = field(default_factory=list)
    env: list[str] = field(default_factory=list)
    user: str = ""
    stop_signal: str = ""


@dataclass
class StoredImage:
    """A pulled image: its id, its names, and its configuration."""

    id: str
    tags: list[str]
    digests: list[str]
    size: int
    config: ImageConfig

    def message(self) -> cri.Image:
        """Return the image for ListImages and ImageStatus."""
        image = cri.Image(
            id=self.id,
            repo_tags=self.tags,
            repo_digests=self.digests,
            size=self.size,
            spec=cri.ImageSpec(image=self.tags[0] if self.tags else self.id),
        )
        user = self.config.user.partition(":")[0]
        if user.isdigit():
            image.uid.value = int(user)
        else:
            image.username = user
        return image


@dataclass
class Sandbox:
    """One pod sandbox."""

    id: str
    config: cri.PodSandboxConfig
    runtime_handler: str
    ip: str
    created_at: int = field(default_factory=time.time_ns)
    state: cri.PodSandboxState = cri.SANDBOX_READY

    def item(self) -> cri.PodSandbox:
        """Return the sandbox's list entry."""
        return cri.PodSandbox(
            id=self.id,
            metadata=self.config.metadata,
            state=self.state,
            created_at=self.created_at,
            labels=self.config.labels,
            annotations=self.config.annotations,
            runtime_handler=self.runtime_handler,
        )

    def status(self) -> cri.PodSandboxStatus:
        """Return the sandbox's status."""
        status = cri.PodSandboxStatus(
            id=self.id,
            metadata=self.config.metadata,
            state=self.state,
            created_at=self.created_at,
            network=self._network(),
            labels=self.config.labels,
            annotations=self.config.annotations,
            runtime_handler=self.runtime_handler,
        )
        status.linux.namespaces.options.CopyFrom(self.config.linux.security_context.namespace_options)
        return status

    def _network(self) -> cri.PodSandboxNetworkStatus:
        """Return both addresses: those of the two families end with the same two numbers."""
        if self.state != cri.SANDBOX_READY or not self.ip:
            return cri.PodSandboxNetworkStatus()
        third, fourth = self.ip.split(".")[2:]
        return cri.PodSandboxNetworkStatus(
            ip=self.ip, additional_ips=[cri.PodIP(ip=f"fd00:77::{third}:{fourth}")]
        )


@dataclass(frozen=True)
class Saved:
    """A container in a checkpoint: its configuration, and how many lines it had printed by stream."""

    config: cri.ContainerConfig
    printed: dict[str, int]


@dataclass
class Container:
    """One container; its process, once started, runs on this machine."""

    id: str
    sandbox_id: str
    config: cri.ContainerConfig
    image: StoredImage
    log_path: str
    stop_signal: cri.Signal
    process: ContainerProcess
    created_at: int = field(default_factory=time.time_ns)
    start_failed: str = ""

    @property
    def state(self) -> cri.ContainerState:
        """The state of the container's process."""
        if self.process.finished_at:
            return cri.CONTAINER_EXITED
        return cri.CONTAINER_RUNNING if self.process.started_at else cri.CONTAINER_CREATED

    def item(self) -> cri.Container:
        """Return the container's list entry."""
        return cri.Container(
            id=self.id,
            pod_sandbox_id=self.sandbox_id,
            metadata=self.config.metadata,
            image=self.config.image,
            image_ref=self.image.id,
            image_id=self.image.id,
            state=self.state,
            created_at=self.created_at,
            labels=self.config.labels,
            annotations=self.config.annotations,
        )

    def status(self) -> cri.ContainerStatus:
        """Return the container's status."""
        process = self.process
        exited = self.state == cri.CONTAINER_EXITED
        reason = (
            ("StartError" if self.start_failed else "Error" if process.exit_code else "Completed")
            if exited
            else ""
        )
        status = cri.ContainerStatus(
            id=self.id,
            metadata=self.config.metadata,
            state=self.state,
            created_at=self.created_at,
            started_at=process.started_at,
            finished_at=process.finished_at,
            exit_code=process.exit_code if exited else 0,
            image=cri.ImageSpec(
                image=self.image.tags[0] if self.image.tags else self.config.image.image,
                user_specified_image=self.config.image.user_specified_image,
            ),
            image_ref=self.image.digests[0] if self.image.digests else self.image.id,
            image_id=self.image.id,
            reason=reason,
            message=self.start_failed,
            labels=self.config.labels,
            annotations=self.config.annotations,
            mounts=self.config.mounts,
            log_path=self.log_path,
            stop_signal=self.stop_signal,
        )
        status.resources.linux.CopyFrom(self.config.linux.resources)
        user = self.config.linux.security_context
        status.user.linux.uid = user.run_as_user.value
        status.user.linux.gid = user.run_as_group.value
        status.user.linux.supplemental_groups.extend(user.supplemental_groups)
        return status


class Store:
    """The server's whole state, with one lock. Callers hold `lock` while they read or change the tables."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.sandboxes: dict[str, Sandbox] = {}
        self.containers: dict[str, Container] = {}
        self.images: dict[str, StoredImage] = {}
        self._listeners: list[queue.SimpleQueue[cri.ContainerEventResponse | None]] = []
        self._next_ip = 1

    def new_ip(self) -> str:
        """Return a pod address that no other sandbox has had."""
        with self.lock:
            self._next_ip += 1
            return f"10.77.{self._next_ip // 250}.{self._next_ip % 250 + 2}"

    def find_image(self, reference: str) -> StoredImage | None:
        """Return the image with an id, tag or digest."""
        with self.lock:
            for image in self.images.values():
                if reference in {image.id, image.id.removeprefix("sha256:"), *image.tags, *image.digests}:
                    return image
        return None

    def containers_of(self, sandbox_id: str) -> list[Container]:
        """Return the containers of a sandbox, oldest first."""
        with self.lock:
            return [container for container in self.containers.values() if container.sandbox_id == sandbox_id]

    def listen(self) -> queue.SimpleQueue[cri.ContainerEventResponse | None]:
        """Return a queue that receives every event from now on; None ends it."""
        listener: queue.SimpleQueue[cri.ContainerEventResponse | None] = queue.SimpleQueue()
        with self.lock:
            self._listeners.append(listener)
        return listener

    def unlisten(self, listener: queue.SimpleQueue[cri.ContainerEventResponse | None]) -> None:
        """Send no more events to this queue, and end it."""
        with self.lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
        listener.put(None)

    def unlisten_all(self) -> None:
        """End every queue of events."""
        with self.lock:
            listeners = list(self._listeners)
        for listener in listeners:
            self.unlisten(listener)

    def send_event(self, container_id: str, sandbox_id: str, kind: cri.ContainerEventType) -> None:
        """Send an event about a container, or about a sandbox (then both ids are its id), to all
        listeners.
        """
        with self.lock:
            event = cri.ContainerEventResponse(
                container_id=container_id, container_event_type=kind, created_at=time.time_ns()
            )
            sandbox = self.sandboxes.get(sandbox_id)
            if sandbox:
                event.pod_sandbox_status.CopyFrom(sandbox.status())
            event.containers_statuses.extend(
                container.status() for container in self.containers_of(sandbox_id)
            )
            for listener in self._listeners:
                listener.put(event)
