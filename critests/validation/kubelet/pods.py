"""Pods as the kubelet makes them, over all attempts at their sandbox and their containers, and what its
relist shows of them.
"""

import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from critests.api import api_pb2 as cri
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.containers import Container
from critests.lifecycle.requests import NAMESPACE
from critests.lifecycle.sandboxes import Sandbox

POD_NAME, POD_NAMESPACE, POD_UID = (
    "io.kubernetes.pod.name",
    "io.kubernetes.pod.namespace",
    "io.kubernetes.pod.uid",
)
CONTAINER_NAME = "io.kubernetes.container.name"
RESTART_COUNT = "io.kubernetes.container.restartCount"
GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod"
GRACE_SECONDS = 30


def seen(
    sandboxes: Iterable[cri.PodSandbox | cri.PodSandboxStatus],
    containers: Iterable[cri.Container | cri.ContainerStatus],
) -> list[str]:
    """Return what is told of sandboxes and containers, in the order of the alphabet: `app/1 RUNNING` is the
    second attempt at the container `app`, `sandbox/0 READY` the first sandbox.
    """
    states = [
        f"sandbox/{each.metadata.attempt} {cri.PodSandboxState.Name(each.state).removeprefix('SANDBOX_')}"
        for each in sandboxes
    ]
    states += [
        f"{each.labels.get(CONTAINER_NAME, 'nameless')}/{each.metadata.attempt}"
        f" {cri.ContainerState.Name(each.state).removeprefix('CONTAINER_')}"
        for each in containers
    ]
    return sorted(states)


@dataclass(frozen=True)
class Pod:
    """A pod of the kubelet's. Its steps are the test's own calls: a refusal of one is what the test finds.

    Attributes:
        runtime: where it lives.
        sandboxes: takes over its sandboxes.
        containers: takes over its containers.
        name: of the pod.
        uid: which no other pod has, of this name or another.
    """

    runtime: Runtime
    sandboxes: Sandboxes
    containers: Containers
    name: str = field(default_factory=lambda: f"pod-{secrets.token_hex(4)}")
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def labels(self) -> dict[str, str]:
        """What the kubelet finds the pod's sandboxes and containers by."""
        return {POD_NAME: self.name, POD_NAMESPACE: NAMESPACE, POD_UID: self.uid}

    def start(self, attempt: int = 0) -> Sandbox:
        """Call RunPodSandbox.

        Args:
            attempt: how many sandboxes the pod had before.

        Raises:
            grpc.RpcError: it was refused.
        """
        annotations = {
            "kubernetes.io/config.seen": "2026-01-02T03:04:05Z",
            "kubernetes.io/config.source": "api",
        }
        return self.sandboxes.attempt(
            self.sandboxes.config(
                name=self.name, uid=self.uid, attempt=attempt, labels=self.labels, annotations=annotations
            )
        )

    def config(
        self,
        home: Sandbox,
        name: str,
        attempt: int = 0,
        **options: Any,  # noqa: ANN401 - those of `Containers.config`
    ) -> cri.ContainerConfig:
        """Return the configuration of a container with the kubelet's labels and annotations; its log is in a
        directory of the container's own, which is made here as the kubelet does.

        Args:
            home: where it is to live.
            name: of the container, the same over all attempts.
            attempt: how often it was started before.
            options: of `Containers.config`.
        """
        (home.log_directory / name).mkdir(exist_ok=True)
        return self.containers.config(
            name=name,
            attempt=attempt,
            labels={**self.labels, CONTAINER_NAME: name},
            annotations={
                "io.kubernetes.container.hash": "1a2b3c4d",
                RESTART_COUNT: str(attempt),
                "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
                "io.kubernetes.container.terminationMessagePolicy": "File",
                GRACE_PERIOD: str(GRACE_SECONDS),
            },
            log_path=f"{name}/{attempt}.log",
            **options,
        )

    def run(
        self,
        home: Sandbox,
        name: str,
        attempt: int = 0,
        **options: Any,  # noqa: ANN401 - those of `Containers.config`
    ) -> Container:
        """Call CreateContainer and StartContainer; arguments as for `config`.

        Raises:
            grpc.RpcError: either was refused.
        """
        return self.containers.attempt(self.config(home, name, attempt, **options), in_sandbox=home)

    def relist(self) -> list[str]:
        """Return what the two lists show of the pod, found by its labels, in the words of `seen`."""
        sandboxes = self.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
        containers = self.runtime.stub.ListContainers(cri.ListContainersRequest()).containers
        return seen(
            (each for each in sandboxes if each.labels.get(POD_UID) == self.uid),
            (each for each in containers if each.labels.get(POD_UID) == self.uid),
        )

    def shows(self, *states: str, seconds: float = 10.0) -> None:
        """Wait until a relist shows the pod in exactly these states, in the words of `seen`.

        The kubelet looks about once a second, so that what comes a moment after an answer is in time for it.

        Args:
            states: all that is to be seen.
            seconds: how long to wait, before scaling.

        Raises:
            ConditionNotMet: no relist showed it.
        """
        wanted = sorted(states)
        self.runtime.eventually(
            f"a relist with {', '.join(wanted) or 'nothing of the pod'}",
            self.relist,
            seconds,
            lambda shown: shown == wanted,
        )
