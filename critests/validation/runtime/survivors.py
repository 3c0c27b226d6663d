"""What a daemon leaves behind that ends with sandboxes and containers in every state and with calls under
way, and has to find when it is started again.

One restart answers the questions of many tests: each asks the daemon of now, and holds the answer against
what was written down before. What a test changes it takes, so that no other test asks for it.
"""

import contextlib
import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.client.streaming.streams import Protocol
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.sandbox_process import process_of_sandbox
from critests.fixtures.streaming import Streams
from critests.lifecycle.containers import Container
from critests.lifecycle.process import host_processes, stat_of
from critests.lifecycle.sandboxes import Sandbox
from critests.run.outcomes import Blocked, SetUpFailed, setting_up

MIB = 1 << 20
GATE = "/gate"
"""Where containers that are to end while there is no daemon see a folder of this machine, and wait for a file
in it.
"""
WAIT_AT_THE_GATE = f"until [ -e {GATE}/open ]; do usleep 20000; done"
ENDED_WITH, ENDED_MEANWHILE_WITH, STOPPED_WITH = 7, 23, 5
SMALL = cri.LinuxContainerResources(memory_limit_in_bytes=24 * MIB, memory_swap_limit_in_bytes=24 * MIB)
UPDATED = cri.LinuxContainerResources(
    cpu_shares=512, memory_limit_in_bytes=96 * MIB, memory_swap_limit_in_bytes=96 * MIB
)
"""To what a container was updated before the restart."""
IN_EVERY_STATE = ("created", "running", "exited")
"""Containers whose names say their states, and with which no test does anything."""
PORT = 7001
"""Of the pod, at which somebody sends back what comes."""
LIVELY = f"{{ nc -ll -p {PORT} -e cat & while :; do echo tick; usleep 100000; done & }}"
"""What the running container does beside waiting: it serves, and prints."""


@dataclass(repr=False)
class Survivors:
    """What was made on a runtime before its daemon ended, and what was said of it then.

    Attributes:
        runtime: restarted, and asked by the tests.
        pod: READY, with the containers that keep their sandbox.
        sandboxes: others by name: `stopped` before, `orphaned` meanwhile of its process, `leaving` for a
            test to stop.
        containers: by name.
        missing: why something could not be made, by its name.
        said: what the statuses were before the restart, by id.
        listed: ListContainers and ListPodSandbox before the restart, by id.
        images: ListImages before the restart, by id.
        status: what Status said.
        born: when the first process of the running container began; see `birth`.
        failure: what went wrong with the restart; empty where the daemon came back.
        opened_ns: when the containers at the gate were told to end; nanoseconds since the epoch.
    """

    runtime: OwnRuntime
    pod: Sandbox
    sandboxes: dict[str, Sandbox] = field(default_factory=dict)
    containers: dict[str, Container] = field(default_factory=dict)
    missing: dict[str, Blocked | SetUpFailed] = field(default_factory=dict)
    said: dict[str, cri.ContainerStatus | cri.PodSandboxStatus] = field(default_factory=dict)
    listed: dict[str, cri.Container | cri.PodSandbox] = field(default_factory=dict)
    images: dict[str, cri.Image] = field(default_factory=dict)
    status: cri.StatusResponse = field(default_factory=cri.StatusResponse)
    born: str = ""
    failure: str = ""
    opened_ns: int = 0

    def __repr__(self) -> str:
        return f"<what survived on {self.runtime!r}>"

    def container(self, name: str) -> Container:
        """Return a container to look at; ends the test where it could not be made."""
        self._must_be(name)
        return self.containers[name]

    def sandbox(self, name: str) -> Sandbox:
        """Return a sandbox to look at; ends the test where it could not be made."""
        self._must_be(name)
        return self.sandboxes[name]

    def take(self, name: str) -> Container:
        """Return a container that this test alone may change."""
        self.runtime.used_up = True
        return self.container(name)

    def take_sandbox(self, name: str) -> Sandbox:
        """Return a sandbox that this test alone may change."""
        self.runtime.used_up = True
        return self.sandbox(name)

    def keep(self, name: str, make: Callable[[], Container]) -> None:
        """Make a container; what fails is held against the tests alone that ask for it."""
        with self._or_missing(name):
            self.containers[name] = make()

    def keep_sandbox(self, name: str, make: Callable[[], Sandbox]) -> None:
        """Make a sandbox in the same way."""
        with self._or_missing(name):
            self.sandboxes[name] = make()

    @contextlib.contextmanager
    def _or_missing(self, name: str) -> Iterator[None]:
        try:
            yield
        except (Blocked, SetUpFailed) as reason:
            self.missing[name] = reason

    def _must_be(self, name: str) -> None:
        if name in self.missing:
            raise self.missing[name]

    def write_down(self) -> None:
        """Note what is said of everything that no test and no end changes."""
        stub = self.runtime.stub
        with setting_up():
            self.status = stub.Status(cri.StatusRequest())
            self.images = {
                image.id: image for image in self.runtime.images.ListImages(cri.ListImagesRequest()).images
            }
            if "running" in self.containers:
                self.born = birth(self.containers["running"])
            for container in self.containers.values():
                self.said[container.id] = container.status()
            for sandbox in (self.pod, *self.sandboxes.values()):
                self.said[sandbox.id] = sandbox.status()
            containers = stub.ListContainers(cri.ListContainersRequest()).containers
            sandboxes = stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
            self.listed = {entry.id: entry for entry in containers}
            self.listed |= {entry.id: entry for entry in sandboxes}


def changed(before: Message, now: Message) -> dict[str, str]:
    """Return what differs between two messages of a kind: by the name of the field, what it was and is."""
    return {
        field.name: f"{getattr(before, field.name)!r}, now {getattr(now, field.name)!r}"
        for field in before.DESCRIPTOR.fields
        if getattr(before, field.name) != getattr(now, field.name)
    }


def birth(container: Container) -> str:
    """Return when the first process of a container began, in clock ticks since the machine started: field 22
    of proc(5)'s stat.
    """
    return container.output("cat", "/proc/1/stat").rpartition(")")[2].split()[19]


@contextlib.contextmanager
def surviving(
    runtime: OwnRuntime, end: signal.Signals, change: Callable[[], None] = lambda: None
) -> Iterator[Survivors]:
    """Make everything, end the daemon, let happen what happens without one, and start it again.

    Args:
        runtime: whose daemon it is.
        end: by which signal it ends.
        change: what else is different when it starts again.
    """
    folder = Path(tempfile.mkdtemp(prefix="gate-", dir=_made(runtime.context.run.data_directory)))
    try:
        survivors = Survivors(runtime, runtime.sandbox(labels={"app": "survivor"}))
        runtime.used_up = False
        marks = _make_containers(survivors, folder)
        _make_sandboxes(survivors)
        survivors.write_down()
        with _under_way(survivors):
            _end_and_start(survivors, end, folder, marks, change)
        yield survivors
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _make_containers(survivors: Survivors, folder: Path) -> dict[str, str]:
    """Make the containers of the pod; return the marks of those that wait at the gate, by name."""
    containers, pod = survivors.runtime.containers, survivors.pod
    gate = cri.Mount(container_path=GATE, host_path=str(folder), readonly=True)
    whole: dict[str, Any] = {
        "labels": {"app": "survivor"},
        "annotations": {"note": "kept"},
        "attempt": 2,
        "envs": {"KEPT": "yes"},
        "mounts": [gate],
        "in_sandbox": pod,
    }
    survivors.keep("created", lambda: containers.created(**whole))
    survivors.keep("running", lambda: containers.running(first=LIVELY, **whole))
    survivors.keep("exited", lambda: containers.exited(script=f"exit {ENDED_WITH}", **whole))
    survivors.keep("to start", lambda: containers.created(in_sandbox=pod))
    survivors.keep("to stop", lambda: containers.running(on_term=f"exit {STOPPED_WITH}", in_sandbox=pod))
    survivors.keep("to remove", lambda: containers.exited(in_sandbox=pod))
    survivors.keep("to hear of", lambda: containers.running(in_sandbox=pod))
    survivors.keep("stubborn", lambda: containers.running(on_term="echo told", in_sandbox=pod))
    survivors.keep("updated", lambda: _updated(containers.running(in_sandbox=pod)))
    marks = {}
    for name, script, resources in (
        ("ended meanwhile", f"{WAIT_AT_THE_GATE}; exit {ENDED_MEANWHILE_WITH}", None),
        # `dd` takes a buffer of the size of its block
        ("killed for its memory", f"{WAIT_AT_THE_GATE}; exec dd if=/dev/zero of=/dev/null bs=96M", SMALL),
    ):
        marks[name] = mark = f"gate-{secrets.token_hex(8)}"
        config = containers.config(script=script, mounts=[gate], resources=resources)
        config.args.append(mark)
        survivors.keep(name, lambda config=config: containers.running(config, in_sandbox=pod))  # type: ignore[misc]  # mypy cannot type a lambda's default
    return {name: mark for name, mark in marks.items() if name not in survivors.missing}


def _updated(container: Container) -> Container:
    with setting_up():
        container.connection.runtime.UpdateContainerResources(
            cri.UpdateContainerResourcesRequest(container_id=container.id, linux=UPDATED)
        )
    return container


def _make_sandboxes(survivors: Survivors) -> None:
    runtime = survivors.runtime
    survivors.keep_sandbox("stopped", lambda: runtime.sandboxes.in_state(cri.SANDBOX_NOTREADY))
    survivors.keep_sandbox("leaving", runtime.sandbox)
    survivors.keep_sandbox("orphaned", runtime.sandbox)
    if "leaving" in survivors.sandboxes:
        home = survivors.sandboxes["leaving"]
        survivors.keep("in the leaving sandbox", lambda: runtime.container(home))


@contextlib.contextmanager
def _under_way(survivors: Survivors) -> Iterator[None]:
    """Have an exec of either kind, an attach, a stream of events and a stop under way."""
    runtime = survivors.runtime
    streams = Streams(runtime)
    stub = runtime.stub
    calls: list[Any] = []
    with contextlib.suppress(Blocked, SetUpFailed), setting_up():
        running = survivors.container("running")
        calls.append(stub.ExecSync.future(running.exec_request("sleep", "600", timeout=600)))
        request = cri.ExecRequest(container_id=running.id, cmd=["cat"], stdin=True, stdout=True, stderr=True)
        session = streams.open(stub.Exec, request, protocol=Protocol.SPDY)
        session.write(b"before\n")
        session.stdout_until(b"before\n")
        streams.open(
            stub.Attach,
            cri.AttachRequest(container_id=running.id, stdout=True, stderr=True),
            protocol=Protocol.SPDY,
        )
        if runtime.has(Capability.EVENTS):
            calls.append(stub.GetContainerEvents(cri.GetEventsRequest()))
        stubborn = survivors.container("stubborn")
        calls.append(
            stub.StopContainer.future(cri.StopContainerRequest(container_id=stubborn.id, timeout=600))
        )
        runtime.containers.until_logged(stubborn, "told")
    try:
        yield
    finally:
        streams.close()
        for call in calls:
            call.cancel()


def _end_and_start(
    survivors: Survivors,
    end: signal.Signals,
    folder: Path,
    marks: dict[str, str],
    change: Callable[[], None],
) -> None:
    runtime = survivors.runtime
    pids = [pid for mark in marks.values() for pid in host_processes(mark)]
    pause = _process_of(survivors)
    try:
        with runtime.down(end):
            survivors.opened_ns = time.time_ns()
            (folder / "open").touch()
            change()
            if pause:
                os.kill(pause, signal.SIGKILL)
            runtime.eventually("the processes at the gate to end", lambda: not any(map(_lives, pids)))
    except AssertionError as error:
        survivors.failure = str(error)


def _process_of(survivors: Survivors) -> int:
    """Return the process of the sandbox that is to lose it; 0 where it has none, or none is to be seen."""
    runtime = survivors.runtime
    seen = Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT
    if "orphaned" in survivors.missing or not all(map(runtime.has, seen)):
        return 0
    try:
        with setting_up():
            return process_of_sandbox(survivors.sandboxes["orphaned"])
    except Blocked as reason:
        survivors.missing["orphaned"] = reason
        return 0


def _lives(pid: int) -> bool:
    return stat_of(pid)[:1] not in ([], ["Z"], ["X"])
