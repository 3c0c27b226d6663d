"""A plain client for unit tests: raw stubs, and helpers for a running container."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

import grpc

from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc

Value = TypeVar("Value")

IMAGE = "example.test/busybox:1"


@dataclass
class Client:
    """Both stubs on one channel."""

    runtime: cri_grpc.RuntimeServiceStub
    image: cri_grpc.ImageServiceStub
    channel: grpc.Channel
    log_directory: str = ""

    def sandbox_config(self, name: str, **labels: str) -> cri.PodSandboxConfig:
        """Return the configuration of a sandbox."""
        metadata = cri.PodSandboxMetadata(name=name, uid=name, namespace="unit")
        return cri.PodSandboxConfig(metadata=metadata, labels=labels, log_directory=self.log_directory)

    def run_sandbox(self, name: str = "box", **labels: str) -> str:
        """Run a sandbox; return its id."""
        answer = self.runtime.RunPodSandbox(
            cri.RunPodSandboxRequest(config=self.sandbox_config(name, **labels)), timeout=10
        )
        return answer.pod_sandbox_id

    def create_container(
        self, sandbox_id: str, command: list[str], name: str = "main", **fields: object
    ) -> str:
        """Create a container; return its id."""
        self.image.PullImage(cri.PullImageRequest(image=cri.ImageSpec(image=IMAGE)), timeout=10)
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name),
            image=cri.ImageSpec(image=IMAGE),
            command=command,
            log_path=f"{name}.log",
            **fields,  # type: ignore[arg-type]  # whatever field of the message a test sets
        )
        request = cri.CreateContainerRequest(
            pod_sandbox_id=sandbox_id, config=config, sandbox_config=self.sandbox_config("box")
        )
        return self.runtime.CreateContainer(request, timeout=10).container_id

    def run_container(self, sandbox_id: str, command: list[str], name: str = "main", **fields: object) -> str:
        """Create and start a container; return its id."""
        container_id = self.create_container(sandbox_id, command, name, **fields)
        self.runtime.StartContainer(cri.StartContainerRequest(container_id=container_id), timeout=10)
        return container_id

    def status(self, container_id: str) -> cri.ContainerStatus:
        """Return the status of a container."""
        return self.runtime.ContainerStatus(
            cri.ContainerStatusRequest(container_id=container_id), timeout=10
        ).status

    def wait_exited(self, container_id: str) -> cri.ContainerStatus:
        """Wait until a container has exited; return its status then."""
        return eventually(
            lambda: self.status(container_id), lambda status: status.state == cri.CONTAINER_EXITED
        )


def eventually(read: Callable[[], Value], good: Callable[[Value], bool], seconds: float = 10) -> Value:
    """Return the first good value; fail with the last one."""
    deadline = time.monotonic() + seconds
    while True:
        value = read()
        if good(value):
            return value
        assert time.monotonic() < deadline, f"never good within {seconds} s; last value: {value}"
        time.sleep(0.01)


def code_of(error: grpc.RpcError) -> grpc.StatusCode:
    """Return the code of a failed call."""
    return cast("grpc.Call", error).code()


@contextlib.contextmanager
def connect(endpoint: str, log_directory: str = "") -> Iterator[Client]:
    """Yield a client of an endpoint, without a limit on the size of messages."""
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(endpoint, options) as channel:
        yield Client(
            cri_grpc.RuntimeServiceStub(channel), cri_grpc.ImageServiceStub(channel), channel, log_directory
        )
