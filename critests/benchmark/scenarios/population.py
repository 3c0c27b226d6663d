"""Idle containers, for measurements that depend on their number."""

import contextlib
from collections.abc import Iterable, Iterator

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import NotDone
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import HOST
from critests.lifecycle.requests import ContainerOptions

PER_POD = 5
"""Containers in one sandbox: one per sandbox would measure pods, and a single sandbox does not resemble a
node.
"""
PAUSE_IMAGE = "pause"
"""The image of containers that must not use CPU time: the process waits for a signal and never wakes up."""


class Population:
    """Idle containers of one side, in sandboxes on the host network; or pods (`of_pods`).

    Attributes:
        sandbox_ids: ids of the sandboxes.
        container_ids: ids of the containers.
    """

    def __init__(self, target: Target, annotation_bytes: int = 0, *, pods: bool = False) -> None:
        """Create an empty population.

        Args:
            target: the side.
            annotation_bytes: size of the annotations of every sandbox.
            pods: whether every container has its own sandbox on the pod network, and runs `pause`.
        """
        self._target = target
        self._per_sandbox = 1 if pods else PER_POD
        self._namespaces = None if pods else HOST
        self._paused = pods
        self._annotations = {"critests/filler": "x" * annotation_bytes} if annotation_bytes else {}
        self._configs: dict[str, cri.PodSandboxConfig] = {}
        self.sandbox_ids: list[str] = []
        self.container_ids: list[str] = []

    @classmethod
    @contextlib.contextmanager
    def of(cls, target: Target, number: int, annotation_bytes: int = 0) -> Iterator["Population"]:
        """Run a population for the time of a `with`.

        Args:
            target: the side.
            number: number of containers.
            annotation_bytes: size of the annotations of every sandbox.
        """
        population = cls(target, annotation_bytes)
        try:
            population.grow_to(number)
            yield population
        finally:
            population.remove()

    @classmethod
    @contextlib.contextmanager
    def of_pods(cls, target: Target) -> Iterator["Population"]:
        """Run pods for the time of a `with`, initially none: each has a sandbox on the pod network and one
        container whose process never wakes up.
        """
        population = cls(target, pods=True)
        try:
            yield population
        finally:
            population.remove()

    def grow_to(self, number: int) -> None:
        """Add containers up to a number.

        Raises:
            NotDone: the runtime rejects one; the message holds its number.
        """
        try:
            while len(self.container_ids) < number:
                if len(self.container_ids) >= self._per_sandbox * len(self.sandbox_ids):
                    self._target.retry(self._add_sandbox)
                self._target.retry(self._add_container)
        except grpc.RpcError as error:
            msg = (
                f"the runtime rejected container {len(self.container_ids) + 1}: {error.code().name}:"
                f" {str(error.details())[:500]}"
            )
            raise NotDone(msg) from error

    def shrink_to(self, number: int) -> None:
        """Remove whole sandboxes with their containers, the newest first, while at least so many containers
        remain.
        """
        while len(self.container_ids) - self._per_sandbox >= number:
            self._target.discard(self.sandbox_ids.pop())
            del self.container_ids[self._per_sandbox * len(self.sandbox_ids) :]
        self._target.remove_pod_cgroups()

    def _add_sandbox(self) -> None:
        request = self._target.sandbox_request(namespaces=self._namespaces, annotations=self._annotations)
        sandbox_id = self._target.connection.runtime.RunPodSandbox(request).pod_sandbox_id
        self.sandbox_ids.append(sandbox_id)
        self._configs[sandbox_id] = request.config

    def _add_container(self) -> None:
        runtime, sandbox_id = self._target.connection.runtime, self.sandbox_ids[-1]
        image = self._target.image(PAUSE_IMAGE) if self._paused else None
        options = ContainerOptions(command=()) if self._paused else ContainerOptions()
        container_id = runtime.CreateContainer(
            self._target.container_request(sandbox_id, self._configs[sandbox_id], image, **options)
        ).container_id
        try:
            runtime.StartContainer(cri.StartContainerRequest(container_id=container_id))
        except grpc.RpcError:
            self._target.discard_container(container_id)
            raise
        self.container_ids.append(container_id)

    def check_complete(self, rpc: str, listed: Iterable[str]) -> None:
        """Check that a list is complete.

        Raises:
            NotDone: a container is missing.
        """
        missing = set(self.container_ids) - set(listed)
        if missing:
            msg = f"{rpc} left out {len(missing)} of {len(self.container_ids)} containers"
            raise NotDone(msg)

    def remove(self) -> None:
        """Remove all sandboxes."""
        for sandbox_id in self.sandbox_ids:
            self._target.discard(sandbox_id)
        self._target.remove_pod_cgroups()
