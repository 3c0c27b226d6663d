"""What a client sees: the answer to a step, and what lists and statuses say after it. Plain data, in the
words of the API.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

OK = "OK"
NOT_FOUND = "NOT_FOUND"
DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
NOT_TOLD = "NOT_TOLD"
"""No code of gRPC: a process was to end by itself, and the command that tells it to was refused."""


@dataclass(frozen=True)
class CallResult:
    """What came back.

    Attributes:
        code: name of the gRPC status code.
        id: of what was made, or an image's reference; or of what a status is about.
        ids: what a list with a filter holds, in its order.
        found: whether ImageStatus found an image.
        exit_code: of the command of an ExecSync.
        output: what it printed.
        details: the runtime's own words, never judged.
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
class SandboxSeen:
    """A sandbox in a list or in its status; only a status tells its addresses."""

    id: str
    state: str
    name: str = ""
    attempt: int = 0
    created_at: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContainerSeen:
    """A container in a list or in its status; a list tells neither times of the process nor its exit code, a
    status not the sandbox.

    Attributes:
        kept: other fields of the status, by name, that stay as they are over a restart.
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
    kept: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ImageSeen:
    """An image in a list, with all its names."""

    id: str
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ObservedEvent:
    """An event of a sandbox or of a container.

    Attributes:
        kind: of `LIFE`.
        created_at: as it says.
        state: of the object itself, in the statuses that came with it; empty where it is not among them.
    """

    kind: str
    created_at: int
    state: str = ""


@dataclass(frozen=True)
class StateSnapshot:
    """What lists without a filter and statuses say, after a step; of the run's own objects only.

    Attributes:
        sandboxes: as listed.
        containers: as listed.
        images: as listed.
        sandbox_statuses: by id; the name of a code where the status is an error.
        container_statuses: likewise.
        logs: the lines of the containers that have ended, by id, as far as they were read: once for each.
        pipes: how many are open in what serves a sandbox, by its id; of none where that is not seen.
        leases: addresses that the network has given away; None where that is not seen.
        handlers: names of the runtime handlers, in the order in which Status tells them.
        events: what has come by id, in its order, since a client listens; None where none does any more.
        at: when it was taken, by the client's clock, in nanoseconds since 1970; 0 where that is not known.
    """

    sandboxes: tuple[SandboxSeen, ...] = ()
    containers: tuple[ContainerSeen, ...] = ()
    images: tuple[ImageSeen, ...] = ()
    sandbox_statuses: Mapping[str, SandboxSeen | str] = field(default_factory=dict)
    container_statuses: Mapping[str, ContainerSeen | str] = field(default_factory=dict)
    logs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pipes: Mapping[str, int] = field(default_factory=dict)
    leases: frozenset[str] | None = None
    handlers: tuple[str, ...] = ()
    events: Mapping[str, tuple[ObservedEvent, ...]] | None = None
    at: int = 0
