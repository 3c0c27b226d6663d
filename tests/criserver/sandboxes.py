"""The sandbox half of the small CRI server's RuntimeService."""

import time
from collections.abc import Iterator, Mapping
from typing import NoReturn

import grpc

from critests.api import api_pb2 as cri
from tests.criserver.state import Container, Sandbox, Store, new_id

HANDLERS = ("", "runc", "other")


class RpcFailure(Exception):
    """An RPC's response with a code other than OK."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


def fail_with(code: grpc.StatusCode, details: str) -> NoReturn:
    """Return a code other than OK from an RPC.

    Raises:
        RpcFailure: always; the server turns it into the response.
    """
    raise RpcFailure(code, details)


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether labels match a selector."""
    return all(labels.get(key) == value for key, value in selector.items())


class Sandboxes:
    """RunPodSandbox, StopPodSandbox, RemovePodSandbox, PodSandboxStatus and the lists."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self, sandbox_id: str) -> Sandbox:
        """Return a sandbox by its id.

        Raises:
            RpcFailure: NOT_FOUND.
        """
        with self.store.lock:
            sandbox = self.store.sandboxes.get(sandbox_id)
        if sandbox is None:
            fail_with(grpc.StatusCode.NOT_FOUND, f"no sandbox with id {sandbox_id!r}")
        return sandbox

    def run(self, request: cri.RunPodSandboxRequest) -> cri.RunPodSandboxResponse:
        """RunPodSandbox."""
        metadata = request.config.metadata
        if not (metadata.name and metadata.namespace and metadata.uid):
            fail_with(
                grpc.StatusCode.INVALID_ARGUMENT, "sandbox metadata needs a name, a namespace and a uid"
            )
        if request.runtime_handler not in HANDLERS:
            fail_with(
                grpc.StatusCode.NOT_FOUND, f"no runtime handler {request.runtime_handler!r} is configured"
            )
        with self.store.lock:
            if any(sandbox.config.metadata == metadata for sandbox in self.store.sandboxes.values()):
                fail_with(grpc.StatusCode.ALREADY_EXISTS, f"sandbox name {metadata.name!r} is taken")
            on_node = request.config.linux.security_context.namespace_options.network == cri.NODE
            sandbox = Sandbox(
                new_id(), request.config, request.runtime_handler, "" if on_node else self.store.new_ip()
            )
            self.store.sandboxes[sandbox.id] = sandbox
        self.store.send_event(sandbox.id, sandbox.id, cri.CONTAINER_CREATED_EVENT)
        self.store.send_event(sandbox.id, sandbox.id, cri.CONTAINER_STARTED_EVENT)
        return cri.RunPodSandboxResponse(pod_sandbox_id=sandbox.id)

    def stop(self, sandbox_id: str, grace: float = 0.5) -> None:
        """StopPodSandbox: stop its containers too. Unknown ids count as stopped."""
        with self.store.lock:  # first, so that nothing is created or started in it meanwhile
            sandbox = self.store.sandboxes.get(sandbox_id)
            was_ready = sandbox is not None and sandbox.state == cri.SANDBOX_READY
            if sandbox is not None:
                sandbox.state = cri.SANDBOX_NOTREADY
        for container in self.store.containers_of(sandbox_id):
            container.process.stop(15, grace)
        if was_ready:
            self.store.send_event(sandbox_id, sandbox_id, cri.CONTAINER_STOPPED_EVENT)

    def remove(self, sandbox_id: str) -> list[Container]:
        """RemovePodSandbox: remove its containers too, and return them. Unknown ids count as removed."""
        self.stop(sandbox_id)
        with self.store.lock:
            known = self.store.sandboxes.pop(sandbox_id, None)
            containers = self.store.containers_of(sandbox_id)
            for container in containers:
                del self.store.containers[container.id]
        if known:
            for container in containers:
                self.store.send_event(container.id, sandbox_id, cri.CONTAINER_DELETED_EVENT)
            self.store.send_event(sandbox_id, sandbox_id, cri.CONTAINER_DELETED_EVENT)
        return containers

    def status(self, request: cri.PodSandboxStatusRequest) -> cri.PodSandboxStatusResponse:
        """PodSandboxStatus, with the statuses of the sandbox's containers at that time."""
        sandbox = self.get(request.pod_sandbox_id)
        info = {"info": '{"pid": 1}'} if request.verbose else {}
        containers = [container.status() for container in self.store.containers_of(sandbox.id)]
        return cri.PodSandboxStatusResponse(
            status=sandbox.status(), info=info, containers_statuses=containers, timestamp=time.time_ns()
        )

    def matching(self, wanted: cri.PodSandboxFilter) -> Iterator[cri.PodSandbox]:
        """Yield the sandboxes that match a filter, newest first."""
        with self.store.lock:
            sandboxes = list(reversed(self.store.sandboxes.values()))
        for sandbox in sandboxes:
            if wanted.id and not sandbox.id.startswith(wanted.id):
                continue
            if wanted.HasField("state") and wanted.state.state != sandbox.state:
                continue
            if selects(wanted.label_selector, sandbox.config.labels):
                yield sandbox.item()
