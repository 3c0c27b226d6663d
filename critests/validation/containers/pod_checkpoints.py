"""Pods of containers that count, and the requests to checkpoint and to restore them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.testing import Container, Containers, Runtime, Sandbox, Sandboxes, setting_up
from critests.validation.containers.counting import count_from, numbers, wait_for_progress

DISTANCE = 100_000
"""Distance between the numbers at which the containers of a pod start: more than a container counts in a
test.
"""


def checkpoint_request(sandbox: Sandbox, folder: Path, *containers: Container) -> cri.CheckpointPodRequest:
    """Return the CheckpointPod request for containers of a sandbox, written to a folder."""
    return cri.CheckpointPodRequest(
        pod_sandbox_id=sandbox.id,
        output_path=str(folder),
        container_ids=[container.id for container in containers],
    )


def digests_below(folder: Path) -> dict[str, str]:
    """Return the digest of every file below a folder, by its path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@dataclass(frozen=True)
class CountingPod:
    """A pod whose containers count, to take a checkpoint of.

    Attributes:
        runtime: the runtime that it runs on.
        sandbox: its sandbox.
        containers: its containers.
        folder: empty directory for the checkpoint.
    """

    runtime: Runtime
    sandbox: Sandbox
    containers: Sequence[Container]
    folder: Path

    def request(self, *more: str) -> cri.CheckpointPodRequest:
        """Return the CheckpointPod request for all its containers.

        Args:
            more: further container ids for the request.
        """
        request = checkpoint_request(self.sandbox, self.folder, *self.containers)
        request.container_ids.extend(more)
        return request

    def digests(self) -> dict[str, str]:
        """Return the digest of every file in the checkpoint folder, by its path."""
        return digests_below(self.folder)

    def wait_for_progress(self) -> None:
        """Wait until each container has printed further numbers.

        Raises:
            ConditionNotMet: a container printed none.
        """
        wait_for_progress(self.runtime, *self.containers)


@dataclass(frozen=True)
class SavedPod:
    """The checkpoint of a pod that has been removed since, and the requests to restore it.

    Attributes:
        runtime: the runtime that it ran on.
        sandboxes: adopts the restored sandbox.
        containers: adopts the restored containers.
        folder: directory of the checkpoint.
        configs: configurations of its containers.
        last_numbers: a number that each container had printed before the checkpoint, by container name.
    """

    runtime: Runtime
    sandboxes: Sandboxes
    containers: Containers
    folder: Path
    configs: Sequence[cri.ContainerConfig]
    last_numbers: dict[str, int]

    def request(
        self,
        config: cri.PodSandboxConfig | None = None,
        configs: Sequence[cri.ContainerConfig] | None = None,
        *,
        handler: str | None = None,
        options: dict[str, str] | None = None,
    ) -> cri.RestorePodRequest:
        """Return the RestorePod request, by default with the configurations of the checkpoint."""
        return cri.RestorePodRequest(
            checkpoint_path=str(self.folder),
            config=config or self.sandboxes.config(),
            runtime_handler=self.runtime.handler if handler is None else handler,
            options=options or {},
            container_configs=self.configs if configs is None else configs,
        )

    def restore(
        self, request: cri.RestorePodRequest, timeout: float | None = None
    ) -> tuple[Sandbox, list[Container]]:
        """Call RestorePod and adopt the sandbox and the containers, as far as the request names them.

        Raises:
            grpc.RpcError: RestorePod failed.
        """
        response = self.runtime.stub.RestorePod(request, timeout=timeout)
        sandbox = self.sandboxes.adopt(response.pod_sandbox_id, request.config)
        configs = {config.metadata.name: config for config in request.container_configs}
        return sandbox, [
            self.containers.adopt(each.container_id, configs[each.name], sandbox)
            for each in response.restored_containers
            if each.name in configs
        ]


def checkpoint_and_remove(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, folder: Path, names: Sequence[str]
) -> SavedPod:
    """Run a pod whose containers count, take a checkpoint of it in the set-up, and remove it."""
    sandbox = sandboxes.ready()
    counting = [
        containers.running(
            name=name,
            script=count_from(place * DISTANCE),
            in_sandbox=sandbox,
            # it has counted before the checkpoint: a process that starts anew would begin with the first
            # number
            wait_for_log=f"{place * DISTANCE + 3}",
        )
        for place, name in enumerate(names)
    ]
    last_numbers = {container.config.metadata.name: numbers(container)[-1] for container in counting}
    with setting_up():
        runtime.stub.CheckpointPod(checkpoint_request(sandbox, folder, *counting))
        sandbox.discard()
    return SavedPod(runtime, sandboxes, containers, folder, [each.config for each in counting], last_numbers)
