"""What one arrival does, on stubs that record nothing: requests built beforehand, each answer looked at after
its time was taken.
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
"""Waits for ever; it is ended by SIGKILL, so that no grace period is measured."""
TRUE = ("/bin/true",)

Prepared = TypeVar("Prepared")
Timed = Callable[..., Any]
"""`timed(rpc, method, request, right=…)` makes a call and takes its time; raises `StepFailed` where the call
or its answer is wrong.
"""


@unique
class Mix(StrEnum):
    """What one cycle does."""

    POD = "pod"
    CONTAINER = "container"
    EXEC = "exec"
    LIST = "list"

    @property
    def headline(self) -> str:
        """What one cycle is called."""
        return {Mix.POD: "pod cycle", Mix.CONTAINER: "container cycle", Mix.EXEC: "exec", Mix.LIST: "relist"}[
            self
        ]


class StepFailed(Exception):
    """A call of a cycle failed; the message is its code."""


class WrongAnswer(StepFailed):
    """A call succeeded, and its answer shows that the operation did not happen."""


@dataclass
class LoadTarget:
    """Where the load is put on.

    Attributes:
        plain: connection of this process.
        requests: builds configurations with the run's label.
        image: what the containers run.
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
        """What all pods have in common.

        They share a cgroup, as nobody here would remove thousands of them one by one, and a log directory, as
        making one may wait for the disk, and everything else in this process with it.
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
        """Remove a pod with what is in it, untimed; what will not go is left to the end of the run."""
        with contextlib.suppress(grpc.RpcError):
            self.call("StopPodSandbox", cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        with contextlib.suppress(grpc.RpcError):
            self.call("RemovePodSandbox", cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))


class Work(ABC, Generic[Prepared]):
    """One mix."""

    def __init__(self, site: LoadTarget, pods: int) -> None:
        self.site = site
        self.pods = pods

    def stand(self) -> None:
        """Make what stands during the load. Raises grpc.RpcError."""

    @abstractmethod
    def prepare(self) -> Prepared:
        """Build the requests of one cycle."""

    @abstractmethod
    def run(self, prepared: Prepared, timed: Timed) -> None:
        """Do one cycle. Raises StepFailed."""

    def tidy(self, prepared: Prepared) -> None:
        """Remove, untimed, what a failed cycle left at the runtime."""


@dataclass
class LoadPod:
    """The requests of a pod cycle, and what it made."""

    sandbox: cri.RunPodSandboxRequest
    container: cri.CreateContainerRequest
    left: str = ""


class PodWork(Work[LoadPod]):
    """The life of a pod with one container, as the kubelet leads it."""

    def prepare(self) -> LoadPod:
        """Build the requests."""
        sandbox = self.site.pod()
        return LoadPod(sandbox, self.site.container("", sandbox))

    def run(self, prepared: LoadPod, timed: Timed) -> None:
        """Lead the life of one pod."""
        runtime = self.site.plain.runtime
        made = timed(
            "RunPodSandbox",
            runtime.RunPodSandbox,
            prepared.sandbox,
            right=lambda answer: answer.pod_sandbox_id,
        )
        prepared.left = made.pod_sandbox_id
        prepared.container.pod_sandbox_id = made.pod_sandbox_id
        lead_container(runtime, prepared.container, timed)
        timed(
            "StopPodSandbox",
            runtime.StopPodSandbox,
            cri.StopPodSandboxRequest(pod_sandbox_id=made.pod_sandbox_id),
        )
        timed(
            "RemovePodSandbox",
            runtime.RemovePodSandbox,
            cri.RemovePodSandboxRequest(pod_sandbox_id=made.pod_sandbox_id),
        )
        prepared.left = ""

    def tidy(self, prepared: LoadPod) -> None:
        """Remove what a failed cycle left."""
        if prepared.left:
            self.site.discard(prepared.left)


@dataclass
class IdlePod:
    """A pod that stands during the load, with one running container."""

    request: cri.RunPodSandboxRequest
    sandbox: str
    container: str = ""


class StandingWork(Work[Prepared]):
    """Work on pods that stand."""

    with_container = True

    def __init__(self, site: LoadTarget, pods: int) -> None:
        super().__init__(site, pods)
        self.standing: list[IdlePod] = []
        self._next = cycle(self.standing)

    def stand(self) -> None:
        """Make the pods, each with a running container where the work needs one."""
        for _ in range(max(1, self.pods) - len(self.standing)):
            request = self.site.pod()
            pod = IdlePod(request, self.site.call("RunPodSandbox", request).pod_sandbox_id)
            if self.with_container:
                pod.container = self.site.call(
                    "CreateContainer", self.site.container(pod.sandbox, request)
                ).container_id
                self.site.call("StartContainer", cri.StartContainerRequest(container_id=pod.container))
            self.standing.append(pod)
        self._next = cycle(self.standing)

    def pick(self) -> IdlePod:
        """Return the standing pods in turn."""
        return next(self._next)


@dataclass
class Creation:
    """The request of a container cycle, and what it made."""

    request: cri.CreateContainerRequest
    left: list[str] = field(default_factory=list)


class ContainerWork(StandingWork[Creation]):
    """The life of a container in a pod that stands."""

    with_container = False

    def prepare(self) -> Creation:
        """Build the request."""
        pod = self.pick()
        return Creation(self.site.container(pod.sandbox, pod.request))

    def run(self, prepared: Creation, timed: Timed) -> None:
        """Lead the life of one container."""
        lead_container(self.site.plain.runtime, prepared.request, timed, prepared.left)

    def tidy(self, prepared: Creation) -> None:
        """Remove what a failed cycle left."""
        for container in prepared.left:
            with contextlib.suppress(grpc.RpcError):
                self.site.call("RemoveContainer", cri.RemoveContainerRequest(container_id=container))


class ExecWork(StandingWork[cri.ExecSyncRequest]):
    """A command in a running container, as a probe is one."""

    def prepare(self) -> cri.ExecSyncRequest:
        """Build the request."""
        return cri.ExecSyncRequest(container_id=self.pick().container, cmd=TRUE, timeout=10)

    def run(self, prepared: cri.ExecSyncRequest, timed: Timed) -> None:
        """Run the command."""
        timed(
            "ExecSync", self.site.plain.runtime.ExecSync, prepared, right=lambda answer: answer.exit_code == 0
        )


class ListWork(StandingWork[tuple[cri.ListPodSandboxRequest, cri.ListContainersRequest]]):
    """Both lists, whole, as the kubelet asks for them every second."""

    def prepare(self) -> tuple[cri.ListPodSandboxRequest, cri.ListContainersRequest]:
        """Build both requests."""
        return cri.ListPodSandboxRequest(), cri.ListContainersRequest()

    def run(
        self, prepared: tuple[cri.ListPodSandboxRequest, cri.ListContainersRequest], timed: Timed
    ) -> None:
        """Ask for both lists; the pods that stand must be in them."""
        runtime, expected = self.site.plain.runtime, len(self.standing)
        timed(
            "ListPodSandbox",
            runtime.ListPodSandbox,
            prepared[0],
            right=lambda answer: len(answer.items) >= expected,
        )
        timed(
            "ListContainers",
            runtime.ListContainers,
            prepared[1],
            right=lambda answer: len(answer.containers) >= expected,
        )


def lead_container(
    runtime: Any,  # noqa: ANN401 - the stub's class is generated without a base
    request: cri.CreateContainerRequest,
    timed: Timed,
    left: list[str] | None = None,
) -> None:
    """Create, start, look at, kill and remove a container."""
    made = timed(
        "CreateContainer", runtime.CreateContainer, request, right=lambda answer: answer.container_id
    ).container_id
    if left is not None:
        left.append(made)
    timed("StartContainer", runtime.StartContainer, cri.StartContainerRequest(container_id=made))
    timed(
        "ContainerStatus",
        runtime.ContainerStatus,
        cri.ContainerStatusRequest(container_id=made),
        right=lambda answer: answer.status.state == cri.CONTAINER_RUNNING,
    )
    timed("StopContainer", runtime.StopContainer, cri.StopContainerRequest(container_id=made, timeout=0))
    timed("RemoveContainer", runtime.RemoveContainer, cri.RemoveContainerRequest(container_id=made))
    if left is not None:
        left.remove(made)


def work_for(mix: Mix, site: LoadTarget, pods: int) -> Work[Any]:
    """Return the work of a mix."""
    kinds: dict[Mix, type[Work[Any]]] = {
        Mix.POD: PodWork,
        Mix.CONTAINER: ContainerWork,
        Mix.EXEC: ExecWork,
        Mix.LIST: ListWork,
    }
    return kinds[mix](site, pods)
