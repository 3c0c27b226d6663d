"""One side of a benchmark: a runtime with a handler, plain stubs for timed calls and recorded stubs for all
other calls.
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
WAIT_COMMAND = (
    "/bin/sh",
    "-c",
    "trap 'exit 0' TERM; mkfifo /waiting; echo ready; while :; do read -r -t 1 line <>/waiting; done",
)
"""Waits without a child process and exits at once on SIGTERM, so that the runtime is measured and not the
workload. It prints `ready` when the trap is set: PID 1 ignores an earlier SIGTERM, and the runtime would kill
it after the grace period. A shell that receives the signal between two commands notices it when `read`
returns, after at most one second.
"""
OUTPUT_SECONDS = 20.0
OUTPUT_POLL_SECONDS = 0.001
TRIES: Final = 3
"""Attempts to prepare something: a runtime whose every third call fails can be measured. Only failures of
timed calls count.
"""
DISCARD_SECONDS: Final = 15.0
"""Deadline of each call that only removes: with a stalled runtime, not every object may cost the full
deadline.
"""
STATUS_SECONDS: Final = 10.0

T = TypeVar("T")


@dataclass(repr=False)
class Target:
    """One side.

    Attributes:
        side: `a` or `b` in a live comparison, else empty.
        context: the run.
        handler: the runtime handler; empty for the default.
        connection: recorded, with deadlines: for preparation, checks and removal.
        plain: not recorded, without deadlines: for timed calls with `Meter.call`.
        requests: builds configurations with the run's label.
        images: the suite's images.
        capabilities: of runtime and machine.
        retried: failures of preparations that were tried again.
    """

    side: str
    context: RunContext
    handler: str
    connection: Connection
    plain: PlainConnection
    requests: RequestBuilder
    images: TestImages
    capabilities: CapabilityMatrix
    retried: list[str] = field(default_factory=list)
    _parents: list[str] = field(default_factory=list)
    _stalled: bool = False

    @classmethod
    def open(cls, context: RunContext, handler: str, side: str = "") -> "Target":
        """Connect to a run's runtime; the caller must close the target."""
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
        """Runtime, version and handler, for messages."""
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
        """Pull an image of the suite's catalogue and return its name."""
        return self.images.pull(name)

    def require(self, capability: Capability) -> None:
        """End the scenario as unsupported if runtime or machine lack a capability."""
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
        """Return the request for a container that waits and exits on SIGTERM; the options are those of
        `RequestBuilder.container`.
        """
        options.setdefault("command", WAIT_COMMAND)
        image = image or self.image(PLAIN)
        return cri.CreateContainerRequest(
            pod_sandbox_id=sandbox_id,
            config=self.requests.container(image, **options),
            sandbox_config=sandbox,
        )

    @contextlib.contextmanager
    def sandbox(self, **options: Unpack[SandboxOptions]) -> Iterator[Sandbox]:
        """Run a sandbox for the time of a `with`, outside every timed window."""
        sandbox = self.retry(
            lambda: Sandbox.run(self.connection, self._sandbox_config(**options), self.handler)
        )
        try:
            yield sandbox
        finally:
            self.discard(sandbox.id, sandbox.container_ids)

    def running(
        self, sandbox: Sandbox, image: ImageName | None = None, **options: Unpack[ContainerOptions]
    ) -> Container:
        """Start a container in a sandbox and return it; it is removed with the sandbox."""
        options.setdefault("command", WAIT_COMMAND)
        image = image or self.image(PLAIN)
        container = self.retry(lambda: self._started(sandbox, self.requests.container(image, **options)))
        if container.config.command == [*WAIT_COMMAND]:
            self.wait_for_output(sandbox.config, container.config)
        return container

    def _started(self, sandbox: Sandbox, config: cri.ContainerConfig) -> Container:
        container = Container.create(sandbox, config)
        try:
            container.start()
        except grpc.RpcError:
            self.discard_container(container.id)
            raise
        return container

    def retry(self, prepare: Callable[[], T]) -> T:
        """Return the result of a preparation, and retry it when a call fails; not with UNAVAILABLE or
        DEADLINE_EXCEEDED, when the runtime stalls or has exited.

        Raises:
            grpc.RpcError: the last attempt failed too.
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
                self.retried.append(f"{failed_rpc(error)}: {error.code().name}: {str(error.details())[:200]}")
        raise AssertionError("not reached")

    def wait_for_output(self, sandbox: cri.PodSandboxConfig, container: cri.ContainerConfig) -> None:
        """Wait, outside every timed window, until a container has printed something.

        Raises:
            NotDone: it printed nothing in 20 s.
        """
        log = Path(sandbox.log_directory, container.log_path)
        deadline = time.monotonic() + OUTPUT_SECONDS * self.connection.deadlines.scale
        while not (log.exists() and log.stat().st_size):
            if time.monotonic() > deadline:
                msg = f"the started container printed nothing in {OUTPUT_SECONDS:g} s"
                raise NotDone(msg)
            time.sleep(OUTPUT_POLL_SECONDS)

    def sandbox_status(self, sandbox_id: str) -> cri.PodSandboxStatus | None:
        """Return the status of a sandbox, outside every timed window; None if the runtime does not know
        it.
        """
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        response = self._none_if_not_found(
            lambda: self.runtime.PodSandboxStatus(
                request, timeout=STATUS_SECONDS * self.connection.deadlines.scale
            )
        )
        return response.status if response is not None else None

    def container_status(self, container_id: str) -> cri.ContainerStatus | None:
        """Return the status of a container, outside every timed window; None if the runtime does not know
        it.
        """
        request = cri.ContainerStatusRequest(container_id=container_id)
        response = self._none_if_not_found(
            lambda: self.runtime.ContainerStatus(
                request, timeout=STATUS_SECONDS * self.connection.deadlines.scale
            )
        )
        return response.status if response is not None else None

    @staticmethod
    def _none_if_not_found(call: Callable[[], T]) -> T | None:
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                return None
            raise

    def discard(self, sandbox_id: str, container_ids: list[str] | None = None) -> None:
        """Remove a sandbox and its containers, outside every timed window; leave what cannot be removed to
        the clean-up of the run.
        """
        for container_id in container_ids or ():
            self._remove(
                self.runtime.StopContainer, cri.StopContainerRequest(container_id=container_id, timeout=0)
            )
        self._remove(self.runtime.StopPodSandbox, cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        self._remove(self.runtime.RemovePodSandbox, cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))

    def discard_container(self, container_id: str) -> None:
        """Kill and remove a container, outside every timed window; leave one that cannot be removed to the
        clean-up of the run.
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

    def remove_pod_cgroups(self) -> None:
        """Remove the cgroups of removed pods, which on a node is the kubelet's task; thousands of them would
        slow the machine down.
        """
        parents, self._parents = self._parents, []
        for parent in parents:
            for directory in (CGROUP_MOUNT / parent[1:], *CGROUP_MOUNT.glob(f"*{parent}")):
                try:
                    directory.rmdir()
                except FileNotFoundError:
                    continue
                except OSError:  # still in use: try again at the next call
                    self._parents.append(parent)
                    break
