"""A sandbox of the suite: run, observe, stop and remove it."""

from dataclasses import dataclass, field
from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.lifecycle.assertions import single
from critests.lifecycle.verbose_info import objects_of


@dataclass
class Sandbox:
    """A sandbox that the suite created.

    Attributes:
        connection: to its runtime.
        id: returned by RunPodSandbox.
        config: of the request.
        handler: the requested runtime handler; empty for the default.
    """

    connection: Connection = field(repr=False)
    id: str
    config: cri.PodSandboxConfig = field(repr=False)
    handler: str = ""
    container_ids: list[str] = field(default_factory=list, repr=False)

    @classmethod
    def run(cls, connection: Connection, config: cri.PodSandboxConfig, handler: str = "") -> "Sandbox":
        """Create a sandbox with RunPodSandbox."""
        response = connection.runtime.RunPodSandbox(
            cri.RunPodSandboxRequest(config=config, runtime_handler=handler)
        )
        return cls(connection, response.pod_sandbox_id, config, handler)

    @property
    def log_directory(self) -> Path:
        """The directory of its containers' logs."""
        return Path(self.config.log_directory)

    def status(self) -> cri.PodSandboxStatus:
        """Return its PodSandboxStatus."""
        return self.connection.runtime.PodSandboxStatus(
            cri.PodSandboxStatusRequest(pod_sandbox_id=self.id)
        ).status

    def verbose_value(self, key: str) -> object:
        """Return the value of a key in its verbose status, such as `pid`; None if it is missing."""
        response = self.connection.runtime.PodSandboxStatus(
            cri.PodSandboxStatusRequest(pod_sandbox_id=self.id, verbose=True)
        )
        found: object = next((value[key] for value in objects_of(response.info) if key in value), None)
        return found

    def state(self) -> int:
        """Return its state (`SANDBOX_READY` or `SANDBOX_NOTREADY`)."""
        return self.status().state

    def entries(self) -> list[cri.PodSandbox]:
        """Return its entries in the list of all sandboxes: one, or none after its removal."""
        listed = self.connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
        return [entry for entry in listed if entry.id == self.id]

    def entry(self) -> cri.PodSandbox:
        """Return its only entry in the list of all sandboxes; raises AssertionError for none or several."""
        return single("its entry in ListPodSandbox", self.entries())

    def stop(self) -> None:
        """Stop it; its containers are killed first, to avoid their grace periods."""
        for container_id in self.container_ids:
            kill(self.connection, container_id)
        self.connection.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=self.id))

    def discard(self) -> None:
        """Stop and remove it with its containers."""
        self.stop()
        self.connection.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=self.id))


def kill(connection: Connection, container_id: str) -> None:
    """Stop a container without a grace period; NotFound is ignored."""
    try:
        connection.runtime.StopContainer(cri.StopContainerRequest(container_id=container_id, timeout=0))
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
