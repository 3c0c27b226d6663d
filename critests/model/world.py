"""What a client knows about a runtime: its own sandboxes, containers and images, each with its possible
states.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from critests import catalogue
from critests.model.observations import ObservedContainer, ObservedImage
from critests.model.steps import EXIT_ASKED, FAILED, NOTHING, TERMINATED, ContainerProcess, Step

READY, NOTREADY = "SANDBOX_READY", "SANDBOX_NOTREADY"
CREATED, RUNNING, EXITED = "CONTAINER_CREATED", "CONTAINER_RUNNING", "CONTAINER_EXITED"
UNKNOWN = "CONTAINER_UNKNOWN"
GONE = "gone"
ORDER = (CREATED, RUNNING, UNKNOWN, EXITED, GONE)
"""The states of a container in the only order in which they can follow each other."""

LINGERING = "lingering"
"""Part of a situation: the container's process takes some time to exit, within the grace period."""
KILLED = frozenset({128 + 9, 128 + 15})
"""Exit codes of a process that did not handle SIGKILL or SIGTERM: 128 + the signal's number."""


@dataclass(frozen=True)
class Breach:
    """A requirement that the runtime violated.

    Attributes:
        aspect: of the catalogue, such as `SBX-26/error`.
        what: in a few words, the same for every breach of this kind.
        rpc: the step after which it was observed.
        expected: what the requirement asks for.
        observed: what the runtime reported.
    """

    aspect: str
    what: str
    rpc: str
    expected: str
    observed: str

    @property
    def kind(self) -> tuple[str, str, str]:
        """What makes two breaches the same finding."""
        return self.aspect, self.what, self.rpc

    @property
    def signature(self) -> str:
        """The same in one line, which the `explored` patterns of known failures match."""
        return f"{self.aspect}: {self.what} after {self.rpc}"

    @property
    def level(self) -> str:
        """MUST or SHOULD; an aspect that is our own judgement counts as SHOULD."""
        _, aspect = catalogue.aspect(self.aspect)
        return "SHOULD" if aspect.judgement else aspect.level.value

    def __str__(self) -> str:
        return f"{self.aspect} ({self.level}): {self.what}: expected {self.expected}, seen {self.observed}"


@dataclass
class SandboxState:
    """A sandbox.

    Attributes:
        key: its name in the sequence.
        id: the runtime's.
        name: in its metadata.
        may_be: its possible states.
        under_way: a failed call may still be changing it.
        removal_failed: a removal failed, and may have removed a part of it.
        created_at: as listed last; it must not change.
        addresses: as its status reported them last while it was READY.
        stop_failed: a stop failed, perhaps in the network.
        stopped: a stop or a removal succeeded, so that its addresses are free.
        pipes: number of pipes that its processes on the host had open without a container in it; -1 while
            unknown.
        start_failed: the start of a container in it failed.
        identity_unclear: a creation with the same metadata was abandoned before, and may have created it: the
            next list shows which it is.
        labelled_as: key in its label and annotation, where that is not its own.
    """

    key: str
    id: str
    name: str
    attempt: int
    may_be: frozenset[str] = frozenset({READY})
    under_way: bool = False
    removal_failed: bool = False
    created_at: int = 0
    addresses: tuple[str, ...] = ()
    stop_failed: bool = False
    stopped: bool = False
    pipes: int = -1
    start_failed: bool = False
    identity_unclear: bool = False
    labelled_as: str = ""

    @property
    def gone(self) -> bool:
        """Whether it was removed."""
        return self.may_be == {GONE}


@dataclass
class ContainerState:
    """A container.

    Attributes:
        key: its name in the sequence.
        id: the runtime's.
        sandbox: key of its sandbox.
        image: key of its image.
        process: what it runs.
        may_be: its possible states.
        under_way: a failed call may still be changing it.
        exit_codes: its possible exit codes; empty if any is possible.
        created_at: as listed last; it must not change.
        started_at: as its status reported it first.
        exit_status: its first status with EXITED.
        last_status: its latest status.
        has_run: a start of it succeeded.
        log_read: its log was searched for the last line of its process.
        identity_unclear: as for a sandbox.
        labelled_as: as for a sandbox.
    """

    key: str
    id: str
    sandbox: str
    name: str
    attempt: int
    image: str
    process: str
    may_be: frozenset[str] = frozenset({CREATED})
    under_way: bool = False
    exit_codes: frozenset[int] = frozenset()
    created_at: int = 0
    started_at: int = 0
    exit_status: ObservedContainer | None = None
    last_status: ObservedContainer | None = None
    has_run: bool = False
    log_read: bool = False
    identity_unclear: bool = False
    labelled_as: str = ""

    @property
    def gone(self) -> bool:
        """Whether it was removed."""
        return self.may_be == {GONE}

    def process_starts(self) -> None:
        """Note that its process was started."""
        brief = ContainerProcess(self.process).brief
        self.may_be = frozenset({RUNNING, EXITED}) if brief else frozenset({RUNNING})
        self.has_run = True
        if brief:
            self.exit_codes = frozenset({0 if self.process == ContainerProcess.SUCCEEDS else FAILED})

    def process_killed(self) -> None:
        """Note that its process was killed if it ran; a container that may be gone still may be."""
        gone, there = self.may_be & {GONE}, self.may_be - {GONE}
        if self.may_be == {RUNNING}:
            self.exit_codes = KILLED | {TERMINATED}
        elif RUNNING in self.may_be and self.exit_codes:
            self.exit_codes |= KILLED
        if there and there <= {RUNNING, EXITED}:
            self.may_be = gone | {EXITED}
        elif CREATED in there or UNKNOWN in there:
            self.may_be = gone | there & {CREATED, UNKNOWN} | {EXITED}
            self.exit_codes = frozenset()

    def may_be_killed(self, *, or_gone: bool = False) -> None:
        """Note that a call to stop or to remove it failed, and may still be in progress."""
        before = self.may_be
        self.under_way = True
        self.process_killed()
        self.may_be |= before | ({GONE} if or_gone else frozenset())

    def process_exits(self) -> None:
        """Note that its process exited by itself."""
        if self.may_be == {RUNNING}:
            self.exit_codes = frozenset({EXIT_ASKED})
        elif RUNNING in self.may_be and self.exit_codes and not ContainerProcess(self.process).brief:
            # a failed stop may have left it running
            self.exit_codes |= {EXIT_ASKED}
        if self.may_be <= {RUNNING, EXITED}:
            self.may_be = frozenset({EXITED})


@dataclass
class Image:
    """An image that can be pulled.

    Attributes:
        key: its name in the sequence.
        names: its tags, as full references.
        id: as a pull returned it or a list reported it; empty before the first pull.
        pulled_as: the reference that the last pull returned.
        present: whether it is on the node; both values where the runtime had a choice.
        tags: which of its names resolve to it.
        pending: names of abandoned pulls, in which something hung: they may still complete at any time.
        entry: how it was listed last.
    """

    key: str
    names: tuple[str, ...]
    id: str = ""
    pulled_as: str = ""
    present: frozenset[bool] = frozenset({False})
    tags: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    entry: ObservedImage | None = None

    def set_present(self, *present: bool) -> None:
        """Note whether it is on the node; both values where that is open, as with a pending pull."""
        self.present = frozenset({*present, True}) if self.pending else frozenset(present)


@dataclass
class EventStream:
    """What a client of GetContainerEvents knows.

    Attributes:
        live: an event arrived, or was waited for: from now on none may be missing.
        states: state of each object in the last snapshot, by id; None before the first one.
        judged: how many events of each id were checked.
    """

    live: bool = False
    states: dict[str, str] | None = None
    judged: dict[str, int] = field(default_factory=dict)


@dataclass
class World:
    """Everything that the client knows.

    Attributes:
        prefix: of the names in metadata, so that no two sequences share one.
        handlers: of the runtime, in the order of its last Status.
        unpredictable: ids that are no longer checked, because the runtime broke a promise about them.
        creation_count: how many steps were meant to create something, for unique names.
        failed: creations that failed because the OCI runtime failed: they can be tried again.
        abandoned: sandbox, name and attempt of creations that the client abandoned because something hung:
            they may still complete at any time.
        leftovers: names and attempts of NOTREADY sandboxes that such a step left, for a removal to clean up.
        stream: of events; None without a client that listens.
        disturbed: ids affected by a step in which something failed below the runtime, or that an abandoned
            step may have created: their events are not checked.
    """

    prefix: str = ""
    creation_count: int = 0
    failed: list[Step] = field(default_factory=list)
    abandoned: set[tuple[str, str, int]] = field(default_factory=set)
    leftovers: set[tuple[str, int]] = field(default_factory=set)
    sandboxes: dict[str, SandboxState] = field(default_factory=dict)
    containers: dict[str, ContainerState] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    handlers: tuple[str, ...] = ()
    unpredictable: set[str] = field(default_factory=set)
    stream: EventStream | None = None
    disturbed: set[str] = field(default_factory=set)

    def living_sandboxes(self) -> list[SandboxState]:
        """Return the sandboxes that were not removed."""
        return [each for each in self.sandboxes.values() if not each.gone]

    def living_containers(self, sandbox: str = "") -> list[ContainerState]:
        """Return the containers that were not removed, of one sandbox or of all."""
        return [
            each
            for each in self.containers.values()
            if not each.gone and (not sandbox or each.sandbox == sandbox)
        ]

    def users_of(self, image: str) -> list[ContainerState]:
        """Return the containers of an image."""
        return [each for each in self.living_containers() if each.image == image]

    def situation(self, step: Step) -> str:
        """Return the state of a step's object as text; coverage counts RPC, situation and outcome."""
        situation = self._situation(step)
        if step.disturbed:
            disturbed = f"{step.failing} failing" if step.failing else f"{step.hanging} hanging"
            return f"{situation}, {disturbed}"
        return situation

    def _situation(self, step: Step) -> str:
        if step.rpc == "RunPodSandbox":
            return f"{_name_of(step, self.sandboxes.values())} name"
        if step.rpc == "CreateContainer":
            return self._creation(step)
        if step.rpc.startswith("List"):
            chosen = [name for name in ("on", "inside", "state", "colour") if getattr(step, name)]
            known = f" of {self.state_of(step.on or step.inside)}" if step.on or step.inside else ""
            return f"by {'+'.join(chosen) or 'nothing'}{known}"
        lingers = step.rpc == "StopContainer" and step.timeout and self._lingers(step.on)
        state = f"{self.state_of(step.on)}, {LINGERING}" if lingers else self.state_of(step.on)
        if step.rpc == "StartContainer" and step.on in self.containers:
            return f"{state} in {self.state_of(self.containers[step.on].sandbox)}"
        if step.rpc in {"StopPodSandbox", "RemovePodSandbox"} and step.on in self.sandboxes:
            return f"{state} with {'containers' if self.living_containers(step.on) else 'none'}"
        return f"{state} by {step.by}" if step.by else state

    def _lingers(self, key: str) -> bool:
        container = self.containers.get(key)
        return (
            container is not None
            and container.may_be == {RUNNING}
            and container.process == ContainerProcess.LINGERS
        )

    def _creation(self, step: Step) -> str:
        image = self.images.get(step.image)
        absent = "" if image is None or True in image.present else ", no image"
        in_sandbox = [each for each in self.containers.values() if each.sandbox == step.inside]
        return f"{_name_of(step, in_sandbox)} name in {self.state_of(step.inside)}{absent}"

    def state_of(self, key: str) -> str:
        """Return the state of an object in one word."""
        if key in self.sandboxes:
            return _word(self.sandboxes[key].may_be)
        if key in self.containers:
            return _word(self.containers[key].may_be)
        if key in self.images:
            used = ", used" if self.users_of(key) else ""
            present = self.images[key].present
            return ("unclear" if len(present) > 1 else "present" if True in present else "absent") + used
        return "unknown" if key == NOTHING else "-"


def still_possible(one: SandboxState | ContainerState, observed: str, *, ending: bool) -> frozenset[str]:
    """Return the possible states of an object from now on, after one of them was observed.

    Args:
        one: a sandbox or a container.
        observed: its state.
        ending: whether its process may exit at any moment.
    """
    if not (one.under_way or ending):
        return frozenset({observed})
    order = ORDER if observed in ORDER else (READY, NOTREADY, GONE)
    return one.may_be & frozenset(order[order.index(observed) :])


def _word(states: Iterable[str]) -> str:
    return "|".join(sorted(state.rpartition("_")[2].lower() for state in states))


def _name_of(step: Step, others: Iterable[SandboxState | ContainerState]) -> str:
    same = [each for each in others if each.name == step.name]
    if any(each.attempt == step.attempt and not each.gone for each in same):
        return "taken"
    if any(each.attempt == step.attempt for each in same):
        return "freed"
    return "next attempt of" if same else "fresh"


def twins(
    step: Step, others: Iterable[SandboxState | ContainerState]
) -> Iterator[SandboxState | ContainerState]:
    """Yield the existing objects with the metadata of a step's request."""
    for each in others:
        if not each.gone and (each.name, each.attempt) == (step.name, step.attempt):
            yield each
