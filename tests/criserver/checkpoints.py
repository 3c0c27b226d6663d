"""Checkpoints of the small CRI server. No memory is saved: the printed lines are counted, and a restored
container runs the same command from the beginning without writing that many lines. A process with always the
same output then appears to continue.
"""

import contextlib
import json
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc
from google.protobuf import json_format

from critests.api import api_pb2 as cri
from tests.criserver.containers import Containers
from tests.criserver.processes import kill_session
from tests.criserver.sandboxes import RpcFailure, Sandboxes, fail_with
from tests.criserver.state import Container, Saved, Store

FROZEN_SECONDS = 0.25
"""The duration of a checkpoint, enough for the output of a frozen process to reach its log."""
OF_THE_PROCESS = ("image", "command", "args", "working_dir", "envs")
"""The fields that a restored process keeps, so that a request to restore it must not change them."""


@contextlib.contextmanager
def frozen(containers: Sequence[Container]) -> Iterator[None]:
    """Stop all processes of containers within the context."""
    processes = [container.process.process for container in containers]
    try:
        for process in processes:
            if process:
                kill_session(process, signal.SIGSTOP)
        time.sleep(FROZEN_SECONDS)
        yield
    finally:
        for process in processes:
            if process:
                kill_session(process, signal.SIGCONT)


@dataclass(frozen=True)
class Checkpoints:
    """CheckpointContainer, CheckpointPod, RestorePod, and CreateContainer from an archive."""

    store: Store
    sandboxes: Sandboxes
    containers: Containers

    def container(self, request: cri.CheckpointContainerRequest) -> None:
        """CheckpointContainer. An existing archive is replaced."""
        container = self.containers.running(request.container_id)
        if request.timeout < 0:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "the timeout is negative")
        archive = Path(request.location)
        if not archive.is_absolute() or not archive.parent.is_dir():
            fail_with(grpc.StatusCode.FAILED_PRECONDITION, f"nothing can be written to {request.location!r}")
        with frozen([container]):
            _write(archive, container)

    def pod(self, request: cri.CheckpointPodRequest) -> None:
        """CheckpointPod: a file for each container."""
        sandbox = self.sandboxes.get(request.pod_sandbox_id)
        if sandbox.state != cri.SANDBOX_READY:
            fail_with(grpc.StatusCode.FAILED_PRECONDITION, f"sandbox {sandbox.id!r} is not ready")
        if request.options:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, f"there are no options like {dict(request.options)}")
        ids = list(request.container_ids)
        if not ids or len(set(ids)) < len(ids):
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "no containers, or some of them twice")
        containers = [self.containers.running(container_id) for container_id in ids]
        if any(container.sandbox_id != sandbox.id for container in containers):
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "a container is in another sandbox")
        folder = Path(request.output_path)
        if not folder.is_absolute() or not folder.is_dir() or any(folder.iterdir()):
            fail_with(grpc.StatusCode.FAILED_PRECONDITION, f"{request.output_path!r} is no empty directory")
        with frozen(containers):
            for container in containers:
                _write(folder / f"{container.config.metadata.name}.json", container)

    def restore(self, request: cri.RestorePodRequest) -> cri.RestorePodResponse:
        """RestorePod: all of it, or nothing."""
        if request.options:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, f"there are no options like {dict(request.options)}")
        saved = {path.stem: read(path) for path in sorted(Path(request.checkpoint_path).glob("*.json"))}
        names = [config.metadata.name for config in request.container_configs]
        if not saved or sorted(names) != sorted(saved):
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, f"{names} cannot be restored from {sorted(saved)}")
        for config in request.container_configs:
            before = saved[config.metadata.name].config
            for field in OF_THE_PROCESS:
                if getattr(config, field) != getattr(before, field):
                    fail_with(grpc.StatusCode.INVALID_ARGUMENT, f"{field} is not what it was")
            if config.linux.security_context.run_as_user != before.linux.security_context.run_as_user:
                fail_with(grpc.StatusCode.INVALID_ARGUMENT, "the user is not what it was")
        run = cri.RunPodSandboxRequest(config=request.config, runtime_handler=request.runtime_handler)
        sandbox_id = self.sandboxes.run(run).pod_sandbox_id
        try:
            restored = [
                cri.RestoredContainer(
                    name=config.metadata.name,
                    container_id=self.containers.create(
                        cri.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config),
                        saved[config.metadata.name],
                    ).container_id,
                )
                for config in request.container_configs
            ]
        except RpcFailure:
            self.sandboxes.remove(sandbox_id)
            raise
        return cri.RestorePodResponse(pod_sandbox_id=sandbox_id, restored_containers=restored)

    def create(self, request: cri.CreateContainerRequest) -> cri.CreateContainerResponse:
        """CreateContainer; from an archive if the image is the path of one."""
        image = request.config.image.image
        if not image.startswith("/"):
            return self.containers.create(request)
        if not Path(image).is_file():
            fail_with(grpc.StatusCode.NOT_FOUND, f"there is no archive {image!r}")
        return self.containers.create(request, read(Path(image)))


def _write(path: Path, container: Container) -> None:
    """Write an archive that only its owner may read."""
    content = {
        "config": json_format.MessageToDict(container.config),
        "printed": container.process.log.printed,
    }
    path.unlink(missing_ok=True)
    path.touch(0o600)
    path.write_text(json.dumps(content), encoding="utf-8")


def read(path: Path) -> Saved:
    """Read an archive."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        config = json_format.ParseDict(content["config"], cri.ContainerConfig())
    except (OSError, ValueError, KeyError, json_format.ParseError) as error:
        fail_with(grpc.StatusCode.INVALID_ARGUMENT, f"{path} is no checkpoint: {error}")
    return Saved(config, dict(content["printed"]))
