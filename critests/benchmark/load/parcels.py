"""What one worker counted of one step, and how the master adds up what several workers report."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from critests.benchmark.load.histograms import Latencies
from critests.benchmark.load.plan import SAMPLES_KEPT, Load, OperationTally, Samples, StepResult
from critests.record.samples import LATE_SECONDS

OK = "OK"


@dataclass
class Account:
    """One operation in one worker."""

    latency: Latencies = field(default_factory=Latencies)
    service: Latencies = field(default_factory=Latencies)
    errors: Counter[str] = field(default_factory=Counter)
    fresh: Samples = field(default_factory=Samples)
    taken: int = 0

    def add(self, at: float, value: float, late: float, code: str, *, warm: bool, limit: int) -> None:
        """Count one sample."""
        if not warm and code == OK:
            self.latency.record(value)
            self.service.record(value - late)
        elif not warm:
            self.errors[code] += 1
        self.taken += 1
        if self.taken <= limit:
            self.fresh.add(at, value, late, code, warm=warm)


class Tally:
    """Everything that one worker counts during one step.

    Attributes:
        number: of the step.
        under_way: begin of every cycle that has not ended, by any key: seconds on the step's clock.
        gone: why the runtime is believed to be gone.
        halted: whether the step ended early.
        seconds: measured time so far.
    """

    def __init__(self, number: int, load: Load, parts: int) -> None:
        self.number = number
        self.under_way: dict[object, float] = {}
        self.gone = ""
        self.halted = False
        self.over = False
        self.seconds = 0.0
        self._load = load
        self._limit = SAMPLES_KEPT // max(parts, 1)
        self._accounts: dict[str, Account] = {}
        self._started = self._late = self._held_back = self._ended = 0

    def call(self, rpc: str, at: float, seconds: float, code: str, *, warm: bool) -> None:
        """Count a call."""
        self._account(rpc).add(at, seconds, 0.0, code, warm=warm, limit=self._limit)

    def start(self, late: float, *, warm: bool, held_back: bool) -> None:
        """Count the start of a cycle."""
        if not warm:
            self._started += 1
            self._late += late > LATE_SECONDS
            self._held_back += held_back

    def cycle(self, at: float, value: float, late: float, code: str, *, warm: bool) -> None:
        """Count the end of a cycle."""
        self._ended += 1
        self._account(self._load.mix.headline).add(at, value, late, code, warm=warm, limit=self._limit)

    def parcel(self, now: float, bound: float) -> dict[str, Any]:
        """Return everything counted so far, and the samples since the last parcel, as plain data.

        Args:
            now: on the step's clock, in seconds.
            bound: cycles under way for longer are overdue; 0 for no bound.
        """
        operations = {}
        for name, account in self._accounts.items():
            operations[name] = {
                "latency": account.latency.encode(),
                "service": account.service.encode(),
                "errors": dict(account.errors),
                "samples": vars(account.fresh),
                "cut": account.taken > self._limit,
            }
            account.fresh = Samples()
        return {
            "step": self.number,
            "operations": operations,
            "started": self._started,
            "late": self._late,
            "held_back": self._held_back,
            "ended": self._ended,
            "under_way": len(self.under_way),
            "overdue": sum(
                1
                for begin in self.under_way.values()
                if bound and begin >= self._load.warm_up and now - begin > bound
            ),
            "halted": self.halted,
            "gone": self.gone,
            "seconds": self.seconds,
        }

    def _account(self, name: str) -> Account:
        if name not in self._accounts:
            self._accounts[name] = Account()
        return self._accounts[name]


class Total:
    """What the workers reported of one step, added up."""

    def __init__(self, number: int, load: Load, parts: int) -> None:
        self.number = number
        self.load = load
        self.parts = parts
        self._latest: dict[str, dict[str, Any]] = {}
        self._samples: dict[str, Samples] = {}

    def add(self, worker: str, parcel: dict[str, Any]) -> None:
        """Take a worker's report; one about another step is left out."""
        if parcel.get("step") != self.number:
            return
        for name, operation in parcel["operations"].items():
            self._samples.setdefault(name, Samples()).extend(Samples(**operation.pop("samples")))
        self._latest[worker] = parcel

    def number_of(self, what: str) -> int:
        """Return a count summed over the workers: `started`, `late`, `held_back`, `ended`, `under_way` or
        `overdue`.
        """
        return sum(int(parcel[what]) for parcel in self._latest.values())

    def errors(self, name: str) -> dict[str, int]:
        """Return the steady failures of an operation by code."""
        counted: Counter[str] = Counter()
        for parcel in self._latest.values():
            counted.update(parcel["operations"].get(name, {}).get("errors", {}))
        return dict(counted)

    def histogram(self, name: str, kind: str = "latency") -> Latencies:
        """Return the merged histogram of an operation."""
        return Latencies.merged(
            parcel["operations"].get(name, {}).get(kind, "") for parcel in self._latest.values()
        )

    @property
    def gone(self) -> str:
        """Why the runtime of every worker is believed to be gone; empty while one answers."""
        reasons = [str(parcel["gone"]) for parcel in self._latest.values()]
        return reasons[0] if reasons and all(reasons) else ""

    def result(self) -> StepResult:
        """Return the step as a whole."""
        names = {name for parcel in self._latest.values() for name in parcel["operations"]}
        operations = {}
        for name in sorted(names):
            samples = self._samples.get(name, Samples())
            cut = len(samples) >= SAMPLES_KEPT or any(
                parcel["operations"].get(name, {}).get("cut") for parcel in self._latest.values()
            )
            operations[name] = OperationTally(
                latency=self.histogram(name).encode(),
                service=self.histogram(name, "service").encode(),
                errors=self.errors(name),
                samples=Samples() if cut else samples,
                cut=cut,
            )
        return StepResult(
            load=self.load,
            parts=self.parts,
            operations=operations,
            started=self.number_of("started"),
            late=self.number_of("late"),
            held_back=self.number_of("held_back"),
            seconds=max((float(parcel["seconds"]) for parcel in self._latest.values()), default=0.0),
            halted=any(parcel["halted"] for parcel in self._latest.values()),
            gone=self.gone,
        )
