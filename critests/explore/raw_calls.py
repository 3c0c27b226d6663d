"""The calls of a sequence on the raw stub, and their results as plain data."""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.exit_codes import CannotTest
from critests.explore.disturbances import Disturbances
from critests.explore.event_listener import EventListener
from critests.explore.processes import EXITS, READY_LINE, command_of, script_of, shell, signalling
from critests.explore.state_reading import SEQUENCE_LABEL
from critests.lifecycle.requests import ImageName, RequestBuilder, pulling
from critests.model import Step, World
from critests.model.image_rules import reference
from critests.model.invariants import ANNOTATION, COLOUR
from critests.model.linearization import ENDING
from critests.model.observations import NOT_SIGNALLED, CallResult, ObservedContainer, StateSnapshot
from critests.model.steps import LAST_LINES, NO_EVENTS, ContainerProcess, colour_of
from critests.model.world import EXITED
from critests.node.observing.capabilities import NO_SUCH_ID

CALL_SECONDS, ENDING_SECONDS = 20.0, 8.0
"""Deadlines of every call, and of one that stops or removes something: some runtimes take nearly all of it
for a process that ignores SIGTERM.
"""
HANGING_CALL_SECONDS = 2.0
"""Deadline of a call during which something hangs."""
END_SECONDS = 10.0
READY_SECONDS = 2.0
POLL_SECONDS = 0.01
DRAIN_SECONDS, SETTLE_SECONDS = 2.0, 1.0
MOUNT: Final = cri.Mount(container_path="/mnt/hosts", host_path="/etc/hosts", readonly=True)
"""A mount of every container, so that its status has one to report; every node has that file."""


@dataclass
class Calls:
    """The calls of one sequence.

    Attributes:
        connection: to the runtime.
        requests: builds messages with the run's label.
        base: image of containers whose step names none.
        handler: of every sandbox.
        daemon: what steps may disturb; None if they may not.
        world: what is known.
        listening: the client of GetContainerEvents; None without one.
    """

    connection: Connection
    requests: RequestBuilder
    base: ImageName
    handler: str
    daemon: Disturbances | None
    world: World
    listening: EventListener | None = None
    _configs: dict[str, cri.PodSandboxConfig] = field(default_factory=dict)
    _logs: dict[str, Path] = field(default_factory=dict)

    def logs_of(self, statuses: Mapping[str, ObservedContainer | str]) -> dict[str, tuple[str, ...]]:
        """Return the log lines of exited containers, for each of them once. The last line may arrive a moment
        after the exit.
        """
        found = {}
        for container in self.world.containers.values():
            status = statuses.get(container.id)
            is_new = container.has_run and not container.log_read and container.key in self._logs
            if is_new and isinstance(status, ObservedContainer) and status.state == EXITED:
                found[container.id] = self._lines(self._logs[container.key], status.exit_code)
        return found

    def _lines(self, log: Path, exit_code: int) -> tuple[str, ...]:
        last = LAST_LINES.get(exit_code, "")
        self.until(DRAIN_SECONDS, lambda: last in _text(log))
        return _lines_of(log)

    def lines_in_log(self, step: Step, line: str) -> int:
        """Return how many lines of a container's log equal a line."""
        log = self._logs.get(step.on)
        return 0 if log is None else _lines_of(log).count(line)

    def pipes_of(self, snapshot: StateSnapshot) -> dict[str, int]:
        """Return how many pipes the processes that serve each sandbox have open. They may close some a moment
        after a call.
        """
        assert self.daemon is not None, "only the suite's own daemon is inspected"
        ids = [each.id for each in snapshot.sandboxes]
        with_containers = {each.sandbox_id for each in snapshot.containers}
        before = {
            each.id: each.pipes
            for each in self.world.sandboxes.values()
            if each.id not in with_containers and each.pipes >= 0
        }
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            found = self.daemon.pipes(ids)
            more = any(count > before.get(each, count) for each, count in found.items())
            if not more or time.monotonic() > deadline:
                return found
            time.sleep(POLL_SECONDS)

    def clear(self) -> None:
        """Remove the sequence's objects, as far as the runtime does so."""
        self.cancel_events(Step(NO_EVENTS))
        runtime = self.connection.runtime
        with contextlib.suppress(grpc.RpcError):
            listed = runtime.ListContainers(cri.ListContainersRequest()).containers
            for container_id in self._own(listed):
                self._quietly(runtime.StopContainer, cri.StopContainerRequest(container_id=container_id))
                self._quietly(runtime.RemoveContainer, cri.RemoveContainerRequest(container_id=container_id))
            for sandbox_id in self._own(runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items):
                self._quietly(runtime.StopPodSandbox, cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
                self._quietly(
                    runtime.RemovePodSandbox, cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
                )
        for image in self.world.images.values():
            if True in image.present and (image.id or image.tags):
                request = cri.RemoveImageRequest(image=cri.ImageSpec(image=image.id or image.names[0]))
                self._quietly(self.connection.images.RemoveImage, request)

    def _own(self, listed: Any) -> Iterator[str]:  # noqa: ANN401 - entries of either list
        yield from (each.id for each in listed if each.labels.get(SEQUENCE_LABEL) == self.world.prefix)

    def _quietly(self, call: Callable[..., Any], request: Any) -> bool:  # noqa: ANN401 - any RPC and its message
        """Call, and return whether that succeeded."""
        try:
            call(request, timeout=CALL_SECONDS * self.connection.deadlines.scale)
        except grpc.RpcError:
            return False
        return True

    def call(self, step: Step, request: Any) -> Any:  # noqa: ANN401 - any RPC and its message
        """Call the RPC of a step, with its deadline."""
        stub = self.connection.images if "Image" in step.rpc else self.connection.runtime
        seconds = ENDING_SECONDS if step.rpc in ENDING else CALL_SECONDS
        if step.hanging:
            seconds = HANGING_CALL_SECONDS
        return getattr(stub, step.rpc)(
            request, timeout=seconds * self.connection.deadlines.scale + step.timeout
        )

    def id_of(self, key: str) -> str:
        """Return the runtime's id of an object of the sequence."""
        known = self.world.sandboxes.get(key) or self.world.containers.get(key)
        return known.id if known else NO_SUCH_ID if key else ""

    def _labels(self, key: str) -> dict[str, str]:
        return {SEQUENCE_LABEL: self.world.prefix, COLOUR: colour_of(key)}

    def run_sandbox(self, step: Step) -> CallResult:
        """RunPodSandbox: the same name is the same pod, with the same uid."""
        name = f"{self.world.prefix}{step.name}"
        config = self.requests.sandbox(
            name,
            uid=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.requests.run.id}/{name}")),
            attempt=step.attempt,
            labels=self._labels(step.makes),
            annotations={ANNOTATION: step.makes},
        )
        response = self.call(step, cri.RunPodSandboxRequest(config=config, runtime_handler=self.handler))
        self._configs[response.pod_sandbox_id] = config
        return CallResult(id=response.pod_sandbox_id)

    def create_container(self, step: Step) -> CallResult:
        """CreateContainer, of the base image or of one that steps pull and remove."""
        sandbox_id = self.id_of(step.inside)
        pod = self._configs.get(sandbox_id) or self.requests.sandbox(f"{self.world.prefix}no-pod")
        image = self.world.images.get(step.image)
        config = self.requests.container(
            self.base if image is None else ImageName(image.id or image.names[0], image.names[0]),
            step.name,
            attempt=step.attempt,
            command=shell(script_of(step, self.marker_of(step.makes), self.world)),
            labels=self._labels(step.makes),
            annotations={ANNOTATION: step.makes},
            mounts=[MOUNT],
            stdin=step.process == ContainerProcess.LISTENS,
        )
        request = cri.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=pod)
        response = self.call(step, request)
        # before it can exit
        self._logs[step.makes] = Path(pod.log_directory) / config.log_path
        return CallResult(id=response.container_id)

    def marker_of(self, key: str) -> str:
        """Return a text that is in the command line of a container's process and of no other."""
        return f"{self.requests.run.id}-{self.world.prefix}{key}"

    def start_container(self, step: Step) -> CallResult:
        """StartContainer, and wait until its process has installed its handlers, or has exited if it exits at
        once.
        """
        self.call(step, cri.StartContainerRequest(container_id=self.id_of(step.on)))
        container = self.world.containers.get(step.on)
        if container is None or container.gone:
            return CallResult()
        if not ContainerProcess(container.process).brief:
            # before its handlers are installed, a signal has its default effect
            self.until(READY_SECONDS, lambda: self._is_ready(self._logs[step.on]))
        else:
            # a call that races with the exit of a process has a different result each time
            self.until(READY_SECONDS, lambda: self._has_ended(container.id))
        return CallResult()

    def _has_ended(self, container_id: str) -> bool:
        request = cri.ContainerStatusRequest(container_id=container_id)
        try:
            status = self.connection.runtime.ContainerStatus(request).status
        except grpc.RpcError:
            return True  # another client has removed it, or the snapshot after the step shows why
        return bool(status.state == cri.CONTAINER_EXITED)

    @staticmethod
    def _is_ready(log: Path) -> bool:
        return READY_LINE in _text(log)

    def stop_container(self, step: Step) -> CallResult:
        """StopContainer, with its grace period."""
        self.call(step, cri.StopContainerRequest(container_id=self.id_of(step.on), timeout=step.timeout))
        return CallResult()

    def list_sandboxes(self, step: Step) -> CallResult:
        """ListPodSandbox with a filter."""
        by_id = cri.PodSandboxFilter(id=self.id_of(step.on))
        response = self.call(step, cri.ListPodSandboxRequest(filter=_filter(step, by_id)))
        return CallResult(ids=tuple(item.id for item in response.items))

    def list_containers(self, step: Step) -> CallResult:
        """ListContainers with a filter."""
        by_id = cri.ContainerFilter(id=self.id_of(step.on), pod_sandbox_id=self.id_of(step.inside))
        response = self.call(step, cri.ListContainersRequest(filter=_filter(step, by_id)))
        return CallResult(ids=tuple(item.id for item in response.containers))

    def exec_sync(self, step: Step) -> CallResult:
        """ExecSync of a command whose output and exit code are specific to the container."""
        response = self.call(step, self._exec_request(step, command_of(step, self.world)))
        return CallResult(
            exit_code=response.exit_code, output=response.stdout.decode(errors="backslashreplace")
        )

    def _exec_request(self, step: Step, script: str) -> cri.ExecSyncRequest:
        return cri.ExecSyncRequest(
            container_id=self.id_of(step.on), cmd=shell(script), timeout=int(END_SECONDS)
        )

    def signal(self, step: Step, name: str) -> bool:
        """Send a signal to a container's process; return whether the command in the container that does so
        succeeded.
        """
        script = signalling(self.marker_of(step.on), name)
        return self._quietly(self.connection.runtime.ExecSync, self._exec_request(step, script))

    def end_process(self, step: Step) -> CallResult:
        """Make the process of a container exit by itself, and wait until the runtime reports it."""
        container = self.world.containers.get(step.on)
        if container is None:
            return CallResult("NOT_MADE")  # the step that creates it failed this time
        ends = ContainerProcess(container.process).brief or self.signal(step, EXITS)
        # the exit of a container kills its commands too, so that this one may fail
        if not ends and not self.until(READY_SECONDS, lambda: self._has_ended(container.id)):
            return CallResult(NOT_SIGNALLED)
        if self.until(END_SECONDS, lambda: self._has_ended(container.id)):
            return CallResult()
        return CallResult("NOT_ENDED", details=f"not EXITED within {END_SECONDS:g} s")

    def listen(self, step: Step) -> CallResult:
        """GetContainerEvents, during all steps that follow."""
        self.cancel_events(step)
        self.listening = EventListener(self.connection)
        return CallResult()

    def cancel_events(self, step: Step) -> CallResult:
        """Cancel the stream of events."""
        del step
        if self.listening is not None:
            self.listening.cancel()
        self.listening = None
        return CallResult()

    def restart_daemon(self, step: Step) -> CallResult:
        """SIGKILL the daemon and start it again, which ends a stream of events."""
        self.cancel_events(step)
        try:
            if self.daemon is not None:
                self.daemon.restart()
        except CannotTest as error:
            return CallResult("NOT_BACK", details=str(error))
        return CallResult()

    def until(self, seconds: float, holds: Callable[[], bool]) -> bool:
        """Wait until a condition holds, and return whether it does."""
        deadline = time.monotonic() + seconds * self.connection.deadlines.scale
        while not holds():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def pull_image(self, step: Step) -> CallResult:
        """PullImage, by one of its tags."""
        name = reference(self.world.images[step.on], step.by)
        return CallResult(id=self.call(step, pulling(name)).image_ref)

    def _spec(self, step: Step) -> cri.ImageSpec:
        return cri.ImageSpec(image=reference(self.world.images[step.on], step.by))

    def remove_image(self, step: Step) -> CallResult:
        """RemoveImage, by a tag or by its id."""
        self.call(step, cri.RemoveImageRequest(image=self._spec(step)))
        return CallResult()

    def image_status(self, step: Step) -> CallResult:
        """ImageStatus, by a tag or by its id."""
        response = self.call(step, cri.ImageStatusRequest(image=self._spec(step)))
        return CallResult(id=response.image.id, found=response.HasField("image"))


def _text(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _lines_of(log: Path) -> tuple[str, ...]:
    """Return the lines of a log without time, stream and tag."""
    return tuple(line.split(" ", 3)[-1] for line in _text(log).splitlines())


def _filter(step: Step, by_id: Any) -> Any:  # noqa: ANN401 - the filter of either list
    """Add the state and the label of a step to a filter."""
    if step.state:
        by_id.state.state = getattr(cri, step.state)
    if step.colour:
        by_id.label_selector[COLOUR] = step.colour
    return by_id
