"""Pods as the kubelet makes them, over all attempts at their sandbox and their containers, and what its
relist shows of them.
"""

import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Unpack

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers, ProcessOptions
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.containers import Container
from critests.lifecycle.kubelet_keys import CONTAINER_NAME, POD_UID, TERMINATION_LOG
from critests.lifecycle.requests import SpecOptions
from critests.lifecycle.sandboxes import Sandbox

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


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


def added_mounts(home: Sandbox, name: str, attempt: int) -> list[cri.Mount]:
    """Return the mounts that the kubelet adds to those of a container's specification, whose files are made
    here: the pod's `/etc/hosts`, the container's last words, and the pod's token.

    Args:
        home: sandbox of the pod.
        name: of the container.
        attempt: how often it was started before.
    """
    hosts = home.log_directory / "etc-hosts"
    hosts.write_text(f"127.0.0.1\tlocalhost\n127.0.1.1\t{home.config.hostname}\n", encoding="utf-8")
    hosts.chmod(0o644)
    last_words = home.log_directory / name / f"termination-log-{attempt}"
    last_words.touch()
    # whatever user the container runs as writes there
    last_words.chmod(0o666)
    token = home.log_directory / "token"
    token.mkdir(exist_ok=True)
    (token / "token").write_text("not a secret", encoding="utf-8")
    return [
        cri.Mount(container_path=SERVICE_ACCOUNT, host_path=str(token), readonly=True),
        cri.Mount(container_path="/etc/hosts", host_path=str(hosts), selinux_relabel=True),
        cri.Mount(container_path=TERMINATION_LOG, host_path=str(last_words), selinux_relabel=True),
    ]


class PodContainerOptions(SpecOptions, ProcessOptions, total=False):
    """Those arguments of `Containers.config` that `Pod.config` does not set."""


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

    def start(self, attempt: int = 0) -> Sandbox:
        """Call RunPodSandbox.

        Args:
            attempt: how many sandboxes the pod had before.

        Raises:
            grpc.RpcError: it was refused.
        """
        return self.sandboxes.attempt(self.sandboxes.config(name=self.name, uid=self.uid, attempt=attempt))

    def config(
        self,
        home: Sandbox,
        name: str,
        attempt: int = 0,
        **options: Unpack[PodContainerOptions],
    ) -> cri.ContainerConfig:
        """Return the configuration of a container with the mounts that the kubelet adds to those of the
        specification; its log is in a directory of the container's own, which is made here as the kubelet
        does.

        Args:
            home: where it is to live.
            name: of the container, the same over all attempts.
            attempt: how often it was started before.
            options: of `Containers.config`.
        """
        (home.log_directory / name).mkdir(exist_ok=True)
        mounts = {mount.container_path: mount for mount in options.get("mounts", ())}
        if self.runtime.has(Capability.SAME_HOST):
            mounts = {mount.container_path: mount for mount in added_mounts(home, name, attempt)} | mounts
        options["log_path"] = f"{name}/{attempt}.log"
        options["mounts"] = list(mounts.values())
        return self.containers.config(
            name=name,
            pod=home.config.metadata,
            attempt=attempt,
            **options,
        )

    def run(
        self,
        home: Sandbox,
        name: str,
        attempt: int = 0,
        **options: Unpack[PodContainerOptions],
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
