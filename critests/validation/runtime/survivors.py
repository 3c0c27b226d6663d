"""Objects that a daemon leaves behind when it exits, in every state and with calls in progress, and that it
must find when it is started again.

Many tests share one restart: each calls the restarted daemon and compares the response with what was recorded
before. A test takes (`take`) what it changes, so that no other test uses it.
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
from critests.testing import (
    Blocked,
    Capability,
    Container,
    OwnRuntime,
    Protocol,
    Sandbox,
    SetUpFailed,
    Streams,
    host_processes,
    process_of_sandbox,
    setting_up,
    stat_of,
)

MIB = 1 << 20
GATE = "/gate"
"""Mount point of a host directory in which containers that shall exit without a daemon wait for a file."""
WAIT_AT_THE_GATE = f"until [ -e {GATE}/open ]; do usleep 20000; done"
EXITED_CODE, EXITED_MEANWHILE_CODE, STOPPED_CODE = 7, 23, 5  # distinct, and none of a signal
# memory and swap together have the same limit: the process is killed instead of swapped
SMALL_MEMORY = cri.LinuxContainerResources(
    memory_limit_in_bytes=24 * MIB, memory_swap_limit_in_bytes=24 * MIB
)
UPDATED_RESOURCES = cri.LinuxContainerResources(
    cpu_shares=512, memory_limit_in_bytes=96 * MIB, memory_swap_limit_in_bytes=96 * MIB
)
"""Resources to which a container was updated before the restart."""
IN_EVERY_STATE = ("created", "running", "exited")
"""Names and states of the containers that no test changes."""
PORT = 7001
"""Port of the pod at which a server echoes its input."""
SERVE_AND_PRINT = f"{{ nc -ll -p {PORT} -e cat & while :; do echo tick; usleep 100000; done & }}"
"""Script of the running container: an echo server, and a line of output every 0.1 seconds."""


@dataclass(repr=False)
class Survivors:
    """Objects that were created on a runtime before its daemon exited, and what it reported of them then.

    Attributes:
        runtime: restarted; the tests call it.
        pod: READY, with most of the containers.
        sandboxes: others by name: `stopped` before the restart, `without process` since the daemon was down,
            `sandbox to stop` by a test.
        containers: by name.
        missing: why an object could not be created, by its name.
        statuses: ContainerStatus and PodSandboxStatus before the restart, by id.
        listed: ListContainers and ListPodSandbox before the restart, by id.
        images: ListImages before the restart, by id.
        status: Status before the restart.
        process_start: when the first process of the running container started; see `process_start_of`.
        failure: why the restart failed; empty if the daemon came back.
        opened_ns: when the containers at the gate were released; nanoseconds since the epoch.
    """

    runtime: OwnRuntime
    pod: Sandbox
    sandboxes: dict[str, Sandbox] = field(default_factory=dict)
    containers: dict[str, Container] = field(default_factory=dict)
    missing: dict[str, Blocked | SetUpFailed] = field(default_factory=dict)
    statuses: dict[str, cri.ContainerStatus | cri.PodSandboxStatus] = field(default_factory=dict)
    listed: dict[str, cri.Container | cri.PodSandbox] = field(default_factory=dict)
    images: dict[str, cri.Image] = field(default_factory=dict)
    status: cri.StatusResponse = field(default_factory=cri.StatusResponse)
    process_start: str = ""
    failure: str = ""
    opened_ns: int = 0

    def __repr__(self) -> str:
        return f"<objects from before a restart of {self.runtime!r}>"

    def container(self, name: str) -> Container:
        """Return a container to read; ends the test if it could not be created."""
        self._check_created(name)
        return self.containers[name]

    def sandbox(self, name: str) -> Sandbox:
        """Return a sandbox to read; ends the test if it could not be created."""
        self._check_created(name)
        return self.sandboxes[name]

    def take(self, name: str) -> Container:
        """Return a container that only this test may change."""
        self.runtime.used_up = True
        return self.container(name)

    def take_sandbox(self, name: str) -> Sandbox:
        """Return a sandbox that only this test may change."""
        self.runtime.used_up = True
        return self.sandbox(name)

    def add(self, name: str, make: Callable[[], Container]) -> None:
        """Create a container; a failure ends only the tests that use it."""
        with self._or_missing(name):
            self.containers[name] = make()

    def add_sandbox(self, name: str, make: Callable[[], Sandbox]) -> None:
        """Create a sandbox in the same way."""
        with self._or_missing(name):
            self.sandboxes[name] = make()

    @contextlib.contextmanager
    def _or_missing(self, name: str) -> Iterator[None]:
        try:
            yield
        except (Blocked, SetUpFailed) as reason:
            self.missing[name] = reason

    def _check_created(self, name: str) -> None:
        if name in self.missing:
            raise self.missing[name]

    def record_state(self) -> None:
        """Record lists and statuses of all objects."""
        stub = self.runtime.stub
        with setting_up():
            self.status = stub.Status(cri.StatusRequest())
            self.images = {
                image.id: image for image in self.runtime.images.ListImages(cri.ListImagesRequest()).images
            }
            if "running" in self.containers:
                self.process_start = process_start_of(self.containers["running"])
            for container in self.containers.values():
                self.statuses[container.id] = container.status()
            for sandbox in (self.pod, *self.sandboxes.values()):
                self.statuses[sandbox.id] = sandbox.status()
            containers = stub.ListContainers(cri.ListContainersRequest()).containers
            sandboxes = stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
            self.listed = {entry.id: entry for entry in containers}
            self.listed |= {entry.id: entry for entry in sandboxes}


def differences(before: Message, now: Message) -> dict[str, str]:
    """Return what differs between two messages of one type: the old and the new value, by field."""
    return {
        field.name: f"{getattr(before, field.name)!r}, now {getattr(now, field.name)!r}"
        for field in before.DESCRIPTOR.fields
        if getattr(before, field.name) != getattr(now, field.name)
    }


def process_start_of(container: Container) -> str:
    """Return the start time of a container's first process, in clock ticks since boot: field 22 of
    /proc/PID/stat, see proc(5).
    """
    # the process is number 1 of every container: only its start time distinguishes it from another one
    return container.output("cat", "/proc/1/stat").rpartition(")")[2].split()[19]


@contextlib.contextmanager
def survivors_of_restart(
    runtime: OwnRuntime, end: signal.Signals, change: Callable[[], None] = lambda: None
) -> Iterator[Survivors]:
    """Create all objects, end the daemon, let their state change while it is down, and start it again.

    Args:
        runtime: whose daemon is restarted.
        end: the signal that ends it.
        change: what else is changed before it starts again.
    """
    folder = Path(tempfile.mkdtemp(prefix="gate-", dir=_created(runtime.context.run.data_directory)))
    try:
        survivors = Survivors(runtime, runtime.sandbox(labels={"app": "survivor"}))
        runtime.used_up = False
        marks = _make_containers(survivors, folder)
        _make_sandboxes(survivors)
        survivors.record_state()
        with _calls_in_progress(survivors):
            _end_and_start(survivors, end, folder, marks, change)
        yield survivors
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _created(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _make_containers(survivors: Survivors, folder: Path) -> dict[str, str]:
    """Create the containers of the pod; return the marks in the command lines of the ones at the gate, by
    name.
    """
    containers, pod = survivors.runtime.containers, survivors.pod
    gate = cri.Mount(container_path=GATE, host_path=str(folder), readonly=True)
    # no field has its default, so that one that is lost shows
    every_field: dict[str, Any] = {
        "labels": {"app": "survivor"},
        "annotations": {"note": "retained"},
        "attempt": 2,
        "envs": {"RETAINED": "yes"},
        "mounts": [gate],
        "in_sandbox": pod,
    }
    survivors.add("created", lambda: containers.created(**every_field))
    survivors.add("running", lambda: containers.running(first=SERVE_AND_PRINT, **every_field))
    survivors.add("exited", lambda: containers.exited(script=f"exit {EXITED_CODE}", **every_field))
    survivors.add("to start", lambda: containers.created(in_sandbox=pod))
    survivors.add("to stop", lambda: containers.running(on_term=f"exit {STOPPED_CODE}", in_sandbox=pod))
    survivors.add("to remove", lambda: containers.exited(in_sandbox=pod))
    survivors.add("to watch", lambda: containers.running(in_sandbox=pod))
    survivors.add("ignores SIGTERM", lambda: containers.running(on_term="echo signalled", in_sandbox=pod))
    survivors.add("updated", lambda: _updated(containers.running(in_sandbox=pod)))
    marks = {}
    for name, script, resources in (
        ("exited meanwhile", f"{WAIT_AT_THE_GATE}; exit {EXITED_MEANWHILE_CODE}", None),
        # `dd` allocates a buffer of its block size: 96 MiB, four times the limit
        ("OOM-killed", f"{WAIT_AT_THE_GATE}; exec dd if=/dev/zero of=/dev/null bs=96M", SMALL_MEMORY),
    ):
        marks[name] = mark = f"gate-{secrets.token_hex(8)}"
        config = containers.config(script=script, mounts=[gate], resources=resources)
        # the script ignores it; it identifies the process in the process table
        config.args.append(mark)
        survivors.add(name, lambda config=config: containers.running(config, in_sandbox=pod))  # type: ignore[misc]  # mypy cannot type a lambda's default
    return {name: mark for name, mark in marks.items() if name not in survivors.missing}


def _updated(container: Container) -> Container:
    with setting_up():
        container.connection.runtime.UpdateContainerResources(
            cri.UpdateContainerResourcesRequest(container_id=container.id, linux=UPDATED_RESOURCES)
        )
    return container


def _make_sandboxes(survivors: Survivors) -> None:
    runtime = survivors.runtime
    survivors.add_sandbox("stopped", lambda: runtime.sandboxes.in_state(cri.SANDBOX_NOTREADY))
    survivors.add_sandbox("sandbox to stop", runtime.sandbox)
    survivors.add_sandbox("without process", runtime.sandbox)
    if "sandbox to stop" in survivors.sandboxes:
        pod = survivors.sandboxes["sandbox to stop"]
        survivors.add("in the sandbox to stop", lambda: runtime.container(pod))


@contextlib.contextmanager
def _calls_in_progress(survivors: Survivors) -> Iterator[None]:
    """Have an ExecSync, an exec session, an attach session, a stream of events and a StopContainer in
    progress.
    """
    runtime = survivors.runtime
    streams = Streams(runtime)
    stub = runtime.stub
    calls: list[Any] = []
    with contextlib.suppress(Blocked, SetUpFailed), setting_up():
        running = survivors.container("running")
        # 600 seconds are far longer than a restart takes
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
        # in progress for as long as the grace period, as the process does not exit at SIGTERM
        ignoring = survivors.container("ignores SIGTERM")
        calls.append(
            stub.StopContainer.future(cri.StopContainerRequest(container_id=ignoring.id, timeout=600))
        )
        runtime.containers.until_logged(ignoring, "signalled")
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
    sandbox_process = _process_of(survivors)
    try:
        with runtime.down(end):
            survivors.opened_ns = time.time_ns()
            (folder / "open").touch()
            change()
            if sandbox_process:
                # the kernel drops signals to process 1 that it does not handle, but not this one
                os.kill(sandbox_process, signal.SIGKILL)
            # before the daemon is started again: it must not observe the exits
            runtime.eventually("the processes at the gate to exit", lambda: not any(map(_is_running, pids)))
    except AssertionError as error:
        survivors.failure = str(error)


def _process_of(survivors: Survivors) -> int:
    """Return the process of the sandbox that shall lose it; 0 if there is none, or none that this machine
    shows.
    """
    runtime = survivors.runtime
    needed = Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT
    if "without process" in survivors.missing or not all(map(runtime.has, needed)):
        return 0
    try:
        with setting_up():
            return process_of_sandbox(survivors.sandboxes["without process"])
    except Blocked as reason:
        survivors.missing["without process"] = reason
        return 0


def _is_running(pid: int) -> bool:
    # the first field is the state: Z is a zombie, X a dead process
    return stat_of(pid)[:1] not in ([], ["Z"], ["X"])
