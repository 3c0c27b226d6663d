"""Pods that stand on one side while everything is measured beside them: what they cost the runtime when
nobody asks, and what it holds for them.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence

from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.resources import Usage, UsedResources, holdings, snapshot
from critests.benchmark.measuring.runtime_processes import RuntimeHidden
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.list_calls import listing
from critests.benchmark.scenarios.machine_limits import scarce
from critests.benchmark.scenarios.one_pod import TimedPod
from critests.benchmark.scenarios.population import Population
from critests.record.samples import BYTES, COUNT, NEITHER, SECONDS

MINUTE = 60.0
HELD = {
    "memory_bytes": ("memory of the", BYTES),
    "descriptors": ("descriptors of the", COUNT),
    "threads": ("threads of the", COUNT),
}
"""What is held: the attribute of `Holding`, what it is called before its part, and its unit.

Two daemons of one binary differ in it for as long as they live, and no number of looks averages that out: it
has a growth, and no verdict of better or worse.
"""
OWN_PARTS = ("daemon", "shims")
MEMORY = "memory of the daemon"
STARTED, ENDED = "start of one more pod", "end of one pod"
IDLE_TIME, IDLE_WAKE_UPS, IDLE_WRITES = "idle time a minute", "idle wake-ups a minute", "idle writes a minute"


class IdlePods:
    """The pods of one side.

    Attributes:
        target: the side.
        population: its pods.
        why: why there are no more; empty as long as none was refused.
        hidden: why what the runtime holds and uses cannot be told; empty where it can.
    """

    def __init__(self, target: Target, population: Population, hidden: str = "") -> None:
        self.target = target
        self.population = population
        self.why = ""
        self.hidden = hidden

    @property
    def pods(self) -> int:
        """How many there are."""
        return len(self.population.container_ids)

    def grow_to(self, number: int) -> bool:
        """Add pods; return whether there are so many. What they ran out of is in `why`."""
        while not self.why and self.pods < number:
            self.why = scarce(self.target)
            if not self.why:
                try:
                    self.population.grow_to(self.pods + 1)
                except NotDone as error:
                    self.why = str(error)
        return self.pods >= number

    def look(self, meter: Meter) -> None:
        """Keep what the runtime holds for all of its pods; nothing where that cannot be told."""
        daemon = self.target.context.daemon_pid
        if self.hidden or daemon is None:
            return
        begin = time.perf_counter()
        try:
            found = holdings(daemon)
        except RuntimeHidden as error:
            self.hidden = str(error)
            return
        for part in OWN_PARTS:
            holding = found[part]
            for attribute, (name, unit) in HELD.items():
                meter.keep(
                    f"{name} {part}", float(getattr(holding, attribute)), begin, unit=unit, better=NEITHER
                )


def rest(sides: Sequence[IdlePods], meters: Sequence[Meter], seconds: float) -> None:
    """Ask nothing of any side for a while, and keep what their runtimes used meanwhile, for a minute of it.

    The sides rest at the same time: neither does anything that could disturb the other.

    Args:
        sides: which.
        meters: of each.
        seconds: how long.
    """
    before = [_so_far(side) for side in sides]
    begin = time.perf_counter()
    time.sleep(seconds)
    for side, meter, earlier in zip(sides, meters, before, strict=True):
        now = _so_far(side)
        if earlier is not None and now is not None:
            keep_idle(meter, now.since(earlier), time.perf_counter() - begin, begin)


def _so_far(side: IdlePods) -> Usage | None:
    """Return what a side's runtime has used so far; None where that cannot be told."""
    daemon = side.target.context.daemon_pid
    if side.hidden or daemon is None:
        return None
    try:
        return snapshot(daemon)
    except RuntimeHidden as error:
        side.hidden = str(error)
        return None


def keep_idle(meter: Meter, used: UsedResources, seconds: float, begin: float) -> None:
    """Keep what was used in some seconds as what is used in a minute."""
    for name, amount, unit in (
        (IDLE_TIME, used.cpu_seconds, SECONDS),
        (IDLE_WAKE_UPS, float(used.voluntary), COUNT),
        (IDLE_WRITES, float(used.write_bytes), BYTES),
    ):
        meter.keep(name, amount * MINUTE / seconds, begin, unit=unit, better=NEITHER)


def relisting(population: Population) -> Workload:
    """Return the workload of the kubelet's relist that finds one pod changed: both lists, and the status of
    one sandbox and its container.
    """
    listed = listing(population)

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with listed(target) as once:

            def cycle(meter: Meter) -> None:
                with meter.sum("relist"):
                    once(meter)

            yield cycle

    return prepared


@contextlib.contextmanager
def one_more(target: Target) -> Iterator[Cycle]:
    """Prepare nothing; each cycle starts one more pod, and stops and removes it."""

    def cycle(meter: Meter) -> None:
        pod = TimedPod(target, start=STARTED, end=ENDED)
        try:
            pod.start(meter)
            pod.look()
            pod.end(meter)
        finally:
            pod.discard()

    yield cycle
