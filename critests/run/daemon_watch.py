"""Whether a daemon is alive and still the same process. Checked after every test, because a test may take a
lost connection for a rejection.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import grpc
from google.protobuf.message import Message

from critests.client.call_recording import CANCELLED_HERE, Call
from critests.client.connection import Connection
from critests.client.endpoint import EndpointError
from critests.node.run_state.locks import start_time
from critests.record.blocking import LOST_CONNECTION
from critests.record.reasons import Reason, ReasonCode
from critests.run.context import RunContext, companions_of, daemon_of
from critests.run.failure_text import of_rpc

OUTLIVES_MALFORMED, OUTLIVES_WELL_FORMED = "GEN-06/no-crash", "GEN-17"
"""The aspects that judge a crash: after a malformed request, and after a well-formed one."""
ENDING_SECONDS = 2.0
"""How long a process may take to exit after its connections are closed."""
LAST_CHARACTERS, LAST_LINES = 1500, 10
CRASH_MARKERS = ("panic:", "fatal error:", "SIGSEGV", "Traceback (most recent call last)")
INIT = 1
"""With socket activation the listener is systemd, process 1, and not the daemon."""


@dataclass
class DaemonWatch:
    """Watches the runtime under test, or the private runtime of a test.

    Attributes:
        context: the run, or its copy for a private runtime of a test; `daemon_pid` is updated.
        restart_timed_out: whether a wait for the daemon's restart timed out.
        stopped_by_test: whether a test has stopped the daemon and not yet started it again.
        reported: whether a test has already failed because of the current end.
    """

    context: RunContext
    restart_timed_out: bool = False
    stopped_by_test: bool = False
    reported: bool = False
    _process: int | None = field(default=None, init=False)
    _companions: list[int | None] = field(default_factory=list, init=False)
    _known: object = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._start_watching()

    def _start_watching(self) -> None:
        """Note which processes are watched from now on, and when they started."""
        self._process = self.context.daemon_pid
        self._companions = companions_of(self.context)
        self._known = self._identity()
        self.stopped_by_test = self.reported = False

    def watch_new_process(self) -> None:
        """Watch the process that listens now, after a restart."""
        self.context.daemon_pid = daemon_of(self.context.endpoint)
        self._start_watching()

    @property
    def _sees_the_process(self) -> bool:
        return self.context.daemon_pid not in {None, INIT}

    def _has_ended(self) -> bool:
        """Return whether a process ended, also before this watch began: a worker hears of the daemon earlier
        than it looks.
        """
        identity = self._identity()
        return identity != self._known or (isinstance(identity, list) and None in identity)

    def _identity(self) -> object:
        """Return what identifies the processes: their start times, or else the file of the socket."""
        if self._sees_the_process:
            return [start_time(pid) for pid in (self.context.daemon_pid, *self._companions) if pid]
        try:
            seen = self.context.endpoint.socket.stat() if self.context.endpoint.socket else None
        except OSError:
            return None
        return (seen.st_ino, seen.st_ctime_ns) if seen else ""

    def ended(self, connection: Connection | None = None, *, suspicious: bool) -> Reason | None:
        """Return why the daemon cannot be tested any more: which process ended, or that Version gets no
        response. None while it is alive and responds, or was stopped by a test.

        Args:
            connection: for Version if the process is not visible.
            suspicious: a call lost its connection or hung, so Version is called in any case.
        """
        if self.stopped_by_test:
            return None
        if self.context.daemon_pid != self._process:
            self._start_watching()  # a benchmark has restarted the daemon, and noted its new process
        if self._has_ended():
            return self._gone()
        if not suspicious and (self._sees_the_process or connection is None):
            return None
        if not suspicious and connection is not None and _answers(connection):
            return None
        silent = self._silent()
        deadline = time.monotonic() + ENDING_SECONDS
        while silent is not None and died(silent) and time.monotonic() < deadline:
            # the kernel closes the connections before the process is gone
            time.sleep(0.02)
            if self._has_ended():
                return self._gone()
            silent = self._silent()
        return silent

    def _gone(self) -> Reason:
        dead = next((pid for pid in self._companions if pid and start_time(pid) is None), None)
        seen = self._sees_the_process
        daemon = f"process {self.context.daemon_pid}" if seen else self.context.endpoint.text
        if dead is None:
            return Reason(code=ReasonCode.RUNTIME_ENDED, where=daemon)
        return Reason(code=ReasonCode.RUNTIME_ENDED, where=f"process {dead}", other=daemon)

    def _silent(self) -> Reason | None:
        """Return why Version gets no response on a new connection; None if it gets one."""
        fresh = self.context.connect()
        try:
            fresh.greet()
        except EndpointError as error:
            where, failed = self.context.endpoint.text, error.__cause__
            if isinstance(failed, grpc.RpcError) and failed.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                return replace(of_rpc(failed), code=ReasonCode.RUNTIME_SILENT, where=where)
            return Reason(code=ReasonCode.RUNTIME_ENDED, where=where)
        finally:
            fresh.close()
        return None

    def wait_for_restart(self, connection: Connection | None, seconds: float) -> bool:
        """Wait until a new process responds on the connection of the tests, and watch it. After one timeout,
        return False at once.
        """
        deadline = time.monotonic() + seconds
        opened = connection or self.context.connect()
        try:
            while not self.restart_timed_out and time.monotonic() < deadline:
                if _answers(opened):
                    self.watch_new_process()
                    return True
                time.sleep(0.05)
        finally:
            if connection is None:
                opened.close()
        self.restart_timed_out = True
        return False


def died(end: Reason) -> bool:
    """Return whether a daemon that cannot be tested any more has exited; otherwise it runs and does not
    respond.
    """
    return end.code is ReasonCode.RUNTIME_ENDED


def _answers(connection: Connection) -> bool:
    try:
        connection.greet()
    except EndpointError:
        return False
    return True


@dataclass(frozen=True)
class DaemonCrash:
    """The end of a daemon during a test.

    Attributes:
        aspect: judges it.
        why: which process ended, during which call, and its last log line.
        last_log_lines: the end of the runtime's log.
    """

    aspect: str
    why: Reason
    last_log_lines: str

    @classmethod
    def of(cls, end: Reason, calls: Sequence[Call], log: bytes) -> "DaemonCrash":
        """Return what is known about a crash.

        Args:
            end: which process ended.
            calls: made during the test.
            log: written by the runtime during the test.
        """
        last = next((call for call in calls if lost_connection(call)), calls[-1] if calls else None)
        broken = last is not None and malformed(last.request)
        end_of_log = last_log_lines(log)
        why = replace(end, subject=last.rpc if last is not None else "", words=end_of_log.partition("\n")[0])
        return cls(OUTLIVES_MALFORMED if broken else OUTLIVES_WELL_FORMED, why, end_of_log)


def lost_connection(call: Call) -> bool:
    """Return whether a call ended as calls do when the daemon exits."""
    return call.code in LOST_CONNECTION and call.details != CANCELLED_HERE


def malformed(request: object) -> bool:
    """Return whether a request lacks an id, an image, or a configuration with a name."""
    if not isinstance(request, Message):
        return False
    fields = request.DESCRIPTOR.fields_by_name
    if any(name in fields and not getattr(request, name) for name in ("container_id", "pod_sandbox_id")):
        return True
    if "image" in fields and not getattr(getattr(request, "image", None), "image", ""):
        return True
    if any(name in fields and not request.HasField(name) for name in ("config", "runtime_config")):
        return True
    config = getattr(request, "config", None)
    return config is not None and not getattr(config.metadata, "name", "")


def last_log_lines(log: bytes) -> str:
    """Return the end of a daemon's log, from the panic or traceback on if there is one."""
    lines = log.decode(errors="replace").splitlines()
    crash_at = next(
        (number for number, line in enumerate(lines) if any(word in line for word in CRASH_MARKERS)), None
    )
    chosen = lines[-LAST_LINES:] if crash_at is None else lines[crash_at : crash_at + LAST_LINES]
    return "\n".join(chosen)[:LAST_CHARACTERS]
