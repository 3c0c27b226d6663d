"""A container of the suite: create, start, observe and remove it."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.lifecycle import container_log
from critests.lifecycle.assertions import single
from critests.lifecycle.container_log import LogRecord, NoLog
from critests.lifecycle.log_end import wait_until_whole
from critests.lifecycle.mount_points import MountPoint, parse, uppermost
from critests.lifecycle.process import EXEC, FIRST_PROCESS, ProcessStatus
from critests.lifecycle.sandbox import Sandbox, kill
from critests.lifecycle.waiting import ConditionNotMet, eventually, shortened

EXIT_REQUIREMENT = "CTR-21"
"""The requirement that ContainerStatus reports the exit of a container's process."""
STATE_SECONDS = 10.0
LOG_SECONDS = 10.0
SETTLE_SECONDS = 5.0
"""For the last output of an exited container, which a loaded machine may write seconds later; the wait ends
earlier if the log is complete.
"""
COMMAND_SECONDS = 1.0


@dataclass
class Container:
    """A container that the suite created.

    Attributes:
        connection: to its runtime.
        id: returned by CreateContainer.
        sandbox: that it is in.
        config: of the request.
    """

    connection: Connection = field(repr=False)
    id: str
    sandbox: Sandbox = field(repr=False)
    config: cri.ContainerConfig = field(repr=False)
    _log_may_lag: bool = field(default=False, init=False, repr=False)

    @classmethod
    def create(cls, sandbox: Sandbox, config: cri.ContainerConfig) -> "Container":
        """Create a container with CreateContainer, without starting it."""
        request = cri.CreateContainerRequest(
            pod_sandbox_id=sandbox.id, config=config, sandbox_config=sandbox.config
        )
        response = sandbox.connection.runtime.CreateContainer(request)
        sandbox.container_ids.append(response.container_id)
        return cls(sandbox.connection, response.container_id, sandbox, config)

    def start(self) -> None:
        """Start it with StartContainer."""
        self.connection.runtime.StartContainer(cri.StartContainerRequest(container_id=self.id))

    def status(self) -> cri.ContainerStatus:
        """Return its ContainerStatus."""
        return self.connection.runtime.ContainerStatus(
            cri.ContainerStatusRequest(container_id=self.id)
        ).status

    def state(self) -> int:
        """Return its state (`CONTAINER_CREATED`, `_RUNNING`, `_EXITED` or `_UNKNOWN`)."""
        return self.status().state

    def entries(self) -> list[cri.Container]:
        """Return its entries in the list of all containers: one, or none after its removal."""
        listed = self.connection.runtime.ListContainers(cri.ListContainersRequest()).containers
        return [entry for entry in listed if entry.id == self.id]

    def entry(self) -> cri.Container:
        """Return its only entry in the list of all containers; raises AssertionError for none or several."""
        return single("its entry in ListContainers", self.entries())

    def wait_for_state(
        self, state: "cri.ContainerState", seconds: float = STATE_SECONDS
    ) -> cri.ContainerStatus:
        """Wait until it is in a state, and return its status then.

        Raises:
            ConditionNotMet: it was not in that state in time.
        """
        name = cri.ContainerState.Name(state)
        return eventually(
            f"container state {name}",
            self.status,
            seconds * self.connection.deadlines.scale,
            lambda status: status.state == state,
        )

    def exited(self, seconds: float = STATE_SECONDS) -> cri.ContainerStatus:
        """Wait until it exits, and return its status then.

        Raises:
            ConditionNotMet: no exit was reported in time; a breach of `EXIT_REQUIREMENT` explains it.
        """
        try:
            status = self.wait_for_state(cri.CONTAINER_EXITED, seconds)
        except ConditionNotMet as error:
            error.judge = EXIT_REQUIREMENT
            raise
        self._log_may_lag = True
        return status

    @property
    def log_path(self) -> Path:
        """Its log file on this machine."""
        return self.sandbox.log_directory / self.config.log_path

    @property
    def written_log(self) -> Path:
        """Its log file, which exists.

        Raises:
            NoLog: it does not exist.
        """
        self._must_have_log()
        return self.log_path

    def log(self) -> list[LogRecord]:
        """Return the records in its log; after a wait for its exit, all of them."""
        if self._log_may_lag:
            wait_until_whole(self.log_path, SETTLE_SECONDS * self.connection.deadlines.scale)
            self._log_may_lag = False
            self._must_have_log()
        return container_log.read(self.log_path)

    def _must_have_log(self) -> None:
        if self.config.log_path and not self.log_path.exists():
            raise NoLog(f"there is no log at {self.log_path}")

    def log_lines(self, stream: str | None = None) -> list[str]:
        """Return the lines in its log, partial lines joined; bytes that are not UTF-8 become escapes."""
        return [line.decode(errors="backslashreplace") for line in container_log.lines(self.log(), stream)]

    def wait_for_log(self, line: str, seconds: float = LOG_SECONDS) -> list[str]:
        """Wait for a line in its log, and return all lines then.

        Raises:
            ConditionNotMet: the line did not appear in time.
            LogUnreadable: there was no such file, or it has no records.
        """
        return self._awaited_lines(f"the line {line!r} in the log", seconds, lambda lines: line in lines)

    def wait_for_lines(self, count: int = 1) -> list[str]:
        """Wait for a number of lines in its log, and return all lines then.

        Raises:
            ConditionNotMet: they did not appear in time.
            LogUnreadable: there was no such file, or it has no records.
        """
        what = "a line in the log" if count == 1 else f"{count} lines in the log"
        return self._awaited_lines(what, LOG_SECONDS, lambda lines: len(lines) >= count)

    def _awaited_lines(self, what: str, seconds: float, holds: Callable[[list[str]], bool]) -> list[str]:
        try:
            return eventually(what, self.log_lines, seconds * self.connection.deadlines.scale, holds)
        except ConditionNotMet:
            self._must_have_log()
            raise

    def final_log_lines(self, stream: str | None = None) -> list[str]:
        """Wait for its exit, and return everything that it printed."""
        self.exited()
        return self.log_lines(stream)

    def exec_request(self, *command: str, timeout: int = 20) -> cri.ExecSyncRequest:
        """Return the request to run a command in it; `timeout` in seconds."""
        return cri.ExecSyncRequest(container_id=self.id, cmd=command, timeout=timeout)

    def script_request(self, script: str, timeout: int = 20) -> cri.ExecSyncRequest:
        """Return the request to run a shell script in it; `timeout` in seconds."""
        return self.exec_request("/bin/sh", "-c", script, timeout=timeout)

    def exec(self, *command: str, timeout: int = 10) -> cri.ExecSyncResponse:
        """Run a command in it with ExecSync; `timeout` in seconds."""
        return self.connection.runtime.ExecSync(self.exec_request(*command, timeout=timeout))

    def output(self, *command: str) -> str:
        """Run a command in it that must succeed, and return its output without the last newline.

        Raises:
            AssertionError: the command failed.
        """
        response = self.exec(*command)
        assert response.exit_code == 0, (
            f"{' '.join(command)} exited with {response.exit_code}:"
            f" {response.stderr.decode(errors='replace')[:400]}"
        )
        return response.stdout.decode(errors="backslashreplace").rstrip("\n")

    def mounts(self) -> dict[str, MountPoint]:
        """Return its mounts by mount point; of several at one place the uppermost."""
        return uppermost(parse(self.output("cat", "/proc/self/mountinfo")))

    def mount_at(self, place: str) -> MountPoint:
        """Return the uppermost mount at exactly this mount point.

        Raises:
            AssertionError: nothing is mounted there.
        """
        mounts = self.mounts()
        assert place in mounts, f"{place}: expected a mount, seen {shortened(sorted(mounts))}"
        return mounts[place]

    def process_status(self, seen_from: str = EXEC) -> ProcessStatus:
        """Return what the kernel reports of one of its processes.

        Args:
            seen_from: `FIRST_PROCESS` for the container's first process, `EXEC` for one that ExecSync starts;
                runtimes configure the two separately. The first process is found as number 1, so the
                container needs its own PID namespace.
        """
        if seen_from != FIRST_PROCESS:
            return ProcessStatus.parse(self.output("cat", "/proc/self/status"))
        self.until_its_command_runs()
        return ProcessStatus.parse(self.output("cat", "/proc/1/status"))

    def until_its_command_runs(self) -> None:
        """Wait until the first process executes the container's command.

        StartContainer may return a moment earlier: until then process 1 is the OCI runtime's. If process 1
        never becomes the command, as with an init process of the runtime, the wait ends after a second.
        """
        if not self.config.command:
            return
        command = self.config.command[0].encode()
        with contextlib.suppress(ConditionNotMet):
            eventually(
                "the first process to execute the command",
                lambda: self.exec("cat", "/proc/1/cmdline").stdout.split(b"\0")[0],
                COMMAND_SECONDS * self.connection.deadlines.scale,
                lambda word: word == command,
            )

    def kill(self) -> None:
        """Stop it without a grace period."""
        kill(self.connection, self.id)

    def discard(self) -> None:
        """Stop and remove it.

        A runtime may return from the stop a moment before it reports the exit, and reject a removal in
        between; then the removal is repeated after the exit.
        """
        self.kill()
        request = cri.RemoveContainerRequest(container_id=self.id)
        try:
            self.connection.runtime.RemoveContainer(request)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                raise
            with contextlib.suppress(ConditionNotMet):
                self.exited()
            self.connection.runtime.RemoveContainer(request)
        if self.id in self.sandbox.container_ids:
            self.sandbox.container_ids.remove(self.id)
