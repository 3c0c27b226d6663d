"""Pods of containers that count, and the requests to save and to restore them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.run.outcomes import setting_up
from critests.validation.containers.counting import count_from, goes_on, numbers

APART = 100_000
"""Between what one container of a saved pod counts and the next: more than any gets in a test."""


def saving(sandbox: Sandbox, folder: Path, *containers: Container) -> cri.CheckpointPodRequest:
    """Return the request to save containers of a sandbox to a folder."""
    return cri.CheckpointPodRequest(
        pod_sandbox_id=sandbox.id,
        output_path=str(folder),
        container_ids=[container.id for container in containers],
    )


def content(folder: Path) -> dict[str, str]:
    """Return the digest of every file below a folder, by its path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@dataclass(frozen=True)
class CountingPod:
    """A pod whose containers count, and are to be saved.

    Attributes:
        runtime: where it lives.
        sandbox: of the pod.
        containers: they.
        folder: where the checkpoint is to be written, empty as yet.
    """

    runtime: Runtime
    sandbox: Sandbox
    containers: Sequence[Container]
    folder: Path

    def request(self, *more: str) -> cri.CheckpointPodRequest:
        """Return the request to save all its containers.

        Args:
            more: ids of containers to name besides.
        """
        request = saving(self.sandbox, self.folder, *self.containers)
        request.container_ids.extend(more)
        return request

    def written(self) -> dict[str, str]:
        """Return what stands in the folder: the digest of every file, by its path."""
        return content(self.folder)

    def goes_on(self) -> None:
        """Wait until all its containers have counted further than now.

        Raises:
            ConditionNotMet: one did not.
        """
        goes_on(self.runtime, *self.containers)


@dataclass(frozen=True)
class SavedPod:
    """A pod that was saved and is gone, and how it is restored.

    Attributes:
        runtime: where it lived.
        sandboxes: takes over what is restored.
        containers: likewise.
        folder: that it was saved to.
        configs: of its containers.
        counted: how far each had counted when it was saved, at least, by its name; they are `APART`.
    """

    runtime: Runtime
    sandboxes: Sandboxes
    containers: Containers
    folder: Path
    configs: Sequence[cri.ContainerConfig]
    counted: dict[str, int]

    def request(
        self,
        config: cri.PodSandboxConfig | None = None,
        configs: Sequence[cri.ContainerConfig] | None = None,
        *,
        handler: str | None = None,
        options: dict[str, str] | None = None,
    ) -> cri.RestorePodRequest:
        """Return the request to restore it, by default as it was."""
        return cri.RestorePodRequest(
            checkpoint_path=str(self.folder),
            config=config or self.sandboxes.config(),
            runtime_handler=self.runtime.handler if handler is None else handler,
            options=options or {},
            container_configs=self.configs if configs is None else configs,
        )

    def restored(
        self, request: cri.RestorePodRequest, timeout: float | None = None
    ) -> tuple[Sandbox, list[Container]]:
        """Call RestorePod, and take over what it made; a container for each configuration that was named.

        Raises:
            grpc.RpcError: it was refused.
        """
        answer = self.runtime.stub.RestorePod(request, timeout=timeout)
        sandbox = self.sandboxes.adopt(answer.pod_sandbox_id, request.config)
        configs = {config.metadata.name: config for config in request.container_configs}
        return sandbox, [
            self.containers.adopt(each.container_id, configs[each.name], sandbox)
            for each in answer.restored_containers
            if each.name in configs
        ]


def save(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, folder: Path, names: Sequence[str]
) -> SavedPod:
    """Make a pod whose containers count, save it in the set-up, and remove it."""
    sandbox = sandboxes.ready()
    made = [
        containers.running(
            name=name,
            script=count_from(place * APART),
            in_sandbox=sandbox,
            wait_for_log=f"{place * APART + 3}",
        )
        for place, name in enumerate(names)
    ]
    counted = {container.config.metadata.name: numbers(container)[-1] for container in made}
    with setting_up():
        runtime.stub.CheckpointPod(saving(sandbox, folder, *made))
        sandbox.discard()
    return SavedPod(runtime, sandboxes, containers, folder, [each.config for each in made], counted)
