"""The calls of a sequence on the raw stub, and what they answer as plain data."""

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
from critests.explore.disturbances import Below
from critests.explore.event_listener import Listening
from critests.explore.processes import ENDS, READY_LINE, command_of, script_of, shell, signalling
from critests.explore.state_reading import SEQUENCE_LABEL
from critests.lifecycle.requests import ImageName, RequestBuilder, pulling
from critests.model import Step, World
from critests.model.image_rules import reference
from critests.model.invariants import ANNOTATION, COLOUR
from critests.model.linearization import ENDING
from critests.model.observations import NOT_TOLD, CallResult, ContainerSeen, StateSnapshot
from critests.model.steps import LAST_WORDS, NO_EVENTS, ContainerProcess, colour_of
from critests.model.world import EXITED
from critests.node.observing.capabilities import NO_SUCH_ID

CALL_SECONDS, ENDING_SECONDS = 20.0, 8.0
"""Deadlines: of every call, and of one that ends something, since some runtimes take nearly all of it to end
what ignores SIGTERM.
"""
PATIENCE_SECONDS = 2.0
"""Deadline of a call below which something hangs."""
END_SECONDS = 10.0
READY_SECONDS = 2.0
POLL_SECONDS = 0.01
DRAIN_SECONDS, SETTLE_SECONDS = 2.0, 1.0
MOUNT: Final = cri.Mount(container_path="/mnt/hosts", host_path="/etc/hosts", readonly=True)
"""In every container, so that its status has one to tell of; every node has that file."""


@dataclass
class Calls:
    """The calls of one sequence.

    Attributes:
        connection: to the runtime.
        requests: builds messages with the run's label.
        base: what containers are made of that name no image.
        handler: of every sandbox.
        daemon: what steps may disturb; None where they may not.
        world: what is known.
        listening: the client that listens for events; None where none does.
    """

    connection: Connection
    requests: RequestBuilder
    base: ImageName
    handler: str
    daemon: Below | None
    world: World
    listening: Listening | None = None
    _configs: dict[str, cri.PodSandboxConfig] = field(default_factory=dict)
    _logs: dict[str, Path] = field(default_factory=dict)

    def logs_of(self, statuses: Mapping[str, ContainerSeen | str]) -> dict[str, tuple[str, ...]]:
        """Return the lines in the logs of containers that have ended, of each once; what a process wrote last
        may take a moment.
        """
        found = {}
        for container in self.world.containers.values():
            status = statuses.get(container.id)
            unread = container.has_run and not container.log_read and container.key in self._logs
            if unread and isinstance(status, ContainerSeen) and status.state == EXITED:
                found[container.id] = self._lines(self._logs[container.key], status.exit_code)
        return found

    def _lines(self, log: Path, exit_code: int) -> tuple[str, ...]:
        last = LAST_WORDS.get(exit_code, "")
        self.until(DRAIN_SECONDS, lambda: last in _text(log))
        return _said(log)

    def lines_in_log(self, step: Step, words: str) -> int:
        """Return how many lines of a container's log are these words."""
        log = self._logs.get(step.on)
        return 0 if log is None else _said(log).count(words)

    def pipes_of(self, look: StateSnapshot) -> dict[str, int]:
        """Return how many pipes what serves each sandbox has open; what closes them may take a moment."""
        assert self.daemon is not None, "without one nothing below is looked at"
        ids = [each.id for each in look.sandboxes]
        inhabited = {each.sandbox_id for each in look.containers}
        before = {
            each.id: each.pipes
            for each in self.world.sandboxes.values()
            if each.id not in inhabited and each.pipes >= 0
        }
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            found = self.daemon.pipes(ids)
            more = any(count > before.get(each, count) for each, count in found.items())
            if not more or time.monotonic() > deadline:
                return found
            time.sleep(POLL_SECONDS)

    def clear(self) -> None:
        """Remove what the sequence made, as far as the runtime does it."""
        self.leave_events(Step(NO_EVENTS))
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
            seconds = PATIENCE_SECONDS
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
        """RunPodSandbox: the same name is the same pod, with its uid."""
        name = f"{self.world.prefix}{step.name}"
        config = self.requests.sandbox(
            name,
            uid=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.requests.run.id}/{name}")),
            attempt=step.attempt,
            labels=self._labels(step.makes),
            annotations={ANNOTATION: step.makes},
        )
        answer = self.call(step, cri.RunPodSandboxRequest(config=config, runtime_handler=self.handler))
        self._configs[answer.pod_sandbox_id] = config
        return CallResult(id=answer.pod_sandbox_id)

    def create_container(self, step: Step) -> CallResult:
        """CreateContainer, of the base image or of one that steps pull and remove."""
        sandbox_id = self.id_of(step.inside)
        pod = self._configs.get(sandbox_id) or self.requests.sandbox(f"{self.world.prefix}no-pod")
        image = self.world.images.get(step.image)
        config = self.requests.container(
            self.base if image is None else ImageName(image.id or image.names[0], image.names[0]),
            step.name,
            attempt=step.attempt,
            command=shell(script_of(step, self.mark_of(step.makes), self.world)),
            labels=self._labels(step.makes),
            annotations={ANNOTATION: step.makes},
            mounts=[MOUNT],
            stdin=step.process == ContainerProcess.LISTENS,
        )
        request = cri.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=pod)
        answer = self.call(step, request)
        # before it can end
        self._logs[step.makes] = Path(pod.log_directory) / config.log_path
        return CallResult(id=answer.container_id)

    def mark_of(self, key: str) -> str:
        """Return what stands in the command line of a container's process and of no other."""
        return f"{self.requests.run.id}-{self.world.prefix}{key}"

    def start_container(self, step: Step) -> CallResult:
        """StartContainer, and wait until its process is as far as later steps expect."""
        self.call(step, cri.StartContainerRequest(container_id=self.id_of(step.on)))
        container = self.world.containers.get(step.on)
        if container is None or container.gone:
            return CallResult()
        if not ContainerProcess(container.process).brief:
            # until its handlers stand, a signal means something else
            self.until(READY_SECONDS, lambda: self._has_said(self._logs[step.on]))
        else:
            # what overtakes the end of a process comes out otherwise each time
            self.until(READY_SECONDS, lambda: self._has_ended(container.id))
        return CallResult()

    def _has_ended(self, container_id: str) -> bool:
        request = cri.ContainerStatusRequest(container_id=container_id)
        try:
            status = self.connection.runtime.ContainerStatus(request).status
        except grpc.RpcError:
            return True  # another client has removed it, or the look after the step will tell
        return bool(status.state == cri.CONTAINER_EXITED)

    @staticmethod
    def _has_said(log: Path) -> bool:
        return READY_LINE in _text(log)

    def stop_container(self, step: Step) -> CallResult:
        """StopContainer, with its grace period."""
        self.call(step, cri.StopContainerRequest(container_id=self.id_of(step.on), timeout=step.timeout))
        return CallResult()

    def list_sandboxes(self, step: Step) -> CallResult:
        """ListPodSandbox with a filter."""
        wanted = cri.PodSandboxFilter(id=self.id_of(step.on))
        answer = self.call(step, cri.ListPodSandboxRequest(filter=_chosen(step, wanted)))
        return CallResult(ids=tuple(item.id for item in answer.items))

    def list_containers(self, step: Step) -> CallResult:
        """ListContainers with a filter."""
        wanted = cri.ContainerFilter(id=self.id_of(step.on), pod_sandbox_id=self.id_of(step.inside))
        answer = self.call(step, cri.ListContainersRequest(filter=_chosen(step, wanted)))
        return CallResult(ids=tuple(item.id for item in answer.containers))

    def exec_sync(self, step: Step) -> CallResult:
        """ExecSync of a command whose output and exit code are the container's own."""
        answer = self.call(step, self._exec_request(step, command_of(step, self.world)))
        return CallResult(exit_code=answer.exit_code, output=answer.stdout.decode(errors="backslashreplace"))

    def _exec_request(self, step: Step, script: str) -> cri.ExecSyncRequest:
        return cri.ExecSyncRequest(
            container_id=self.id_of(step.on), cmd=shell(script), timeout=int(END_SECONDS)
        )

    def signal(self, step: Step, name: str) -> bool:
        """Send a signal to a container's process, and return whether the command that does so succeeded."""
        script = signalling(self.mark_of(step.on), name)
        return self._quietly(self.connection.runtime.ExecSync, self._exec_request(step, script))

    def end_process(self, step: Step) -> CallResult:
        """Let the process of a container end by itself, and wait until the runtime says so."""
        container = self.world.containers.get(step.on)
        if container is None:
            return CallResult("NOT_MADE")  # by a step that was to make it, and failed this time
        ends = ContainerProcess(container.process).brief or self.signal(step, ENDS)
        # what ends a container ends its commands too, so that this one may fail
        if not ends and not self.until(READY_SECONDS, lambda: self._has_ended(container.id)):
            return CallResult(NOT_TOLD)
        if self.until(END_SECONDS, lambda: self._has_ended(container.id)):
            return CallResult()
        return CallResult("NOT_ENDED", details=f"not EXITED within {END_SECONDS:g} s")

    def listen(self, step: Step) -> CallResult:
        """GetContainerEvents, beside all steps that follow."""
        self.leave_events(step)
        self.listening = Listening(self.connection)
        return CallResult()

    def leave_events(self, step: Step) -> CallResult:
        """End the stream of events."""
        del step
        if self.listening is not None:
            self.listening.leave()
        self.listening = None
        return CallResult()

    def restart_daemon(self, step: Step) -> CallResult:
        """SIGKILL the daemon and start it again, which ends a stream of events."""
        self.leave_events(step)
        try:
            if self.daemon is not None:
                self.daemon.restart()
        except CannotTest as error:
            return CallResult("NOT_BACK", details=str(error))
        return CallResult()

    def until(self, seconds: float, holds: Callable[[], bool]) -> bool:
        """Wait until something holds, and return whether it does."""
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
        answer = self.call(step, cri.ImageStatusRequest(image=self._spec(step)))
        return CallResult(id=answer.image.id, found=answer.HasField("image"))


def _text(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _said(log: Path) -> tuple[str, ...]:
    """Return the lines of a log without time, stream and tag."""
    return tuple(line.split(" ", 3)[-1] for line in _text(log).splitlines())


def _chosen(step: Step, wanted: Any) -> Any:  # noqa: ANN401 - the filter of either list
    """Return a filter with the state and the label of a step."""
    if step.state:
        wanted.state.state = getattr(cri, step.state)
    if step.colour:
        wanted.label_selector[COLOUR] = step.colour
    return wanted
