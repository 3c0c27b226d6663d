"""Whether a daemon lives, and is still the process that it was: asked after every test, since a test may take
a broken connection for a refusal.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import grpc
from google.protobuf.message import Message

from critests.client.call_recording import Call
from critests.client.connection import Connection
from critests.client.endpoint import EndpointError
from critests.node.run_state.locks import start_time
from critests.record.reasons import Reason, ReasonCode
from critests.run.context import RunContext, companions_of, daemon_of

OUTLIVES_MALFORMED, OUTLIVES_WELL_FORMED = "GEN-06/no-crash", "GEN-17"
"""The aspects that judge the end of a daemon, by the request at which it ended."""
ENDING_SECONDS = 2.0
"""How long a process may take to be gone after its connections are."""
LAST_WORDS, LAST_LINES = 1500, 10
DYING_WORDS = ("panic:", "fatal error:", "SIGSEGV", "Traceback (most recent call last)")
INIT = 1
"""Of a socket that systemd opened, the listener is systemd and not the daemon."""


@dataclass(frozen=True)
class End:
    """Why the daemon is of no more use.

    Attributes:
        why: which process ended, or that nobody answers.
    """

    why: Reason

    @property
    def died(self) -> bool:
        """Whether it is gone; else it lives and does not answer."""
        return self.why.code is ReasonCode.RUNTIME_ENDED


@dataclass
class DaemonWatch:
    """Watches the runtime under test, or one that a test has for itself.

    Attributes:
        context: the run, or what stands for it where a test has a runtime for itself; its `daemon_pid` is
            kept up to date.
        given_up: whether the daemon was waited for in vain.
        held_down: whether a test has ended the daemon and not yet started it again.
        told: whether a test has failed with the end that is seen now.
    """

    context: RunContext
    given_up: bool = False
    held_down: bool = False
    told: bool = False
    _companions: list[int | None] = field(default_factory=list, init=False)
    _known: object = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._meet()

    def _meet(self) -> None:
        """Note which processes are watched from now on."""
        self._companions = companions_of(self.context)
        self._known = self._identity()
        self.held_down = self.told = False

    def meet_again(self) -> None:
        """Watch the process that answers now: another one, after a restart."""
        self.context.daemon_pid = daemon_of(self.context.endpoint)
        self._meet()

    @property
    def _sees_the_process(self) -> bool:
        return self.context.daemon_pid not in {None, INIT}

    def _identity(self) -> object:
        """Return what other processes do not share: when they started, or else the file of the socket."""
        if self._sees_the_process:
            return [start_time(pid) for pid in (self.context.daemon_pid, *self._companions) if pid]
        try:
            seen = self.context.endpoint.socket.stat() if self.context.endpoint.socket else None
        except OSError:
            return None
        return (seen.st_ino, seen.st_ctime_ns) if seen else ""

    def ended(self, connection: Connection | None = None, *, suspicious: bool) -> End | None:
        """Return how the daemon ended; None while it lives and answers, or is held down.

        Args:
            connection: to ask over where the process cannot be seen.
            suspicious: a call has found nobody, or hung: see whether Version is answered.
        """
        if self.held_down:
            return None
        if self._identity() != self._known:
            return self._gone()
        if not suspicious and (self._sees_the_process or connection is None):
            return None
        if not suspicious and connection is not None and _answers(connection):
            return None
        silent = self._silent()
        deadline = time.monotonic() + ENDING_SECONDS
        while silent is not None and silent.died and time.monotonic() < deadline:
            # its connections go before the process is gone
            time.sleep(0.02)
            if self._identity() != self._known:
                return self._gone()
            silent = self._silent()
        return silent

    def _gone(self) -> End:
        dead = next((pid for pid in self._companions if pid and start_time(pid) is None), None)
        which = (
            f"process {dead}, which the runtime works with"
            if dead
            else f"process {self.context.daemon_pid}"
            if self._sees_the_process
            else self.context.endpoint.text
        )
        return End(Reason(code=ReasonCode.RUNTIME_ENDED, where=which))

    def _silent(self) -> End | None:
        """Say that nobody answers Version on a fresh connection."""
        fresh = self.context.connect()
        try:
            fresh.greet()
        except EndpointError as error:
            code = error.__cause__.code() if isinstance(error.__cause__, grpc.RpcError) else None
            if code is grpc.StatusCode.DEADLINE_EXCEEDED:
                return End(Reason(code=ReasonCode.RUNTIME_SILENT, words=str(error)))
            return End(
                Reason(code=ReasonCode.RUNTIME_ENDED, where=self.context.endpoint.text, words=str(error))
            )
        finally:
            fresh.close()
        return None

    def came_back(self, connection: Connection | None, seconds: float) -> bool:
        """Wait until another process answers, over the connection that tests use, and watch that one; who has
        waited in vain does not wait again.
        """
        deadline = time.monotonic() + seconds
        opened = connection or self.context.connect()
        try:
            while not self.given_up and time.monotonic() < deadline:
                if _answers(opened):
                    self.meet_again()
                    return True
                time.sleep(0.05)
        finally:
            if connection is None:
                opened.close()
        self.given_up = True
        return False


def _answers(connection: Connection) -> bool:
    try:
        connection.greet()
    except EndpointError:
        return False
    return True


@dataclass(frozen=True)
class Death:
    """The end of a daemon in the time of a test.

    Attributes:
        aspect: that judges it.
        why: what ended, at which call, and its last words.
        last_words: the end of the runtime's log.
    """

    aspect: str
    why: Reason
    last_words: str

    @classmethod
    def of(cls, end: Reason, calls: Sequence[Call], log: bytes) -> "Death":
        """Return what is known of an end.

        Args:
            end: of which process.
            calls: that were made in that time.
            log: what the runtime wrote in that time.
        """
        last = next((call for call in calls if found_nobody(call)), calls[-1] if calls else None)
        broken = last is not None and malformed(last.request)
        words = last_words(log)
        why = replace(end, subject=last.rpc if last is not None else "", words=words.partition("\n")[0])
        return cls(OUTLIVES_MALFORMED if broken else OUTLIVES_WELL_FORMED, why, words)


def found_nobody(call: Call) -> bool:
    """Say whether a call ended as calls do when the daemon goes."""
    return call.code in {"UNAVAILABLE", "CANCELLED"} and call.details != "cancelled by the suite"


def malformed(request: object) -> bool:
    """Say whether a request lacks what it is about: an id, an image, or a configuration with a name."""
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


def last_words(log: bytes) -> str:
    """Return what a daemon wrote before it ended: from its cry on, where there is one."""
    lines = log.decode(errors="replace").splitlines()
    cry = next(
        (number for number, line in enumerate(lines) if any(word in line for word in DYING_WORDS)), None
    )
    chosen = lines[-LAST_LINES:] if cry is None else lines[cry : cry + LAST_LINES]
    return "\n".join(chosen)[:LAST_WORDS]
