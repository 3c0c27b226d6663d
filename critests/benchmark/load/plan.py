"""What the front process hands to its masters and workers, as JSON files and messages."""

import json
from dataclasses import dataclass, field
from enum import StrEnum, unique
from pathlib import Path
from typing import TypeVar

from critests.benchmark.load.schedule import Arrivals
from critests.record.codec import from_plain, to_plain

T = TypeVar("T")
PREPARE, PREPARED, STEP, DONE, HALT = (
    "critests_prepare",
    "critests_prepared",
    "critests_step",
    "critests_done",
    "critests_halt",
)
LISTENING = "critests_listening"
"""A worker can hear orders. It says so itself: Locust calls it ready as soon as it has connected, and loses
what it cannot hear yet.
"""
"""Messages between master and workers: make what stands, it stands (or why not), put load on, the load is
over, stop early.
"""
PARCEL = "critests"
"""Key of our own data in a worker's report to the master."""
SAMPLES_KEPT = 100_000
"""Single samples are kept of an operation with fewer than this; the histogram always is."""


@unique
class Mix(StrEnum):
    """What one arrival does."""

    POD = "pod"
    CONTAINER = "container"
    EXEC = "exec"
    LIST = "list"

    @property
    def headline(self) -> str:
        """What one arrival is called."""
        return {Mix.POD: "pod cycle", Mix.CONTAINER: "container cycle", Mix.EXEC: "exec", Mix.LIST: "relist"}[
            self
        ]


@dataclass(frozen=True, kw_only=True)
class Load:
    """The load that is put on.

    Attributes:
        mix: what one arrival does.
        rate: arrivals per second of all workers together; 0 for a closed loop.
        arrivals: how they are spread.
        users: of a closed loop, of all workers together; 0 for an open one.
        duration: measured time, in seconds.
        warm_up: time before it, in seconds, under the same load.
        seed: of the schedule.
        in_flight: how many cycles may be under way at once, of all workers together.
        pods: how many pods stand for exec, list and container, per worker process.
        drain: how long after the last arrival is waited for what is under way, in seconds.
    """

    mix: Mix
    rate: float = 0.0
    arrivals: Arrivals = Arrivals.CONSTANT
    users: int = 0
    duration: float = 60.0
    warm_up: float = 5.0
    seed: int = 0
    in_flight: int = 200
    pods: int = 1
    drain: float = 60.0

    @property
    def open(self) -> bool:
        """Whether arrivals have a schedule."""
        return self.rate > 0


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    """What one worker process needs.

    Attributes:
        master_host: where the master is.
        master_port: its port.
        endpoint: of the runtime service.
        image_endpoint: of the image service.
        tls: PEM files of authority, certificate and key; empty where none.
        handler: runtime handler of the pods; empty for the default.
        run: id of the run, whose label everything carries.
        cgroup_driver: of the runtime.
        image: what the containers run, as the pull returned it.
        image_written: and as it was asked for.
        deadline_scale: factor on every deadline.
        number: of this process among those of this machine.
        identity: name, version and endpoint of the runtime, for the master.
    """

    master_host: str
    master_port: int
    endpoint: str
    image_endpoint: str
    tls: list[str]
    handler: str
    run: str
    cgroup_driver: str
    image: str
    image_written: str
    deadline_scale: float
    number: int
    identity: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class MasterPlan:
    """What the master process needs.

    Attributes:
        bind_host: address to listen on; `*` for all.
        port: to listen on.
        workers: how many to wait for.
        load: what to put on; its rate is the first one of a capacity search.
        bound: of p99 in a capacity search, in seconds; 0 for none.
        web_port: of Locust's page on loopback; 0 for no page.
        result: file to write.
        patience: how long to wait for workers, in seconds; 0 for ever.
    """

    bind_host: str
    port: int
    workers: int
    load: Load
    bound: float = 0.0
    web_port: int = 0
    result: str
    patience: float = 60.0


@dataclass(kw_only=True)
class Samples:
    """Single samples of one operation, in columns of equal length.

    Attributes:
        at: intended start of a cycle in an open loop, else the real start; seconds from the beginning of the
            step.
        value: seconds from there to the end.
        late: seconds from there to the real start.
        code: gRPC status code, or a word of ours.
        warm: whether it belongs to the warm-up.
    """

    at: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    warm: list[bool] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.at)

    def add(self, at: float, value: float, late: float, code: str, *, warm: bool) -> None:
        """Append one."""
        self.at.append(round(at, 6))
        self.value.append(round(value, 9))
        self.late.append(round(late, 6))
        self.code.append(code)
        self.warm.append(warm)

    def extend(self, other: "Samples") -> None:
        """Append all of another."""
        self.at += other.at
        self.value += other.value
        self.late += other.late
        self.code += other.code
        self.warm += other.warm

    def order(self) -> list[int]:
        """Return the positions with the warm-up first and each part by its start."""
        return sorted(range(len(self)), key=lambda index: (not self.warm[index], self.at[index]))


@dataclass(kw_only=True)
class OperationTally:
    """One operation of one step, added up over all workers.

    Attributes:
        latency: from the intended start, encoded histogram of the steady successes; empty where there were
            none.
        service: the same from the real start.
        errors: code to number of steady failures.
        samples: every single one, warm-up included; empty where there were too many.
        cut: whether there were too many to keep them.
    """

    latency: str = ""
    service: str = ""
    errors: dict[str, int] = field(default_factory=dict)
    samples: Samples = field(default_factory=Samples)
    cut: bool = False


@dataclass(kw_only=True)
class StepResult:
    """One step: a rate or a number of users, held for a while.

    Attributes:
        load: what was put on.
        parts: number of workers.
        operations: by name; the whole cycle under the name of the mix.
        started: steady cycles that began.
        late: steady cycles that began late.
        held_back: steady cycles that had to wait because too many were under way.
        seconds: measured time, shorter than planned where it ended early.
        halted: whether it ended early.
        gone: why the runtime is believed to be gone; empty while it answers.
        decision: of a step of a capacity search, else empty.
    """

    load: Load
    parts: int = 1
    operations: dict[str, OperationTally] = field(default_factory=dict)
    started: int = 0
    late: int = 0
    held_back: int = 0
    seconds: float = 0.0
    halted: bool = False
    gone: str = ""
    decision: str = ""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What a capacity search found.

    Attributes:
        bound: of p99, in seconds.
        held: the highest rate that kept it, per second; 0 where none did.
        exceeded: the lowest that did not, or None.
        sentence: the same in words.
    """

    bound: float
    held: float
    exceeded: float | None
    sentence: str


@dataclass(kw_only=True)
class LoadResult:
    """What the master found.

    Attributes:
        steps: in order; one without a capacity search.
        identities: of the workers' runtimes.
        problem: why nothing, or not all, could be measured; empty where all went well.
        harness: whether the problem is the harness's own.
        notes: sentences for the reader.
        capacity: of a search, else None.
    """

    steps: list[StepResult] = field(default_factory=list)
    identities: list[dict[str, str]] = field(default_factory=list)
    problem: str = ""
    harness: bool = False
    notes: list[str] = field(default_factory=list)
    capacity: Capacity | None = None


def write_plan(plan: object, path: Path) -> None:
    """Write a dataclass of this module as JSON, readable by root alone."""
    path.touch(mode=0o600)
    path.write_text(json.dumps(to_plain(plan)), encoding="utf-8")


def read_plan(kind: type[T], path: Path) -> T:
    """Read it again.

    Raises:
        OSError: there is no such file.
        ValueError: it was cut off, or holds something else.
    """
    return from_plain(kind, json.loads(path.read_text(encoding="utf-8")))
