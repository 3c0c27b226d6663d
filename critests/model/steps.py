"""What a client can do: one step of a sequence, as plain data.

A sequence names its objects (`sandbox-1`, `container-2`, `image-1`), and the runtime returns an id for each.
The name of a removed object stands for a stale id, `NOTHING` for an id that no object ever had.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

NOTHING = "nothing"


class ContainerProcess(StrEnum):
    """What a container runs."""

    WAITS = "waits"
    """Waits for SIGTERM, then exits with `TERMINATED`, or for a signal to exit by itself, with
    `EXIT_ASKED`.
    """
    SUCCEEDS = "succeeds"
    """Exits at once with 0."""
    LINGERS = "lingers"
    """Like `WAITS`, but exits `LINGER_SECONDS` after SIGTERM, and its container runs until then."""
    LISTENS = "listens"
    """Like `WAITS`, and echoes every line of its standard input."""
    FAILS = "fails"
    """Exits at once with `FAILED`."""

    @property
    def brief(self) -> bool:
        """Whether it exits at once."""
        return self in {ContainerProcess.SUCCEEDS, ContainerProcess.FAILS}


TERMINATED, EXIT_ASKED, FAILED = 5, 7, 3
"""The exit codes of these processes, all different, so that one container's is not taken for another's."""
LINGER_SECONDS = 1.5
LAST_LINES = {code: f"ends with {code}" for code in (0, FAILED, TERMINATED, EXIT_ASKED)}
"""What a process writes before it exits, by its exit code."""
EXEC_CODE = 42
"""The exit code of the command of an ExecSync."""
INPUT, TERMINAL = "input", "terminal"
"""Sessions that send the process on standard input what to print, and Exec sessions with a terminal."""

PROCESS_ENDS = "ProcessEnds"
"""No RPC: a process exits by itself, and the client waits until it has."""
DAEMON_RESTARTS = "DaemonRestarts"
"""No RPC: the daemon gets SIGKILL and is started again, and the client waits until it is ready."""
EVENTS = "GetContainerEvents"
"""A client listens from now on: its events are checked after every step."""
NO_EVENTS = "EventsCancelled"
"""No RPC: the client cancels the stream."""
STATISTICS = ("ListPodSandboxStats", "ListContainerStats")
"""Lists that cover all objects, so that they may run concurrently with any other step."""
REGISTRY = "registry"
"""What a step disturbs so that every pull fails or hangs."""


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        rpc: its name in the service, `PROCESS_ENDS` or `DAEMON_RESTARTS`.
        on: the object that it is about, or the id in a filter.
        makes: the name of the object that it creates.
        inside: the sandbox of a new container, or the one in a filter.
        image: of a new container.
        name: in the metadata of a new object.
        attempt: in the metadata of a new object.
        process: of a new container.
        state: in a filter, with the API's name, such as `CONTAINER_EXITED`.
        colour: label value in a filter.
        timeout: grace period in seconds.
        by: how an image is named: `tag`, `other tag` or `id`; or what a session has: `input` or a
            `terminal`.
        failing: what fails during the step: an operation of the OCI runtime (`create`), of the CNI plugins
            (`ADD`), or the `REGISTRY`.
        hanging: which of these hangs until the client abandons the call, and continues then.
    """

    rpc: str
    on: str = ""
    makes: str = ""
    inside: str = ""
    image: str = ""
    name: str = ""
    attempt: int = 0
    process: str = ""
    state: str = ""
    colour: str = ""
    timeout: int = 0
    by: str = ""
    failing: str = ""
    hanging: str = ""

    def __str__(self) -> str:
        rest = ", ".join(
            f"{name}={value}"
            for name, value in self.arguments().items()
            if name not in {"rpc", "makes", "on"}
        )
        inside = ", ".join(filter(None, (self.on, rest)))
        return f"{self.makes + ' = ' if self.makes else ''}{self.rpc}({inside})"

    def arguments(self) -> dict[str, Any]:
        """Return the fields that are set, by name."""
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        }

    @property
    def disturbed(self) -> bool:
        """Whether something below the runtime fails or hangs during the step."""
        return bool(self.failing or self.hanging)

    @property
    def needs(self) -> set[str]:
        """The objects that an earlier step must have created."""
        named = {self.on, self.inside, self.image} - {"", NOTHING}
        return {name for name in named if not name.startswith("image-")}


def colour_of(key: str) -> str:
    """Return the value of the label `colour` of an object, by its name in the sequence."""
    return "red" if key[-1:] in "13579" else "blue"


StepGroup = tuple[Step, ...]
"""Steps that run concurrently, each on a client of its own; in a sequence of one client always one step."""


def runnable(groups: Iterable[StepGroup]) -> list[StepGroup]:
    """Return the sequence without the steps that need an object which no earlier group creates."""
    created: set[str] = set()
    remaining = []
    for group in groups:
        steps = tuple(step for step in group if step.needs <= created)
        if steps:
            remaining.append(steps)
            created.update(step.makes for step in steps)
    return remaining


def to_plain(groups: Sequence[StepGroup]) -> list[list[dict[str, Any]]]:
    """Return a sequence as plain data, for a file."""
    return [
        [{name: value for name, value in asdict(step).items() if value} for step in group] for group in groups
    ]
