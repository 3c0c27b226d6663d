"""Plays steps on a runtime: each becomes a call on the raw stub, and what it answers becomes plain data."""

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import grpc

from critests.api import api_pb2 as cri
from critests.client import Connection
from critests.client.failures import code_of
from critests.exit_codes import CannotTest
from critests.explore.looking import SEQUENCE_LABEL, look_of, world_before
from critests.lifecycle.requests import ImageName, RequestBuilder, pulling
from critests.model import Beat, Breach, Step, World, judge
from critests.model.containers import printed_by
from critests.model.images import reference
from critests.model.looks import ANNOTATION, COLOUR
from critests.model.orders import Done, judge_together
from critests.model.sights import Answer
from critests.model.steps import (
    EXEC_CODE,
    FAILED,
    TERMINATED,
    TOLD,
    Process,
    colour_of,
    playable,
)
from critests.node.capabilities import NO_SUCH_ID

CALL_SECONDS = 20.0
"""Of every call: some runtimes take nearly all of a client's deadline to end what ignores SIGTERM."""
END_SECONDS = 10.0
READY_SECONDS = 2.0
POLL_SECONDS = 0.01
READY_LINE = b"ready"
DAEMON_ENDED = "the daemon has ended"


class Daemon(Protocol):
    """A throwaway runtime, as far as steps disturb it."""

    def restart(self) -> None:
        """End the daemon with SIGKILL, start it again and wait until it is ready.

        Raises:
            CannotTest: it does not come back.
        """

    def failing(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Let an operation of the OCI runtime fail for a while."""


@dataclass
class Player:
    """Plays sequences on one runtime, each under a label of its own, and cleans up after each.

    Attributes:
        connection: to the runtime.
        requests: builds messages with the run's label.
        base: what containers are made of that name no image; no step removes it.
        images: makes what the steps of a sequence pull and remove, by key, with their tags: of each sequence
            its own, so that none meets what another left behind.
        handler: of every sandbox.
        daemon: what steps may disturb; None where they may not.
        played: number of sequences.
        steps: number of steps of all of them.
    """

    connection: Connection
    requests: RequestBuilder
    base: ImageName
    images: Callable[[], dict[str, tuple[str, ...]]] = dict
    handler: str = ""
    daemon: "Daemon | None" = None
    played: int = 0
    steps: int = 0

    @contextlib.contextmanager
    def sequence(self) -> "Iterator[Played]":
        """Give a sequence that has not begun; what it made is removed at the end."""
        self.played += 1
        world = world_before(self.connection, self.images(), f"x{self.played}-")
        begun = Played(self, world, position=self.connection.recorder.position)
        try:
            yield begun
        finally:
            begun.clear()

    def breaches(
        self, beats: Iterable[Beat], muted: Callable[[Breach], bool] = lambda _: False
    ) -> list[Breach]:
        """Play a sequence until it breaks a promise that is not muted; return those breaches."""
        with self.sequence() as played:
            for beat in playable(beats):
                found = [breach for breach in played.play(beat, muted) if not muted(breach)]
                if found:
                    return found
        return []


@dataclass
class Played:
    """One sequence as it is played.

    Attributes:
        player: what plays it.
        world: what is known.
        beats: those that were played.
        codes: what each step of the last one was answered with.
        position: of the first call in the record of calls.
    """

    player: Player
    world: World
    beats: list[Beat] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    position: int = 0
    _configs: dict[str, cri.PodSandboxConfig] = field(default_factory=dict)
    _logs: dict[str, Path] = field(default_factory=dict)

    def play(self, beat: Beat, muted: Callable[[Breach], bool] = lambda _: False) -> list[Breach]:
        """Play the steps of a beat at once, and return the promises that they broke.

        Args:
            beat: one step or several.
            muted: which breaches are known: an order of several steps that has no others explains them.
        """
        done = self._done(beat)
        self.player.steps += len(beat)
        self.beats.append(beat)
        self.codes = [each.answer.code for each in done]
        try:
            look = look_of(self.player.connection, self.world)
        except grpc.RpcError as error:
            code, details = code_of(error)
            rpc, seen = beat[-1].rpc, f"{code}: {details}"
            if not self._daemon_lives():
                return [Breach("GEN-17", DAEMON_ENDED, rpc, "a daemon that lives", seen)]
            return [Breach("CNC-08", "a list fails", rpc, "a list", seen)]
        if len(done) == 1:
            return judge(self.world, beat[0], done[0].answer, look)
        return judge_together(self.world, done, look, muted)

    def _done(self, beat: Beat) -> list[Done]:
        if len(beat) == 1:
            return [self._timed(beat[0])]
        together = threading.Barrier(len(beat))

        def one(step: Step) -> Done:
            together.wait()
            return self._timed(step)

        with ThreadPoolExecutor(len(beat)) as clients:
            return list(clients.map(one, beat))

    def _timed(self, step: Step) -> Done:
        begun = time.monotonic()
        daemon = self.player.daemon
        disturbed = daemon.failing(step.failing) if daemon and step.failing else contextlib.nullcontext()
        with disturbed:
            answer = self._answer(step)
        return Done(step, answer, begun, time.monotonic())

    def clear(self) -> None:
        """Remove what the sequence made, as far as the runtime does it."""
        runtime = self.player.connection.runtime
        with contextlib.suppress(grpc.RpcError):
            for container in runtime.ListContainers(cri.ListContainersRequest()).containers:
                if container.labels.get(SEQUENCE_LABEL) == self.world.prefix:
                    self._quietly(runtime.StopContainer, cri.StopContainerRequest(container_id=container.id))
                    self._quietly(
                        runtime.RemoveContainer, cri.RemoveContainerRequest(container_id=container.id)
                    )
            for sandbox in runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items:
                if sandbox.labels.get(SEQUENCE_LABEL) == self.world.prefix:
                    self._quietly(
                        runtime.StopPodSandbox, cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id)
                    )
                    self._quietly(
                        runtime.RemovePodSandbox, cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id)
                    )
        for image in self.world.images.values():
            if True in image.present and (image.id or image.tags):
                request = cri.RemoveImageRequest(image=cri.ImageSpec(image=image.id or image.names[0]))
                self._quietly(self.player.connection.images.RemoveImage, request)

    def _quietly(self, call: Callable[..., Any], request: Any) -> None:  # noqa: ANN401 - any RPC and its message
        with contextlib.suppress(grpc.RpcError):
            call(request, timeout=self._seconds)

    @property
    def _seconds(self) -> float:
        return CALL_SECONDS * self.player.connection.deadlines.scale

    def _daemon_lives(self) -> bool:
        try:
            self.player.connection.runtime.Version(cri.VersionRequest())
        except grpc.RpcError:
            return False
        return True

    def _answer(self, step: Step) -> Answer:
        try:
            answer: Answer = getattr(self, f"_{step.rpc}")(step)
        except grpc.RpcError as error:
            code, details = code_of(error)
            return Answer(code, details=details)
        return answer

    def _call(self, step: Step, request: Any) -> Any:  # noqa: ANN401 - any RPC and its message
        connection = self.player.connection
        stub = connection.images if "Image" in step.rpc else connection.runtime
        return getattr(stub, step.rpc)(request, timeout=self._seconds + step.timeout)

    def _id(self, key: str) -> str:
        known = self.world.sandboxes.get(key) or self.world.containers.get(key)
        return known.id if known else NO_SUCH_ID if key else ""

    # One function an RPC, called as it is

    def _RunPodSandbox(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        name = f"{self.world.prefix}{step.name}"
        config = self.player.requests.sandbox(
            name,
            uid=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.player.requests.run.id}/{name}")),
            attempt=step.attempt,
            labels=self._labels(step.makes),
            annotations={ANNOTATION: step.makes},
        )
        request = cri.RunPodSandboxRequest(config=config, runtime_handler=self.player.handler)
        answer = self._call(step, request)
        self._configs[answer.pod_sandbox_id] = config
        return Answer(id=answer.pod_sandbox_id)

    def _labels(self, key: str) -> dict[str, str]:
        return {SEQUENCE_LABEL: self.world.prefix, COLOUR: colour_of(key)}

    def _StopPodSandbox(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        self._call(step, cri.StopPodSandboxRequest(pod_sandbox_id=self._id(step.on)))
        return Answer()

    def _RemovePodSandbox(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        self._call(step, cri.RemovePodSandboxRequest(pod_sandbox_id=self._id(step.on)))
        return Answer()

    def _PodSandboxStatus(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        answer = self._call(step, cri.PodSandboxStatusRequest(pod_sandbox_id=self._id(step.on)))
        return Answer(id=answer.status.id)

    def _ListPodSandbox(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        wanted = cri.PodSandboxFilter(id=self._id(step.on))
        if step.state:
            wanted.state.state = getattr(cri, step.state)
        if step.colour:
            wanted.label_selector[COLOUR] = step.colour
        answer = self._call(step, cri.ListPodSandboxRequest(filter=wanted))
        return Answer(ids=tuple(item.id for item in answer.items))

    def _CreateContainer(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        sandbox_id = self._id(step.inside)
        pod = self._configs.get(sandbox_id) or self.player.requests.sandbox(f"{self.world.prefix}no-pod")
        image = self.world.images.get(step.image)
        name = self.player.base
        if image is not None:
            name = ImageName(image.id or image.names[0], image.names[0])
        config = self.player.requests.container(
            name,
            step.name,
            attempt=step.attempt,
            command=["/bin/sh", "-c", self._script(step)],
            labels=self._labels(step.makes),
            annotations={ANNOTATION: step.makes},
        )
        request = cri.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=pod)
        answer = self._call(step, request)
        self._logs[step.makes] = Path(pod.log_directory) / config.log_path
        return Answer(id=answer.container_id)

    def _script(self, step: Step) -> str:
        if step.process == Process.WAITS:
            mark = f"{self.player.requests.run.id}-{self.world.prefix}{step.makes}"
            ends = f"trap 'exit {TERMINATED}' TERM; trap 'exit {TOLD}' USR1"
            return f"{ends}; echo {READY_LINE.decode()}; : {mark}; sleep 100000 & wait"
        return f"exit {0 if step.process == Process.SUCCEEDS else FAILED}"

    def _StartContainer(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        self._call(step, cri.StartContainerRequest(container_id=self._id(step.on)))
        container = self.world.containers.get(step.on)
        if container is None or container.gone:
            return Answer()
        if container.process == Process.WAITS:
            # until its handlers stand, a signal means something else
            self._until(READY_SECONDS, lambda: self._has_said(self._logs[step.on]))
        else:
            # what overtakes the end of a process comes out otherwise each time
            self._until(READY_SECONDS, lambda: self._has_ended(container.id))
        return Answer()

    def _has_ended(self, container_id: str) -> bool:
        request = cri.ContainerStatusRequest(container_id=container_id)
        try:
            status = self.player.connection.runtime.ContainerStatus(request).status
        except grpc.RpcError:
            return True  # another client has removed it, or the look after the step will tell
        return bool(status.state == cri.CONTAINER_EXITED)

    @staticmethod
    def _has_said(log: Path) -> bool:
        try:
            return READY_LINE in log.read_bytes()
        except OSError:
            return False

    def _StopContainer(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        self._call(step, cri.StopContainerRequest(container_id=self._id(step.on), timeout=step.timeout))
        return Answer()

    def _RemoveContainer(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        self._call(step, cri.RemoveContainerRequest(container_id=self._id(step.on)))
        return Answer()

    def _ContainerStatus(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        answer = self._call(step, cri.ContainerStatusRequest(container_id=self._id(step.on)))
        return Answer(id=answer.status.id)

    def _ListContainers(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        wanted = cri.ContainerFilter(id=self._id(step.on), pod_sandbox_id=self._id(step.inside))
        if step.state:
            wanted.state.state = getattr(cri, step.state)
        if step.colour:
            wanted.label_selector[COLOUR] = step.colour
        answer = self._call(step, cri.ListContainersRequest(filter=wanted))
        return Answer(ids=tuple(item.id for item in answer.containers))

    def _ExecSync(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        script = f"echo {printed_by(self.world, step).strip()}; exit {EXEC_CODE}"
        answer = self._call(step, self._exec_request(step, script))
        return Answer(exit_code=answer.exit_code, output=answer.stdout.decode(errors="backslashreplace"))

    def _exec_request(self, step: Step, script: str) -> cri.ExecSyncRequest:
        return cri.ExecSyncRequest(
            container_id=self._id(step.on), cmd=["/bin/sh", "-c", script], timeout=int(END_SECONDS)
        )

    def _ProcessEnds(self, step: Step) -> Answer:  # noqa: N802 - named as the step
        container = self.world.containers.get(step.on)
        runtime = self.player.connection.runtime
        if container is None:
            return Answer("NOT_MADE")  # by a step that was to make it, and failed this time
        if container.process == Process.WAITS:
            mark = f"{self.player.requests.run.id}-{self.world.prefix}{step.on}"
            # the brackets keep the search from finding itself
            search = f"grep -l ': {mark[:-1]}[{mark[-1]}]' /proc/[0-9]*/cmdline 2>/dev/null"
            script = f"kill -USR1 $({search} | sed 's/[^0-9]//g')"
            # what ends a container ends its commands too, so that this one may fail
            self._quietly(runtime.ExecSync, self._exec_request(step, script))

        if self._until(END_SECONDS, lambda: self._has_ended(container.id)):
            return Answer()
        return Answer("NOT_ENDED", details=f"not EXITED within {END_SECONDS:g} s")

    def _DaemonRestarts(self, step: Step) -> Answer:  # noqa: N802 - named as the step
        del step
        try:
            if self.player.daemon is not None:
                self.player.daemon.restart()
        except CannotTest as error:
            return Answer("NOT_BACK", details=str(error))
        return Answer()

    def _until(self, seconds: float, holds: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + seconds * self.player.connection.deadlines.scale
        while not holds():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _PullImage(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        name = reference(self.world.images[step.on], step.by)
        return Answer(id=self._call(step, pulling(name)).image_ref)

    def _spec(self, step: Step) -> cri.ImageSpec:
        return cri.ImageSpec(image=reference(self.world.images[step.on], step.by))

    def _RemoveImage(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        self._call(step, cri.RemoveImageRequest(image=self._spec(step)))
        return Answer()

    def _ImageStatus(self, step: Step) -> Answer:  # noqa: N802 - the RPC's name
        answer = self._call(step, cri.ImageStatusRequest(image=self._spec(step)))
        return Answer(id=answer.image.id, found=answer.HasField("image"))
