"""One side of a benchmark: a runtime with a handler, plain stubs for what is timed and recorded ones for
everything else.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar, Unpack

import grpc

from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc
from critests.benchmark.measuring.meter import NotDone
from critests.catalogue.words import Capability
from critests.client.connection import Connection
from critests.client.failures import failed_rpc
from critests.client.plain_connection import PlainConnection, plain_stubs
from critests.lifecycle.container import Container
from critests.lifecycle.process_cgroups import MOUNT as CGROUP_MOUNT
from critests.lifecycle.requests import ContainerOptions, ImageName, RequestBuilder, SandboxOptions
from critests.lifecycle.sandbox import Sandbox
from critests.node.observing.capabilities import CapabilityMatrix
from critests.run.context import RunContext, tls_files
from critests.run.outcomes import Unsupported
from critests.run.pulled_images import TestImages

PLAIN = "plain"
WAITING = (
    "/bin/sh",
    "-c",
    "trap 'exit 0' TERM; mkfifo /waiting; echo ready; while :; do read -r -t 1 line <>/waiting; done",
)
"""Waits without a child and ends at once at SIGTERM, so that what is measured is the runtime and not the
workload. It says when it is ready: a first process to which SIGTERM comes earlier loses it, and would be
stopped by force after its grace period. A shell that gets the signal between two commands notices when `read`
returns, and so after a second at most.
"""
OUTPUT_SECONDS = 20.0
OUTPUT_POLL_SECONDS = 0.001
TRIES: Final = 3
"""For what is only prepared: a runtime of which every third call fails can be measured; what failed is
counted where it is timed.
"""
DISCARD_SECONDS: Final = 15.0
"""For each call that only removes: a runtime that stalls is not waited for in full at every object."""
LOOK_SECONDS: Final = 10.0

T = TypeVar("T")


@dataclass(repr=False)
class Target:
    """One side.

    Attributes:
        side: `a` or `b` in a live comparison, else empty.
        context: the run that it belongs to.
        handler: the runtime handler; empty for the default.
        connection: recorded, with deadlines: for preparing, looking and removing.
        plain: without either: for timed calls, by way of `Meter.call`.
        requests: builds configurations that carry the run's label.
        images: the suite's images.
        capabilities: what runtime and machine offer.
        again: failures of what was only prepared, and was then tried again.
    """

    side: str
    context: RunContext
    handler: str
    connection: Connection
    plain: PlainConnection
    requests: RequestBuilder
    images: TestImages
    capabilities: CapabilityMatrix
    again: list[str] = field(default_factory=list)
    _parents: list[str] = field(default_factory=list)
    _stalled: bool = False

    @classmethod
    def open(cls, context: RunContext, handler: str, side: str = "") -> "Target":
        """Connect to a run's runtime; whoever opens it closes it."""
        connection = context.connect()
        images = TestImages(connection, context)
        plain = plain_stubs(context.endpoint, context.image_endpoint, tls_files(context.settings))
        return cls(
            side,
            context,
            handler,
            connection,
            plain,
            context.requests(),
            images,
            context.matrix(connection, handler, images.pull),
        )

    def close(self) -> None:
        """Close both connections."""
        self.connection.close()
        self.plain.close()

    def __repr__(self) -> str:
        return f"<{self.side or 'target'}: {self.name}>"

    @property
    def name(self) -> str:
        """Runtime, version and handler, as a person would say it."""
        version = self.context.version
        return (
            f"{version.runtime_name} {version.runtime_version}{f' ({self.handler})' if self.handler else ''}"
        )

    @property
    def runtime(self) -> cri_grpc.RuntimeServiceStub:
        """The plain RuntimeService, for `Meter.call`."""
        return self.plain.runtime

    @property
    def image_service(self) -> cri_grpc.ImageServiceStub:
        """The plain ImageService, for `Meter.call`."""
        return self.plain.images

    def image(self, name: str) -> ImageName:
        """Return an image of the suite's catalogue that the runtime holds."""
        return self.images.pull(name)

    def needs(self, capability: Capability) -> None:
        """End the scenario as unsupported where runtime or machine do not offer something."""
        fact = self.capabilities.fact(capability)
        if not fact.present:
            msg = f"{self.name}: {capability.value}: {fact.evidence}"
            raise Unsupported(msg)

    def sandbox_request(self, **options: Unpack[SandboxOptions]) -> cri.RunPodSandboxRequest:
        """Return the request for a sandbox; the options are those of `RequestBuilder.sandbox`."""
        return cri.RunPodSandboxRequest(config=self._sandbox_config(**options), runtime_handler=self.handler)

    def _sandbox_config(self, **options: Unpack[SandboxOptions]) -> cri.PodSandboxConfig:
        config = self.requests.sandbox(**options)
        if config.linux.cgroup_parent.startswith("/"):
            self._parents.append(config.linux.cgroup_parent)
        return config

    def container_request(
        self,
        sandbox_id: str,
        sandbox: cri.PodSandboxConfig,
        image: ImageName | None = None,
        **options: Unpack[ContainerOptions],
    ) -> cri.CreateContainerRequest:
        """Return the request for a container that waits and obeys SIGTERM; the options are those of
        `RequestBuilder.container`.
        """
        options.setdefault("command", WAITING)
        image = image or self.image(PLAIN)
        return cri.CreateContainerRequest(
            pod_sandbox_id=sandbox_id,
            config=self.requests.container(image, **options),
            sandbox_config=sandbox,
        )

    @contextlib.contextmanager
    def sandbox(self, **options: Unpack[SandboxOptions]) -> Iterator[Sandbox]:
        """Hold a sandbox for the time of a `with`, outside every timed window."""
        made = self.persistently(
            lambda: Sandbox.run(self.connection, self._sandbox_config(**options), self.handler)
        )
        try:
            yield made
        finally:
            self.discard(made.id, made.container_ids)

    def running(
        self, sandbox: Sandbox, image: ImageName | None = None, **options: Unpack[ContainerOptions]
    ) -> Container:
        """Return a container that runs in a sandbox; it goes with the sandbox."""
        options.setdefault("command", WAITING)
        image = image or self.image(PLAIN)
        made = self.persistently(lambda: self._started(sandbox, self.requests.container(image, **options)))
        if made.config.command == [*WAITING]:
            self.until_output(sandbox.config, made.config)
        return made

    def _started(self, sandbox: Sandbox, config: cri.ContainerConfig) -> Container:
        made = Container.create(sandbox, config)
        try:
            made.start()
        except grpc.RpcError:
            self.discard_container(made.id)
            raise
        return made

    def persistently(self, prepare: Callable[[], T]) -> T:
        """Return what a preparation gives, tried again when a call of it fails; a stalled or dead runtime is
        not asked twice.

        Raises:
            grpc.RpcError: the last try failed too.
        """
        for left in reversed(range(TRIES)):
            try:
                return prepare()
            except grpc.RpcError as error:
                if not left or error.code() in {
                    grpc.StatusCode.UNAVAILABLE,
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                }:
                    raise
                self.again.append(f"{failed_rpc(error)}: {error.code().name}: {str(error.details())[:200]}")
        raise AssertionError("not reached")

    def until_output(self, sandbox: cri.PodSandboxConfig, container: cri.ContainerConfig) -> None:
        """Wait, outside every timed window, until a container has printed something.

        Raises:
            NotDone: it printed nothing within twenty seconds.
        """
        log = Path(sandbox.log_directory, container.log_path)
        deadline = time.monotonic() + OUTPUT_SECONDS * self.connection.deadlines.scale
        while not (log.exists() and log.stat().st_size):
            if time.monotonic() > deadline:
                msg = f"the container was started, and printed nothing in {OUTPUT_SECONDS:g} s"
                raise NotDone(msg)
            time.sleep(OUTPUT_POLL_SECONDS)

    def sandbox_status(self, sandbox_id: str) -> cri.PodSandboxStatus | None:
        """Look at a sandbox outside every timed window; None where the runtime does not know it."""
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        answer = self._looked(
            lambda: self.runtime.PodSandboxStatus(
                request, timeout=LOOK_SECONDS * self.connection.deadlines.scale
            )
        )
        return answer.status if answer is not None else None

    def container_status(self, container_id: str) -> cri.ContainerStatus | None:
        """Look at a container outside every timed window; None where the runtime does not know it."""
        request = cri.ContainerStatusRequest(container_id=container_id)
        answer = self._looked(
            lambda: self.runtime.ContainerStatus(
                request, timeout=LOOK_SECONDS * self.connection.deadlines.scale
            )
        )
        return answer.status if answer is not None else None

    @staticmethod
    def _looked(look: Callable[[], T]) -> T | None:
        try:
            return look()
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                return None
            raise

    def discard(self, sandbox_id: str, container_ids: list[str] | None = None) -> None:
        """Remove a sandbox and what is in it, outside every timed window; what will not go is left to the end
        of the run.
        """
        for container_id in container_ids or ():
            self._remove(
                self.runtime.StopContainer, cri.StopContainerRequest(container_id=container_id, timeout=0)
            )
        self._remove(self.runtime.StopPodSandbox, cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        self._remove(self.runtime.RemovePodSandbox, cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))

    def discard_container(self, container_id: str) -> None:
        """Kill and remove a container, outside every timed window; one that will not go is left to the end of
        the run.
        """
        self._remove(
            self.runtime.StopContainer, cri.StopContainerRequest(container_id=container_id, timeout=0)
        )
        self._remove(self.runtime.RemoveContainer, cri.RemoveContainerRequest(container_id=container_id))

    def _remove(self, method: Callable[..., object], request: object) -> None:
        seconds = 1.0 if self._stalled else DISCARD_SECONDS
        try:
            method(request, timeout=seconds * self.connection.deadlines.scale)
            self._stalled = False
        except grpc.RpcError as error:
            self._stalled = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED

    def sweep(self) -> None:
        """Remove the cgroups of pods that are gone: as the kubelet does, and nobody else; thousands of them
        would slow the machine down.
        """
        parents, self._parents = self._parents, []
        for parent in parents:
            for directory in (CGROUP_MOUNT / parent[1:], *CGROUP_MOUNT.glob(f"*{parent}")):
                try:
                    directory.rmdir()
                except FileNotFoundError:
                    continue
                except OSError:  # still in use: looked at again the next time
                    self._parents.append(parent)
                    break
