"""Containers that do nothing but be there, for what depends on their number."""

import contextlib
from collections.abc import Iterable, Iterator

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import NotDone
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import HOST
from critests.lifecycle.requests import ContainerOptions

PER_POD = 5
"""Containers in one sandbox: as many pods as containers would measure pods, one pod alone is no node."""
STILL = "pause"
"""The image of what is to cost nothing by itself: its process waits for a signal and never wakes up."""


class Population:
    """Idle containers on one side, in sandboxes without a network of their own; or pods (`of_pods`).

    Attributes:
        sandbox_ids: of their sandboxes.
        container_ids: of all of them.
    """

    def __init__(self, target: Target, annotation_bytes: int = 0, *, pods: bool = False) -> None:
        """Begin without any.

        Args:
            target: the side.
            annotation_bytes: of annotations on every sandbox.
            pods: every container in a sandbox of its own, on the pod network, and still.
        """
        self._target = target
        self._per_sandbox = 1 if pods else PER_POD
        self._namespaces = None if pods else HOST
        self._still = pods
        self._annotations = {"critests/filler": "x" * annotation_bytes} if annotation_bytes else {}
        self._configs: dict[str, cri.PodSandboxConfig] = {}
        self.sandbox_ids: list[str] = []
        self.container_ids: list[str] = []

    @classmethod
    @contextlib.contextmanager
    def of(cls, target: Target, number: int, annotation_bytes: int = 0) -> Iterator["Population"]:
        """Hold a population for the time of a `with`.

        Args:
            target: the side.
            number: of containers.
            annotation_bytes: of annotations on every sandbox.
        """
        population = cls(target, annotation_bytes)
        try:
            population.grow_to(number)
            yield population
        finally:
            population.end()

    @classmethod
    @contextlib.contextmanager
    def of_pods(cls, target: Target) -> Iterator["Population"]:
        """Hold pods for the time of a `with`, none at first: each has a sandbox on the pod network and one
        container whose process never wakes up.
        """
        population = cls(target, pods=True)
        try:
            yield population
        finally:
            population.end()

    def grow_to(self, number: int) -> None:
        """Add containers until there are so many.

        Raises:
            NotDone: the runtime refuses one; says how many there are.
        """
        try:
            while len(self.container_ids) < number:
                if len(self.container_ids) >= self._per_sandbox * len(self.sandbox_ids):
                    self._target.persistently(self._add_sandbox)
                self._target.persistently(self._add_container)
        except grpc.RpcError as error:
            msg = (
                f"the runtime refused container {len(self.container_ids) + 1}: {error.code().name}:"
                f" {str(error.details())[:500]}"
            )
            raise NotDone(msg) from error

    def shrink_to(self, number: int) -> None:
        """Remove whole sandboxes with what is in them, the newest first, as long as so many containers
        remain.
        """
        while len(self.container_ids) - self._per_sandbox >= number:
            self._target.discard(self.sandbox_ids.pop())
            del self.container_ids[self._per_sandbox * len(self.sandbox_ids) :]
        self._target.sweep()

    def _add_sandbox(self) -> None:
        request = self._target.sandbox_request(namespaces=self._namespaces, annotations=self._annotations)
        sandbox_id = self._target.connection.runtime.RunPodSandbox(request).pod_sandbox_id
        self.sandbox_ids.append(sandbox_id)
        self._configs[sandbox_id] = request.config

    def _add_container(self) -> None:
        runtime, sandbox_id = self._target.connection.runtime, self.sandbox_ids[-1]
        image = self._target.image(STILL) if self._still else None
        options = ContainerOptions(command=()) if self._still else ContainerOptions()
        made = runtime.CreateContainer(
            self._target.container_request(sandbox_id, self._configs[sandbox_id], image, **options)
        ).container_id
        try:
            runtime.StartContainer(cri.StartContainerRequest(container_id=made))
        except grpc.RpcError:
            self._target.discard_container(made)
            raise
        self.container_ids.append(made)

    def all_in(self, rpc: str, listed: Iterable[str]) -> None:
        """See that a list is complete.

        Raises:
            NotDone: a container is missing.
        """
        missing = set(self.container_ids) - set(listed)
        if missing:
            msg = f"{rpc} left out {len(missing)} of {len(self.container_ids)} containers"
            raise NotDone(msg)

    def end(self) -> None:
        """Remove them."""
        for sandbox_id in self.sandbox_ids:
            self._target.discard(sandbox_id)
        self._target.sweep()
