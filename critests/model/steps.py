"""What a client can do: one step of a sequence, as plain data.

Objects have names of the sequence's own (`sandbox-1`, `container-2`, `image-1`), which are bound to the ids
that the runtime gives; a name that is bound to nothing any more is a stale id, and `NOTHING` is an id that no
object ever had.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

NOTHING = "nothing"


class ContainerProcess(StrEnum):
    """What a container runs."""

    WAITS = "waits"
    """Until SIGTERM, where it ends with `TERMINATED`, or until it is told to end, with `TOLD`."""
    SUCCEEDS = "succeeds"
    """Ends at once with 0."""
    LINGERS = "lingers"
    """Like `WAITS`, but after SIGTERM it takes `LINGER_SECONDS` to end, and its container runs until then."""
    LISTENS = "listens"
    """Like `WAITS`, and writes every line that it gets as input."""
    FAILS = "fails"
    """Ends at once with `FAILED`."""

    @property
    def brief(self) -> bool:
        """Whether it ends at once."""
        return self in {ContainerProcess.SUCCEEDS, ContainerProcess.FAILS}


TERMINATED, TOLD, FAILED = 5, 7, 3
"""The exit codes of these ends: each its own, so that one container's is not taken for another's."""
LINGER_SECONDS = 1.5
LAST_WORDS = {code: f"ends with {code}" for code in (0, FAILED, TERMINATED, TOLD)}
"""What a process writes before it ends, by the exit code that it then has."""
EXEC_CODE = 42
"""What the command of an ExecSync ends with."""
INPUT, TERMINAL = "input", "terminal"
"""Sessions in which the process is told by input what to print, and those of Exec that have a terminal."""

PROCESS_ENDS = "ProcessEnds"
"""No RPC: a process ends by itself, and the client waits until it has."""
DAEMON_RESTARTS = "DaemonRestarts"
"""No RPC either: the daemon gets SIGKILL and is started again, and the client waits until it is ready."""
EVENTS = "GetContainerEvents"
"""A client listens from now on: what it hears is looked at after every step."""
NO_EVENTS = "EventsCancelled"
"""No RPC: the client that listens leaves."""
STATISTICS = ("ListPodSandboxStats", "ListContainerStats")
"""Lists that are about everything that there is, so that they may be asked for beside any other step."""
REGISTRY = "registry"
"""What fails where a pull meets only errors, and hangs where it gets no answer."""


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        rpc: its name in the service, `PROCESS_ENDS` or `DAEMON_RESTARTS`.
        on: the object that it is about, or that a filter names by its id.
        makes: what an object that it makes is called from then on.
        inside: the sandbox of a new container, or the one that a filter names.
        image: of a new container.
        name: in the metadata of a new object: the same name is the same metadata.
        attempt: likewise.
        process: of a new container.
        state: that a filter names, as the API has it, such as `CONTAINER_EXITED`.
        colour: value of the label that a filter names.
        timeout: grace period in seconds.
        by: how an image is named: `tag`, `other tag` or `id`; or what a session has: `input` or a
            `terminal`.
        failing: what fails as long as the step lasts: an operation of the OCI runtime (`create`), of the CNI
            plugins (`ADD`), or the `REGISTRY`.
        hanging: likewise, what hangs until the client has given up, and goes on then.
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
        said = ", ".join(
            f"{name}={value}"
            for name, value in self.arguments().items()
            if name not in {"rpc", "makes", "on"}
        )
        inside = ", ".join(filter(None, (self.on, said)))
        return f"{self.makes + ' = ' if self.makes else ''}{self.rpc}({inside})"

    def arguments(self) -> dict[str, Any]:
        """Return what is set, by name."""
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        }

    @property
    def disturbed(self) -> bool:
        """Whether something below the runtime does not work meanwhile."""
        return bool(self.failing or self.hanging)

    @property
    def needs(self) -> set[str]:
        """The objects that an earlier step must have made."""
        named = {self.on, self.inside, self.image} - {"", NOTHING}
        return {name for name in named if not name.startswith("image-")}


def colour_of(made: str) -> str:
    """Return the value of the label `colour` that an object carries, by its name in the sequence."""
    return "red" if made[-1:] in "13579" else "blue"


Beat = tuple[Step, ...]
"""What is played at once, each step by a client of its own; in a sequence of one client always one step."""


def one_by_one(steps: Iterable[Step]) -> list[Beat]:
    """Return a sequence of one client."""
    return [(step,) for step in steps]


def playable(beats: Iterable[Beat]) -> list[Beat]:
    """Return the sequence without the steps that need what none of the beats before theirs makes."""
    made: set[str] = set()
    kept = []
    for beat in beats:
        steps = tuple(step for step in beat if step.needs <= made)
        if steps:
            kept.append(steps)
            made.update(step.makes for step in steps)
    return kept


def to_plain(beats: Sequence[Beat]) -> list[list[dict[str, Any]]]:
    """Return a sequence as plain data, for a file."""
    return [
        [{name: value for name, value in asdict(step).items() if value} for step in beat] for beat in beats
    ]
