"""Pods as the kubelet creates them, with all attempts at their sandbox and containers, and their state in a
relist.
"""

import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Unpack

from critests.api import api_pb2 as cri
from critests.fixtures.container_fixtures import ProcessOptions
from critests.lifecycle.requests import SpecOptions
from critests.testing import (
    CONTAINER_NAME,
    POD_UID,
    TERMINATION_LOG,
    Capability,
    Container,
    Containers,
    Runtime,
    Sandbox,
    Sandboxes,
)

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def states_of(
    sandboxes: Iterable[cri.PodSandbox | cri.PodSandboxStatus],
    containers: Iterable[cri.Container | cri.ContainerStatus],
) -> list[str]:
    """Return the states of sandboxes and containers, sorted: `app/1 RUNNING` is the second attempt at the
    container `app`, `sandbox/0 READY` the first sandbox.
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


def added_mounts(sandbox: Sandbox, name: str, attempt: int) -> list[cri.Mount]:
    """Create the files that the kubelet mounts in addition to the mounts of a container's specification, and
    return the mounts: the pod's `/etc/hosts`, the termination log of the container, and the pod's token.

    Args:
        sandbox: the sandbox of the pod.
        name: the name of the container.
        attempt: how often the container was started before.
    """
    hosts = sandbox.log_directory / "etc-hosts"
    hosts.write_text(f"127.0.0.1\tlocalhost\n127.0.1.1\t{sandbox.config.hostname}\n", encoding="utf-8")
    # any user of the container may read it
    hosts.chmod(0o644)
    termination_log = sandbox.log_directory / name / f"termination-log-{attempt}"
    termination_log.touch()
    # for any user that the container may run as
    termination_log.chmod(0o666)
    token = sandbox.log_directory / "token"
    token.mkdir(exist_ok=True)
    (token / "token").write_text("not a secret", encoding="utf-8")
    return [
        cri.Mount(container_path=SERVICE_ACCOUNT, host_path=str(token), readonly=True),
        cri.Mount(container_path="/etc/hosts", host_path=str(hosts), selinux_relabel=True),
        cri.Mount(container_path=TERMINATION_LOG, host_path=str(termination_log), selinux_relabel=True),
    ]


class PodContainerOptions(SpecOptions, ProcessOptions, total=False):
    """The arguments of `Containers.config` that `KubeletPod.config` does not set."""


@dataclass(frozen=True)
class KubeletPod:
    """A pod of the kubelet. Its methods make calls under test, so a rejected call fails the test.

    Attributes:
        runtime: the runtime under test.
        sandboxes: adopts the pod's sandboxes, so that they are removed.
        containers: adopts the pod's containers, so that they are removed.
        name: the name of the pod.
        uid: unique to this pod.
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
            grpc.RpcError: the call was rejected.
        """
        return self.sandboxes.attempt(self.sandboxes.config(name=self.name, uid=self.uid, attempt=attempt))

    def config(
        self,
        sandbox: Sandbox,
        name: str,
        attempt: int = 0,
        **options: Unpack[PodContainerOptions],
    ) -> cri.ContainerConfig:
        """Return the configuration of a container with the mounts that the kubelet adds to those of the
        specification, and create a log directory of the container, as the kubelet does.

        Args:
            sandbox: the sandbox of the container.
            name: the name of the container, the same for all attempts.
            attempt: how often the container was started before.
            options: see `Containers.config`.
        """
        (sandbox.log_directory / name).mkdir(exist_ok=True)
        mounts = {mount.container_path: mount for mount in options.get("mounts", ())}
        if self.runtime.has(Capability.SAME_HOST):
            mounts = {mount.container_path: mount for mount in added_mounts(sandbox, name, attempt)} | mounts
        # the path by which the kubelet, and `kubectl logs`, find the log
        options["log_path"] = f"{name}/{attempt}.log"
        options["mounts"] = list(mounts.values())
        return self.containers.config(
            name=name,
            pod=sandbox.config.metadata,
            attempt=attempt,
            **options,
        )

    def run(
        self,
        sandbox: Sandbox,
        name: str,
        attempt: int = 0,
        **options: Unpack[PodContainerOptions],
    ) -> Container:
        """Call CreateContainer and StartContainer; for the arguments see `config`.

        Raises:
            grpc.RpcError: one of the calls was rejected.
        """
        return self.containers.attempt(self.config(sandbox, name, attempt, **options), in_sandbox=sandbox)

    def relist(self) -> list[str]:
        """Return the pod's states in the two lists, as `states_of` does; its label finds the pod."""
        sandboxes = self.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
        containers = self.runtime.stub.ListContainers(cri.ListContainersRequest()).containers
        return states_of(
            (each for each in sandboxes if each.labels.get(POD_UID) == self.uid),
            (each for each in containers if each.labels.get(POD_UID) == self.uid),
        )

    def await_states(self, *states: str, seconds: float = 10.0) -> None:
        """Wait until a relist returns exactly these states, written as in `states_of`.

        A state that is late by less than a second does no harm, as the kubelet relists once a second.

        Args:
            states: all states of the pod.
            seconds: how long to wait, before scaling.

        Raises:
            ConditionNotMet: no relist returned these states.
        """
        expected = sorted(states)
        self.runtime.eventually(
            f"a relist with {', '.join(expected) or 'nothing of the pod'}",
            self.relist,
            seconds,
            lambda listed: listed == expected,
        )
