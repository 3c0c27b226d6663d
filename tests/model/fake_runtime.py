"""A fake runtime for tests of the model: a test sets what lists and statuses report after each step."""

from dataclasses import dataclass, field, replace

from critests.model import Breach, Step, World, judge
from critests.model.invariants import ANNOTATION, COLOUR
from critests.model.observations import (
    CallResult,
    ObservedContainer,
    ObservedEvent,
    ObservedImage,
    ObservedSandbox,
    StateSnapshot,
)
from critests.model.steps import ContainerProcess, colour_of
from critests.model.world import CREATED, EXITED, NOTREADY, READY, RUNNING, Image

TAGS = ("registry/two:first", "registry/two:second")
IMAGE_ID = "sha256:1"
ERROR = CallResult("UNKNOWN")


def a_world() -> World:
    return World(images={"image-1": Image("image-1", TAGS)})


@dataclass
class FakeRuntime:
    """What the runtime reports; a test changes it, and runs a step with a result of its choice."""

    world: World = field(default_factory=a_world)
    sandboxes: dict[str, ObservedSandbox] = field(default_factory=dict)
    containers: dict[str, ObservedContainer] = field(default_factory=dict)
    images: list[ObservedImage] = field(default_factory=list)
    logs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pipes: dict[str, int] = field(default_factory=dict)
    leases: frozenset[str] | None = None
    handlers: tuple[str, ...] = ()
    events: dict[str, tuple[ObservedEvent, ...]] | None = None
    at: int = 0

    def snapshot(self) -> StateSnapshot:
        return StateSnapshot(
            tuple(self.sandboxes.values()),
            tuple(
                replace(each, started_at=0, finished_at=0, exit_code=0) for each in self.containers.values()
            ),
            tuple(self.images),
            {each.id: each for each in self.sandboxes.values()},
            {each.id: replace(each, sandbox_id="") for each in self.containers.values()},
            logs=self.logs,
            pipes=self.pipes,
            leases=self.leases,
            handlers=self.handlers,
            events=None if self.events is None else dict(self.events),
            at=self.at,
        )

    def run(self, step: Step, result: CallResult | None = None) -> list[Breach]:
        return judge(self.world, step, result or CallResult(), self.snapshot())

    def list_sandbox(self, key: str, name: str) -> None:
        """Report a READY sandbox."""
        labels, annotations = {COLOUR: colour_of(key)}, {ANNOTATION: key}
        self.sandboxes[key] = ObservedSandbox(f"id of {key}", READY, name, 0, 5, labels, annotations)

    def add_sandbox(self, key: str = "sandbox-1", name: str = "pod") -> None:
        """Run a step that creates a READY sandbox."""
        self.list_sandbox(key, name)
        assert self.run(Step("RunPodSandbox", makes=key, name=name), CallResult(id=f"id of {key}")) == []

    def add_container(
        self, key: str = "container-1", name: str = "app", process: str = ContainerProcess.WAITS
    ) -> None:
        """Run a step that creates a container in the first sandbox."""
        labels, annotations = {COLOUR: colour_of(key)}, {ANNOTATION: key}
        self.containers[key] = ObservedContainer(
            f"id of {key}", CREATED, "id of sandbox-1", name, 0, 6, labels=labels, annotations=annotations
        )
        step = Step("CreateContainer", makes=key, inside="sandbox-1", name=name, process=process)
        assert self.run(step, CallResult(id=f"id of {key}")) == []

    def add_running(self, key: str = "container-1", **arguments: str) -> None:
        """Run steps that create and start a container."""
        self.add_container(key, **arguments)
        self.set_state(key, RUNNING, started_at=7)
        assert self.run(Step("StartContainer", on=key)) == []

    def set_state(self, key: str, state: str, **fields: int) -> None:
        """Report another state from now on."""
        if key in self.sandboxes:
            self.sandboxes[key] = replace(self.sandboxes[key], state=state)
        else:
            self.containers[key] = replace(
                self.containers[key],
                state=state,
                started_at=fields.get("started_at", self.containers[key].started_at),
                finished_at=fields.get("finished_at", self.containers[key].finished_at),
                exit_code=fields.get("exit_code", self.containers[key].exit_code),
            )


def aspects(breaches: list[Breach]) -> list[str]:
    return [breach.aspect for breach in breaches]


__all__ = ["CREATED", "EXITED", "NOTREADY", "READY", "RUNNING", "FakeRuntime", "aspects"]
