"""Idle pods of one side: what the runtime uses for them without any call, and its footprint for them."""

import contextlib
import time
from collections.abc import Iterator, Sequence

from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.resources import Usage, UsedResources, footprints, snapshot
from critests.benchmark.measuring.runtime_processes import RuntimeNotVisible
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.list_calls import listing
from critests.benchmark.scenarios.machine_limits import exhausted_resource
from critests.benchmark.scenarios.one_pod import TimedPod
from critests.benchmark.scenarios.population import Population
from critests.record.units import BYTES, COUNT, NEITHER, SECONDS

MINUTE = 60.0
FOOTPRINT = {
    "memory_bytes": ("memory of the", BYTES),
    "descriptors": ("descriptors of the", COUNT),
    "threads": ("threads of the", COUNT),
}
"""Attribute of `ProcessFootprint` to the prefix of its operation and its unit.

Two daemons of the same binary differ in their footprint during their whole life, and repeated readings do not
average this out: the footprint has a growth, but no verdict of better or worse.
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
        why: why the number of pods cannot grow; empty if it can.
        unmeasurable: why footprint and usage of the runtime cannot be measured; empty if they can.
    """

    def __init__(self, target: Target, population: Population, unmeasurable: str = "") -> None:
        self.target = target
        self.population = population
        self.why = ""
        self.unmeasurable = unmeasurable

    @property
    def pods(self) -> int:
        """The number of pods."""
        return len(self.population.container_ids)

    def grow_to(self, number: int) -> bool:
        """Add pods up to a number; return whether it was reached. If not, `why` holds the reason."""
        while not self.why and self.pods < number:
            self.why = exhausted_resource(self.target)
            if not self.why:
                try:
                    self.population.grow_to(self.pods + 1)
                except NotDone as error:
                    self.why = str(error)
        return self.pods >= number

    def add_footprint(self, meter: Meter) -> None:
        """Store the footprint of the runtime with all of its pods, if it can be measured."""
        daemon = self.target.context.daemon_pid
        if self.unmeasurable or daemon is None:
            return
        begin = time.perf_counter()
        try:
            by_part = footprints(daemon)
        except RuntimeNotVisible as error:
            self.unmeasurable = str(error)
            return
        for part in OWN_PARTS:
            footprint = by_part[part]
            for attribute, (name, unit) in FOOTPRINT.items():
                meter.add(
                    f"{name} {part}", float(getattr(footprint, attribute)), begin, unit=unit, better=NEITHER
                )


def measure_idle(sides: Sequence[IdlePods], meters: Sequence[Meter], seconds: float) -> None:
    """Make no calls for some time, and store the usage of the runtimes, scaled to a minute.

    The sides are idle at the same time, so that neither disturbs the other.

    Args:
        sides: the sides.
        meters: the meter of each.
        seconds: duration.
    """
    before = [_usage_so_far(side) for side in sides]
    begin = time.perf_counter()
    time.sleep(seconds)
    for side, meter, earlier in zip(sides, meters, before, strict=True):
        now = _usage_so_far(side)
        if earlier is not None and now is not None:
            add_idle_usage(meter, now.since(earlier), time.perf_counter() - begin, begin)


def _usage_so_far(side: IdlePods) -> Usage | None:
    """Return the usage of a side's runtime so far; None if it cannot be measured."""
    daemon = side.target.context.daemon_pid
    if side.unmeasurable or daemon is None:
        return None
    try:
        return snapshot(daemon)
    except RuntimeNotVisible as error:
        side.unmeasurable = str(error)
        return None


def add_idle_usage(meter: Meter, used: UsedResources, seconds: float, begin: float) -> None:
    """Store the usage of some seconds, scaled to a minute."""
    for name, amount, unit in (
        (IDLE_TIME, used.cpu_seconds, SECONDS),
        (IDLE_WAKE_UPS, float(used.voluntary), COUNT),
        (IDLE_WRITES, float(used.write_bytes), BYTES),
    ):
        meter.add(name, amount * MINUTE / seconds, begin, unit=unit, better=NEITHER)


def relisting(population: Population) -> Workload:
    """Return the workload of a kubelet relist that finds one changed pod: both lists, and the status of one
    sandbox and its container.
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
def one_more_pod(target: Target) -> Iterator[Cycle]:
    """Yield the cycle that starts one more pod, and stops and removes it."""

    def cycle(meter: Meter) -> None:
        pod = TimedPod(target, start=STARTED, end=ENDED)
        try:
            pod.start(meter)
            pod.check_running()
            pod.end(meter)
        finally:
            pod.discard()

    yield cycle
