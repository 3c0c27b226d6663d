"""What a client observes: the result of a step, and what lists and statuses report after it. Plain data with
the API's names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

OK = "OK"
NOT_FOUND = "NOT_FOUND"
DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
NOT_SIGNALLED = "NOT_SIGNALLED"
"""No gRPC code: a process should exit by itself, and the command that sends it the signal was rejected."""


@dataclass(frozen=True)
class CallResult:
    """The outcome of a step.

    Attributes:
        code: name of the gRPC status code.
        id: of the created object, an image's reference, or the id in a status.
        ids: of a list with a filter, in its order.
        found: whether ImageStatus found an image.
        exit_code: of the command of an ExecSync.
        output: what it printed.
        details: the runtime's error message, never judged.
    """

    code: str = OK
    id: str = ""
    ids: tuple[str, ...] = ()
    found: bool = False
    exit_code: int = 0
    output: str = ""
    details: str = ""

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.code == OK


@dataclass(frozen=True)
class ObservedSandbox:
    """A sandbox in a list or in its status; only a status has its addresses."""

    id: str
    state: str
    name: str = ""
    attempt: int = 0
    created_at: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class ObservedContainer:
    """A container in a list or in its status; a list has neither times of the process nor its exit code, a
    status has no sandbox.

    Attributes:
        restart_safe: other fields of the status, by name, that a restart of the daemon must not change.
    """

    id: str
    state: str
    sandbox_id: str = ""
    name: str = ""
    attempt: int = 0
    created_at: int = 0
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    image_id: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    restart_safe: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ObservedImage:
    """An image in a list, with all its names."""

    id: str
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ObservedEvent:
    """An event of a sandbox or of a container.

    Attributes:
        kind: of `EVENT_ORDER`.
        created_at: its timestamp, nanoseconds since 1970.
        state: of the object itself in the event's statuses; empty if it is not among them.
    """

    kind: str
    created_at: int
    state: str = ""


@dataclass(frozen=True)
class StateSnapshot:
    """What unfiltered lists and statuses report after a step, about the run's own objects only.

    Attributes:
        sandboxes: as listed.
        containers: as listed.
        images: as listed.
        sandbox_statuses: by id; the name of the code if the RPC failed.
        container_statuses: by id; the name of the code if the RPC failed.
        logs: the log lines of exited containers, by id; each log is read once.
        pipes: number of open pipes of the processes that serve a sandbox, by its id; empty if unknown.
        leases: addresses that the network has allocated; None if unknown.
        handlers: names of the runtime handlers, in the order of Status.
        events: received since the client listens, by id, in their order; None without an open stream.
        at: when it was taken, by the client's clock, in nanoseconds since 1970; 0 if unknown.
    """

    sandboxes: tuple[ObservedSandbox, ...] = ()
    containers: tuple[ObservedContainer, ...] = ()
    images: tuple[ObservedImage, ...] = ()
    sandbox_statuses: Mapping[str, ObservedSandbox | str] = field(default_factory=dict)
    container_statuses: Mapping[str, ObservedContainer | str] = field(default_factory=dict)
    logs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pipes: Mapping[str, int] = field(default_factory=dict)
    leases: frozenset[str] | None = None
    handlers: tuple[str, ...] = ()
    events: Mapping[str, tuple[ObservedEvent, ...]] | None = None
    at: int = 0
