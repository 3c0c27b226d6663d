"""What a client knows of a runtime: its own sandboxes, containers and images, each in the states that it can
be in.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from critests import catalogue
from critests.model.observations import ContainerSeen, ImageSeen
from critests.model.steps import FAILED, NOTHING, TERMINATED, TOLD, ContainerProcess, Step

READY, NOTREADY = "SANDBOX_READY", "SANDBOX_NOTREADY"
CREATED, RUNNING, EXITED = "CONTAINER_CREATED", "CONTAINER_RUNNING", "CONTAINER_EXITED"
UNKNOWN = "CONTAINER_UNKNOWN"
GONE = "gone"
ORDER = (CREATED, RUNNING, UNKNOWN, EXITED, GONE)
"""Of the states of a container, which never go back."""

LINGERING = "lingering"
"""Of a situation: a container whose process takes its time to end, within the grace period."""
KILLED = frozenset({128 + 9, 128 + 15})
"""Exit codes of what was stopped by a signal that it did not handle."""


@dataclass(frozen=True)
class Breach:
    """A promise that was not kept.

    Attributes:
        aspect: of the catalogue, such as `SBX-26/error`.
        what: in a few words, the same for every breach of this kind.
        rpc: the step after which it was seen.
        expected: what the promise says here.
        seen: what the runtime said.
    """

    aspect: str
    what: str
    rpc: str
    expected: str
    seen: str

    @property
    def kind(self) -> tuple[str, str, str]:
        """What makes two breaches the same finding."""
        return self.aspect, self.what, self.rpc

    @property
    def signature(self) -> str:
        """The same, in one line: by it an expectation knows what was told already."""
        return f"{self.aspect}: {self.what} after {self.rpc}"

    @property
    def level(self) -> str:
        """MUST or SHOULD, as where no level of the API is declared: what is our own judgement, no text of the
        API, counts as SHOULD.
        """
        _, aspect = catalogue.aspect(self.aspect)
        return "SHOULD" if aspect.judgement else str(aspect.level_at(None) or aspect.level)

    def __str__(self) -> str:
        return f"{self.aspect} ({self.level}): {self.what}: expected {self.expected}, seen {self.seen}"


@dataclass
class SandboxState:
    """A sandbox.

    Attributes:
        key: what the sequence calls it.
        id: the runtime's.
        name: in its metadata.
        may_be: the states that it can be in.
        under_way: a call that failed may still be at work on it.
        removal_failed: a removal of it has failed, and may have taken a part of it away.
        created_at: as it was listed last; it must not change.
        addresses: as the status told them last while it was READY.
        stop_failed: a stop of it has failed, with the network perhaps.
        stopped: a stop or a removal of it has succeeded, so that its addresses are free.
        pipes: that what serves it had open when no container was in it; -1 as long as that was not seen.
        start_failed: the start of a container in it has failed.
        again: one of the same metadata was given up before, which it may be: until it is seen, nobody knows.
        carries: key of the one whose label and annotation it has, where that is another than itself.
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
    again: bool = False
    carries: str = ""

    @property
    def gone(self) -> bool:
        """Whether it was removed."""
        return self.may_be == {GONE}


@dataclass
class ContainerState:
    """A container.

    Attributes:
        key: what the sequence calls it.
        id: the runtime's.
        sandbox: key of its sandbox.
        image: key of its image.
        process: what it runs.
        may_be: the states that it can be in.
        under_way: a call that failed may still be at work on it.
        exit_codes: with which it can end; empty where any will do.
        created_at: as it was listed last; it must not change.
        started_at: as its status told it first.
        ended: its status when it was seen EXITED first.
        last: its status when it was looked at last.
        has_run: a start of it succeeded.
        log_read: what it wrote last was looked for in its log.
        again: one of the same metadata was given up before, which it may be: until it is seen, nobody knows.
        carries: key of the one whose label and annotation it has, where that is another than itself.
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
    ended: ContainerSeen | None = None
    last: ContainerSeen | None = None
    has_run: bool = False
    log_read: bool = False
    again: bool = False
    carries: str = ""

    @property
    def gone(self) -> bool:
        """Whether it was removed."""
        return self.may_be == {GONE}

    def begins(self) -> None:
        """Its process was started."""
        brief = ContainerProcess(self.process).brief
        self.may_be = frozenset({RUNNING, EXITED}) if brief else frozenset({RUNNING})
        self.has_run = True
        if brief:
            self.exit_codes = frozenset({0 if self.process == ContainerProcess.SUCCEEDS else FAILED})

    def is_ended(self) -> None:
        """Its process was ended from outside, if it ran; what may be gone already may be that still."""
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

    def may_be_ended(self, *, or_gone: bool = False) -> None:
        """A call that was to end it, or to remove it, has failed, and may still be at work on it."""
        before = self.may_be
        self.under_way = True
        self.is_ended()
        self.may_be |= before | ({GONE} if or_gone else frozenset())

    def ends_by_itself(self) -> None:
        """Its process ended because it wanted to."""
        if self.may_be == {RUNNING}:
            self.exit_codes = frozenset({TOLD})
        elif RUNNING in self.may_be and self.exit_codes and not ContainerProcess(self.process).brief:
            # a stop that failed may have left it running
            self.exit_codes |= {TOLD}
        if self.may_be <= {RUNNING, EXITED}:
            self.may_be = frozenset({EXITED})


@dataclass
class Image:
    """An image that can be pulled.

    Attributes:
        key: what the sequence calls it.
        names: its tags, in full.
        id: as a pull returned it or it was listed; empty before the first pull.
        pulled_as: the reference that the last pull returned.
        present: whether it is there; both where the runtime had a choice.
        tags: which of its names lead to it.
        coming: names by which a client has given up to pull it, since something hung: it may come all the
            same, at any time.
        seen: how it was listed last.
    """

    key: str
    names: tuple[str, ...]
    id: str = ""
    pulled_as: str = ""
    present: frozenset[bool] = frozenset({False})
    tags: frozenset[str] = frozenset()
    coming: frozenset[str] = frozenset()
    seen: ImageSeen | None = None

    def is_here(self, *here: bool) -> None:
        """It is there, or not, or may be; what is still coming may be there in any case."""
        self.present = frozenset({*here, True}) if self.coming else frozenset(here)


@dataclass
class EventStream:
    """What a client that listens for events knows.

    Attributes:
        live: an event has come, or was waited for: from now on none may be missing.
        states: everything as it was looked at last, by id; None before the first look.
        judged: how many events of each id were looked at.
    """

    live: bool = False
    states: dict[str, str] | None = None
    judged: dict[str, int] = field(default_factory=dict)


@dataclass
class World:
    """All that the client knows.

    Attributes:
        prefix: of the names in metadata, so that no two sequences share one.
        handlers: of the runtime, in the order in which Status told them last.
        lost: ids of which nothing can be said any more, since a promise about them was broken.
        makings: how many steps were to make something, so that each gives it a name of its own.
        failed: those that could not, since the OCI runtime failed: what they asked for can be asked for
            again.
        given_up: sandbox, name and attempt of what a client has given up to make, since something hung: it
            may come about all the same, at any time.
        left: names and attempts of sandboxes that such a step left behind, NOTREADY, for a removal to clean
            up.
        stream: of events; None where nobody listens.
        disturbed: ids of what was met by a step in which something failed below the runtime, or may have been
            made by one that was given up: which events that has, is open.
    """

    prefix: str = ""
    makings: int = 0
    failed: list[Step] = field(default_factory=list)
    given_up: set[tuple[str, str, int]] = field(default_factory=set)
    left: set[tuple[str, int]] = field(default_factory=set)
    sandboxes: dict[str, SandboxState] = field(default_factory=dict)
    containers: dict[str, ContainerState] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    handlers: tuple[str, ...] = ()
    lost: set[str] = field(default_factory=set)
    stream: EventStream | None = None
    disturbed: set[str] = field(default_factory=set)

    def living_sandboxes(self) -> list[SandboxState]:
        """Return those that were not removed."""
        return [each for each in self.sandboxes.values() if not each.gone]

    def living_containers(self, sandbox: str = "") -> list[ContainerState]:
        """Return those that were not removed, of one sandbox or of all."""
        return [
            each
            for each in self.containers.values()
            if not each.gone and (not sandbox or each.sandbox == sandbox)
        ]

    def users_of(self, image: str) -> list[ContainerState]:
        """Return the containers that are made of an image."""
        return [each for each in self.living_containers() if each.image == image]

    def situation(self, step: Step) -> str:
        """Say in which state a step meets what it is about: with the RPC and the outcome, what is covered."""
        met = self._situation(step)
        if step.disturbed:
            return f"{met}, {step.failing} failing" if step.failing else f"{met}, {step.hanging} hanging"
        return met

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
        beside = [each for each in self.containers.values() if each.sandbox == step.inside]
        return f"{_name_of(step, beside)} name in {self.state_of(step.inside)}{absent}"

    def state_of(self, key: str) -> str:
        """Return the state of an object in a word."""
        if key in self.sandboxes:
            return _word(self.sandboxes[key].may_be)
        if key in self.containers:
            return _word(self.containers[key].may_be)
        if key in self.images:
            used = ", used" if self.users_of(key) else ""
            here = self.images[key].present
            return ("unclear" if len(here) > 1 else "present" if True in here else "absent") + used
        return "unknown" if key == NOTHING else "-"


def still_possible(one: SandboxState | ContainerState, seen: str, *, ending: bool) -> frozenset[str]:
    """Return the states that something can be in from now on, after it was seen in one of them.

    Args:
        one: a sandbox or a container.
        seen: its state.
        ending: whether its process may end at any moment.
    """
    if not (one.under_way or ending):
        return frozenset({seen})
    order = ORDER if seen in ORDER else (READY, NOTREADY, GONE)
    return one.may_be & frozenset(order[order.index(seen) :])


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
    """Give what lives under the metadata that a step asks for."""
    for each in others:
        if not each.gone and (each.name, each.attempt) == (step.name, step.attempt):
            yield each
