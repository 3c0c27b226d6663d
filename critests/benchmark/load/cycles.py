"""The cycles of a load test, on plain stubs: requests are built beforehand, and each response is checked
after its call was timed.
"""

import contextlib
import secrets
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum, unique
from functools import cached_property
from itertools import cycle
from typing import Any, Generic, TypeVar

import grpc

from critests.api import api_pb2 as cri
from critests.client.deadlines import Deadlines
from critests.client.plain_connection import PlainConnection
from critests.lifecycle.requests import ImageName, RequestBuilder

COMMAND = ("/bin/sh", "-c", "while :; do sleep 3600; done")
"""Waits forever; the runtime stops it with SIGKILL, so that no grace period is measured."""
TRUE = ("/bin/true",)

Prepared = TypeVar("Prepared")
Timed = Callable[..., Any]
"""`timed(rpc, method, request, check=…)` makes and times a call; raises `StepFailed` if the call fails or the
check of its response does.
"""


@unique
class Mix(StrEnum):
    """The work of one cycle."""

    POD = "pod"
    CONTAINER = "container"
    EXEC = "exec"
    LIST = "list"

    @property
    def headline(self) -> str:
        """The name of one cycle."""
        return {Mix.POD: "pod cycle", Mix.CONTAINER: "container cycle", Mix.EXEC: "exec", Mix.LIST: "relist"}[
            self
        ]


class StepFailed(Exception):
    """A call of a cycle failed; the message is its status code."""


class WrongResponse(StepFailed):
    """A call succeeded, but its response shows that the operation did not happen."""


@dataclass
class LoadTarget:
    """The runtime under load.

    Attributes:
        plain: connection of this process.
        requests: builds configurations with the run's label.
        image: image of the containers.
        handler: runtime handler of the pods.
        deadlines: of every call.
    """

    plain: PlainConnection
    requests: RequestBuilder
    image: ImageName
    handler: str
    deadlines: Deadlines

    # grpcio's stubs are typed per method, this takes any
    def call(self, rpc: str, request: Any) -> Any:  # noqa: ANN401 - see above
        """Make a call outside every timed window."""
        return getattr(self.plain.runtime, rpc)(request, timeout=self.deadlines.seconds(rpc, request))

    @cached_property
    def _pod(self) -> cri.PodSandboxConfig:
        """The configuration that all pods share.

        They share a cgroup, because this process does not remove thousands of cgroups, and a log directory,
        because creating one may block on the disk, and with it all other cycles of this process.
        """
        config = self.requests.sandbox("load")
        config.linux.cgroup_parent = self.requests.cgroups.of_pod("load")
        return config

    @cached_property
    def _container(self) -> cri.ContainerConfig:
        return self.requests.container(self.image, "load", command=COMMAND)

    def pod(self) -> cri.RunPodSandboxRequest:
        """Return the request for a pod."""
        request = cri.RunPodSandboxRequest(config=self._pod, runtime_handler=self.handler)
        uid = str(uuid.uuid4())
        request.config.metadata.uid = uid
        request.config.metadata.name = request.config.hostname = f"pod-{uid[:13]}"
        return request

    def container(self, sandbox_id: str, pod: cri.RunPodSandboxRequest) -> cri.CreateContainerRequest:
        """Return the request for a container that waits."""
        request = cri.CreateContainerRequest(
            pod_sandbox_id=sandbox_id, config=self._container, sandbox_config=pod.config
        )
        name = f"container-{secrets.token_hex(8)}"
        request.config.metadata.name, request.config.log_path = name, f"{name}.log"
        return request

    def discard(self, sandbox_id: str) -> None:
        """Remove a pod with its containers, untimed; leave what cannot be removed to the clean-up of the
        run.
        """
        with contextlib.suppress(grpc.RpcError):
            self.call("StopPodSandbox", cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        with contextlib.suppress(grpc.RpcError):
            self.call("RemovePodSandbox", cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))


class Work(ABC, Generic[Prepared]):
    """The work of one mix."""

    def __init__(self, target: LoadTarget, pods: int) -> None:
        self.target = target
        self.pods = pods

    def set_up(self) -> None:
        """Create the pods that exist during the load. Raises grpc.RpcError."""

    @abstractmethod
    def prepare(self) -> Prepared:
        """Build the requests of one cycle."""

    @abstractmethod
    def run(self, prepared: Prepared, timed: Timed) -> None:
        """Run one cycle. Raises StepFailed."""

    def clean_up(self, prepared: Prepared) -> None:
        """Remove, untimed, what a failed cycle left in the runtime."""


@dataclass
class LoadPod:
    """The requests of a pod cycle, and the sandbox that is not yet removed."""

    sandbox: cri.RunPodSandboxRequest
    container: cri.CreateContainerRequest
    left: str = ""


class PodWork(Work[LoadPod]):
    """The lifecycle of a pod with one container, with the calls of the kubelet."""

    def prepare(self) -> LoadPod:
        """Build the requests."""
        sandbox = self.target.pod()
        return LoadPod(sandbox, self.target.container("", sandbox))

    def run(self, prepared: LoadPod, timed: Timed) -> None:
        """Run the lifecycle of one pod."""
        runtime = self.target.plain.runtime
        response = timed(
            "RunPodSandbox",
            runtime.RunPodSandbox,
            prepared.sandbox,
            check=lambda response: response.pod_sandbox_id,
        )
        sandbox_id = response.pod_sandbox_id
        prepared.left = prepared.container.pod_sandbox_id = sandbox_id
        run_container_lifecycle(runtime, prepared.container, timed)
        timed(
            "StopPodSandbox",
            runtime.StopPodSandbox,
            cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id),
        )
        timed(
            "RemovePodSandbox",
            runtime.RemovePodSandbox,
            cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id),
        )
        prepared.left = ""

    def clean_up(self, prepared: LoadPod) -> None:
        """Remove what a failed cycle left."""
        if prepared.left:
            self.target.discard(prepared.left)


@dataclass
class IdlePod:
    """A pod that exists during the load, with one running container."""

    request: cri.RunPodSandboxRequest
    sandbox: str
    container: str = ""


class ExistingPodsWork(Work[Prepared]):
    """Work on pods that exist during the load."""

    with_container = True

    def __init__(self, target: LoadTarget, pods: int) -> None:
        super().__init__(target, pods)
        self.existing: list[IdlePod] = []
        self._next = cycle(self.existing)

    def set_up(self) -> None:
        """Create the pods, each with a running container if the work needs one."""
        for _ in range(max(1, self.pods) - len(self.existing)):
            request = self.target.pod()
            pod = IdlePod(request, self.target.call("RunPodSandbox", request).pod_sandbox_id)
            if self.with_container:
                pod.container = self.target.call(
                    "CreateContainer", self.target.container(pod.sandbox, request)
                ).container_id
                self.target.call("StartContainer", cri.StartContainerRequest(container_id=pod.container))
            self.existing.append(pod)
        self._next = cycle(self.existing)

    def pick(self) -> IdlePod:
        """Return the next pod, in turn."""
        return next(self._next)


@dataclass
class Creation:
    """The request of a container cycle, and the containers that are not yet removed."""

    request: cri.CreateContainerRequest
    left: list[str] = field(default_factory=list)


class ContainerWork(ExistingPodsWork[Creation]):
    """The lifecycle of a container in an existing pod."""

    with_container = False

    def prepare(self) -> Creation:
        """Build the request."""
        pod = self.pick()
        return Creation(self.target.container(pod.sandbox, pod.request))

    def run(self, prepared: Creation, timed: Timed) -> None:
        """Run the lifecycle of one container."""
        run_container_lifecycle(self.target.plain.runtime, prepared.request, timed, prepared.left)

    def clean_up(self, prepared: Creation) -> None:
        """Remove what a failed cycle left."""
        for container in prepared.left:
            with contextlib.suppress(grpc.RpcError):
                self.target.call("RemoveContainer", cri.RemoveContainerRequest(container_id=container))


class ExecWork(ExistingPodsWork[cri.ExecSyncRequest]):
    """A command in a running container, as in an exec probe."""

    def prepare(self) -> cri.ExecSyncRequest:
        """Build the request."""
        return cri.ExecSyncRequest(container_id=self.pick().container, cmd=TRUE, timeout=10)

    def run(self, prepared: cri.ExecSyncRequest, timed: Timed) -> None:
        """Run the command."""
        timed(
            "ExecSync",
            self.target.plain.runtime.ExecSync,
            prepared,
            check=lambda response: response.exit_code == 0,
        )


class ListWork(ExistingPodsWork[tuple[cri.ListPodSandboxRequest, cri.ListContainersRequest]]):
    """Both complete lists, which the kubelet requests every second."""

    def prepare(self) -> tuple[cri.ListPodSandboxRequest, cri.ListContainersRequest]:
        """Build both requests."""
        return cri.ListPodSandboxRequest(), cri.ListContainersRequest()

    def run(
        self, prepared: tuple[cri.ListPodSandboxRequest, cri.ListContainersRequest], timed: Timed
    ) -> None:
        """Request both lists; the existing pods must be in them."""
        runtime, expected = self.target.plain.runtime, len(self.existing)
        timed(
            "ListPodSandbox",
            runtime.ListPodSandbox,
            prepared[0],
            check=lambda response: len(response.items) >= expected,
        )
        timed(
            "ListContainers",
            runtime.ListContainers,
            prepared[1],
            check=lambda response: len(response.containers) >= expected,
        )


def run_container_lifecycle(
    runtime: Any,  # noqa: ANN401 - the stub's class is generated without a base
    request: cri.CreateContainerRequest,
    timed: Timed,
    left: list[str] | None = None,
) -> None:
    """Create, start, check, kill and remove a container."""
    container_id = timed(
        "CreateContainer", runtime.CreateContainer, request, check=lambda response: response.container_id
    ).container_id
    if left is not None:
        left.append(container_id)
    timed("StartContainer", runtime.StartContainer, cri.StartContainerRequest(container_id=container_id))
    timed(
        "ContainerStatus",
        runtime.ContainerStatus,
        cri.ContainerStatusRequest(container_id=container_id),
        check=lambda response: response.status.state == cri.CONTAINER_RUNNING,
    )
    timed(
        "StopContainer", runtime.StopContainer, cri.StopContainerRequest(container_id=container_id, timeout=0)
    )
    timed("RemoveContainer", runtime.RemoveContainer, cri.RemoveContainerRequest(container_id=container_id))
    if left is not None:
        left.remove(container_id)


def work_for(mix: Mix, target: LoadTarget, pods: int) -> Work[Any]:
    """Return the work of a mix."""
    kinds: dict[Mix, type[Work[Any]]] = {
        Mix.POD: PodWork,
        Mix.CONTAINER: ContainerWork,
        Mix.EXEC: ExecWork,
        Mix.LIST: ListWork,
    }
    return kinds[mix](target, pods)
