"""The container half of the small CRI server's RuntimeService."""

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from tests.criserver import processes
from tests.criserver.processes import ContainerProcess
from tests.criserver.sandboxes import Sandboxes, fail_with, selects
from tests.criserver.state import Container, Saved, Store, StoredImage, new_id


def signal_number(wanted: cri.Signal) -> int:
    """Return the kernel's number of a signal of the API: SIGNAL_SIGRTMINPLUS3 is SIGRTMIN+3."""
    name = cri.Signal.Name(wanted).removeprefix("SIGNAL_")
    for base, plus, minus in (("SIGRTMINPLUS", signal.SIGRTMIN, 1), ("SIGRTMAXMINUS", signal.SIGRTMAX, -1)):
        if name.startswith(base):
            return plus + minus * int(name.removeprefix(base))
    return {"RUNTIME_DEFAULT": 15, "SIGCLD": 17, "SIGIOT": 6, "SIGPOLL": 29}.get(name) or signal.Signals[
        name
    ].value


def stop_signal(config: cri.ContainerConfig, image: StoredImage) -> cri.Signal:
    """Return the signal that stops a container: its own, else the image's, else SIGTERM."""
    if config.stop_signal:
        return config.stop_signal
    name = image.config.stop_signal.upper().replace("+", "PLUS").replace("-", "MINUS")
    if name.isdigit():
        name = signal.Signals(int(name)).name
    name = "SIGNAL_SIG" + name.removeprefix("SIG")
    known: cri.Signal = getattr(cri.Signal, name, cri.SIGNAL_SIGTERM)
    return known


class Containers:
    """CreateContainer to RemoveContainer, ExecSync, and the lists."""

    def __init__(self, store: Store, sandboxes: Sandboxes) -> None:
        self.store = store
        self.sandboxes = sandboxes

    def get(self, container_id: str) -> Container:
        """Return a container by its id.

        Raises:
            RpcFailure: NOT_FOUND.
        """
        with self.store.lock:
            container = self.store.containers.get(container_id)
        if container is None:
            fail_with(grpc.StatusCode.NOT_FOUND, f"no container with id {container_id!r}")
        return container

    def running(self, container_id: str) -> Container:
        """Return a container that runs.

        Raises:
            RpcFailure: NOT_FOUND, or FAILED_PRECONDITION.
        """
        container = self.get(container_id)
        if container.state != cri.CONTAINER_RUNNING:
            fail_with(grpc.StatusCode.FAILED_PRECONDITION, f"container {container_id!r} is not running")
        return container

    def create(
        self, request: cri.CreateContainerRequest, saved: Saved | None = None
    ) -> cri.CreateContainerResponse:
        """CreateContainer.

        Args:
            request: the message.
            saved: a checkpoint whose process continues, instead of a new one from the request.
        """
        config = request.config
        process_of = saved.config if saved else config
        sandbox = self.sandboxes.get(request.pod_sandbox_id)
        if sandbox.state != cri.SANDBOX_READY:
            fail_with(grpc.StatusCode.FAILED_PRECONDITION, f"sandbox {sandbox.id!r} is not ready")
        if not config.metadata.name:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "container metadata needs a name")
        image = self.store.find_image(process_of.image.image)
        if image is None:
            fail_with(grpc.StatusCode.NOT_FOUND, f"image {process_of.image.image!r} is not present")
        log_path = str(Path(sandbox.config.log_directory) / config.log_path) if config.log_path else ""
        entrypoint = list(process_of.command) or image.config.entrypoint
        arguments = list(process_of.args) or ([] if process_of.command else image.config.cmd)
        environment = dict(entry.partition("=")[::2] for entry in image.config.env)
        environment |= {entry.key: entry.value.decode(errors="surrogateescape") for entry in process_of.envs}
        process = ContainerProcess(
            [*entrypoint, *arguments],
            environment,
            Path(log_path) if log_path else None,
            tty=config.tty,
            stdin=config.stdin,
        )
        if saved:
            process.log.held_back = dict(saved.printed)
        with self.store.lock:
            # it may have been stopped meanwhile
            if self.sandboxes.get(sandbox.id).state != cri.SANDBOX_READY:
                fail_with(grpc.StatusCode.FAILED_PRECONDITION, f"sandbox {sandbox.id!r} is not ready")
            if any(
                other.config.metadata == config.metadata for other in self.store.containers_of(sandbox.id)
            ):
                fail_with(grpc.StatusCode.ALREADY_EXISTS, f"container name {config.metadata.name!r} is taken")
            container = Container(
                new_id(), sandbox.id, config, image, log_path, stop_signal(config, image), process
            )
            self.store.containers[container.id] = container
        self.store.send_event(container.id, sandbox.id, cri.CONTAINER_CREATED_EVENT)
        return cri.CreateContainerResponse(container_id=container.id)

    def start(self, container_id: str) -> None:
        """StartContainer."""
        start_reported = threading.Event()

        def ended() -> None:
            start_reported.wait()  # a process may exit before the event of its start was sent
            self.store.send_event(container.id, container.sandbox_id, cri.CONTAINER_STOPPED_EVENT)

        with self.store.lock:  # a concurrent stop or removal finds a running process, or none
            container = self.get(container_id)
            if container.state != cri.CONTAINER_CREATED:
                fail_with(
                    grpc.StatusCode.FAILED_PRECONDITION, f"container {container_id!r} was started before"
                )
            if self.sandboxes.get(container.sandbox_id).state != cri.SANDBOX_READY:
                fail_with(
                    grpc.StatusCode.FAILED_PRECONDITION, f"sandbox {container.sandbox_id!r} is not ready"
                )
            try:
                container.process.start(ended)
            except OSError as error:
                container.start_failed = str(error)
                fail_with(grpc.StatusCode.UNKNOWN, f"starting container {container_id!r}: {error}")
        self.store.send_event(container.id, container.sandbox_id, cri.CONTAINER_STARTED_EVENT)
        start_reported.set()

    def stop(self, request: cri.StopContainerRequest) -> None:
        """StopContainer. Unknown ids count as stopped."""
        with self.store.lock:
            container = self.store.containers.get(request.container_id)
        if container:
            container.process.stop(signal_number(container.stop_signal), request.timeout)

    def remove(self, container_id: str) -> None:
        """RemoveContainer. Unknown ids count as removed."""
        with self.store.lock:
            container = self.store.containers.pop(container_id, None)
        if container is not None:
            container.process.stop(signal.SIGKILL, 0)
            self.store.send_event(container_id, container.sandbox_id, cri.CONTAINER_DELETED_EVENT)

    def status(self, request: cri.ContainerStatusRequest) -> cri.ContainerStatusResponse:
        """ContainerStatus."""
        container = self.get(request.container_id)
        pid = container.process.process.pid if container.process.process else 0
        info = {"info": f'{{"pid": {pid}}}'} if request.verbose else {}
        return cri.ContainerStatusResponse(status=container.status(), info=info)

    def matching(self, wanted: cri.ContainerFilter) -> Iterator[cri.Container]:
        """Yield the containers that match a filter, newest first."""
        with self.store.lock:
            containers = list(reversed(self.store.containers.values()))
        for container in containers:
            if wanted.id and not container.id.startswith(wanted.id):
                continue
            if wanted.pod_sandbox_id and wanted.pod_sandbox_id != container.sandbox_id:
                continue
            if wanted.HasField("state") and wanted.state.state != container.state:
                continue
            if selects(wanted.label_selector, container.config.labels):
                yield container.item()

    def update(self, request: cri.UpdateContainerResourcesRequest) -> None:
        """UpdateContainerResources: changes only the status."""
        container = self.get(request.container_id)
        if container.state == cri.CONTAINER_EXITED:
            fail_with(grpc.StatusCode.FAILED_PRECONDITION, f"container {container.id!r} has exited")
        with self.store.lock:
            for field, value in request.linux.ListFields():
                if field.message_type is None:
                    setattr(container.config.linux.resources, field.name, value)

    def reopen_log(self, container_id: str) -> None:
        """ReopenContainerLog."""
        log = self.running(container_id).process.log
        try:
            log.reopen()
        except OSError as error:
            fail_with(grpc.StatusCode.FAILED_PRECONDITION, f"the log cannot be opened: {error}")

    def exec_sync(self, request: cri.ExecSyncRequest) -> cri.ExecSyncResponse:
        """ExecSync. A missing program is an error; a command that exceeds the timeout is killed."""
        container = self.running(request.container_id)
        if not request.cmd:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "there is no command")
        try:
            process = processes.start(
                list(request.cmd), container.process.environment, stdin=subprocess.DEVNULL
            )
        except OSError as error:
            fail_with(grpc.StatusCode.UNKNOWN, f"exec failed: {error}")
        started = time.monotonic()
        try:
            stdout, stderr = process.communicate(timeout=request.timeout or None)
        except subprocess.TimeoutExpired:
            processes.kill_session(process)
            process.communicate()
            fail_with(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f"the command ran longer than {time.monotonic() - started:.1f} s",
            )
        return cri.ExecSyncResponse(stdout=stdout, stderr=stderr, exit_code=processes.exit_code(process))
