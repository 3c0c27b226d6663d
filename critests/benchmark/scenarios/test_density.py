"""Many pods, and many cycles: memory per pod, and the growth of gauges during pod churn."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterator

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.resources import DAEMON, PARTS, footprints, gauges
from critests.benchmark.measuring.sampling import Cycle, Tally
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.machine_limits import exhausted_resource, what_ran_out
from critests.benchmark.scenarios.workloads import pod_cycle
from critests.lifecycle.process_cgroups import MOUNT as CGROUP_MOUNT
from critests.record.comparison_questions import MEMORY_OUTSIDE
from critests.record.units import BYTES, COUNT, LOWER, NEITHER
from critests.run.outcomes import blocked
from critests.statistics.trend import FEWEST_POINTS, trend

PODS = {"compare": 30, "smoke": 5, "standard": 50, "full": 500}
LOOKS = 15
"""Memory is read so often: with two sides, each is a block, and ten blocks can prove nothing."""
GAUGE_EVERY_CYCLES = 5
MEMORY = "memory per pod"


@scenario("B-26")
def test_density(bench: Bench) -> None:
    """Memory per pod, split into its parts: idle pods are added up to the number of the profile, or until a
    resource runs out.
    """
    sides = [
        DensityPods(target, bench.meter(target), daemon)
        for target, daemon in zip(bench.targets, _daemons(bench), strict=True)
    ]
    most = PODS[bench.profile]
    goals = sorted({most * step // LOOKS for step in range(1, LOOKS + 1)} - {0})
    try:
        for block, goal in enumerate(goals):
            bench.order.shuffle(sides)
            for side in sides:
                side.meter.block = block if len(sides) > 1 else -1
                side.grow_to(goal, bench.seconds / len(sides))
                bench.on_progress(f"B-26 {side.target.name}: {side.pods} pods")
    finally:
        for side in sides:
            side.remove()
            note, tally = f"{side.pods} pods; {side.why}", Tally(latest_failure=side.why)
            bench.add_results(side.meter, headline=MEMORY, stopped=side.why, tally=tally, note=note)


class DensityPods:
    """Idle pods of one side.

    Attributes:
        target: the side.
        meter: stores the memory that each pod adds.
        pods: number of complete pods.
        why: why no more pods are added.
    """

    def __init__(self, target: Target, meter: Meter, daemon: int) -> None:
        self.target = target
        self.meter = meter
        self.pods = 0
        self.why = "the profile's number was reached"
        self._daemon = daemon
        self._sandboxes: list[str] = []
        self._full = False
        self._seconds_used = 0.0
        self._before = footprints(daemon)

    def grow_to(self, goal: int, seconds: float) -> None:
        """Add pods up to a goal, unless a resource runs out, and store the memory that each of them adds.

        The memory of the first pods is warm-up: it includes what all pods share.

        Args:
            goal: number of pods.
            seconds: time budget of all goals together.
        """
        before, begin = self.pods, time.monotonic()
        while not self._full and self.pods < goal:
            why = exhausted_resource(self.target)
            if not why and self._seconds_used + time.monotonic() - begin > seconds:
                why = "the time budget ended"
            if not why:
                why = self._add()
            if why:
                self.why, self._full = why, True
        self._seconds_used += time.monotonic() - begin
        if self.pods > before:
            self._add_memory(self.pods - before)

    def _add(self) -> str:
        """Add a pod; return why that failed, or an empty text."""
        request, runtime = self.target.sandbox_request(), self.target.connection.runtime
        try:
            sandbox_id = runtime.RunPodSandbox(request).pod_sandbox_id
            self._sandboxes.append(sandbox_id)
            create = self.target.container_request(sandbox_id, request.config)
            container_id = runtime.CreateContainer(create).container_id
            runtime.StartContainer(cri.StartContainerRequest(container_id=container_id))
            self.target.wait_for_output(request.config, create.config)
        except grpc.RpcError as error:
            return what_ran_out(self.pods + 1, error.code().name, str(error.details()))
        except NotDone as error:
            return f"pod {self.pods + 1}: {error}"
        self.pods += 1
        return ""

    def _add_memory(self, added: int) -> None:
        now, begin = footprints(self._daemon), time.perf_counter()
        parts = {part: (now[part].memory_bytes - self._before[part].memory_bytes) / added for part in PARTS}
        self._before = now
        self.meter.add(MEMORY, max(sum(parts.values()), 0.0), begin, unit=BYTES, better=LOWER)
        outside = sum(share for part, share in parts.items() if part != DAEMON)
        self.meter.add(MEMORY_OUTSIDE, max(outside, 0.0), begin, unit=BYTES, better=LOWER)
        for part, share in parts.items():
            self.meter.add(f"{MEMORY}: {part}", max(share, 0.0), begin, unit=BYTES, better=LOWER)
        for series in self.meter.series.values():
            series.warm_up = min(1, len(series.value) - 1)

    def remove(self) -> None:
        """Remove all pods."""
        for sandbox_id in self._sandboxes:
            self.target.discard(sandbox_id)
        self.target.remove_pod_cgroups()


@scenario("B-34")
def test_soak(bench: Bench) -> None:
    """Pod cycles for the whole time budget, and the slope per cycle of every gauge that could leak."""
    readings: dict[str, list[tuple[float, dict[str, float]]]] = {target.side: [] for target in bench.targets}
    _daemons(bench)

    @contextlib.contextmanager
    def soaking(target: Target) -> Iterator[Cycle]:
        counted = itertools.count(1)
        with pod_cycle()(target) as once:

            def cycle(meter: Meter) -> None:
                number = next(counted)
                if number % GAUGE_EVERY_CYCLES == 1:
                    target.remove_pod_cgroups()
                    readings[target.side].append((float(number), _gauges(target)))
                once(meter)

            yield cycle

    bench.sample(soaking, headline="pod cycle", half_width=WHOLE_BUDGET)
    for target in bench.targets:
        _slopes(bench, target, readings[target.side])


WHOLE_BUDGET = 1e-9
"""A precision that is never reached: a trend needs the whole time budget."""


def _gauges(target: Target) -> dict[str, float]:
    """Read the gauges of this runtime and this run only, because other programs may be active on the
    machine.
    """
    owned = target.context.owned
    own = [owned.runtime.state, owned.runtime.root] if owned is not None and owned.runtime is not None else []
    read = gauges(_daemon(target), directories=own)
    name = f"critests/{target.context.run.id}"
    read["cgroups"] = float(
        sum(1 for top in (CGROUP_MOUNT / name, *CGROUP_MOUNT.glob(f"*/{name}")) for _ in os.walk(top))
    )
    return read


def _daemons(bench: Bench) -> list[int]:
    """Return the PID of each side's daemon; block the scenario if both sides have the same daemon."""
    pids = [_daemon(target) for target in bench.targets]
    if len(set(pids)) < len(pids):
        blocked("both sides have the same daemon, so their memory cannot be separated")
    return pids


def _daemon(target: Target) -> int:
    """Return the PID of a throwaway runtime's daemon; block the scenario for other runtimes."""
    if not target.context.throwaway or target.context.daemon_pid is None:
        blocked("needs a private runtime (--node): other clients of this one would be counted too")
    return target.context.daemon_pid


def _slopes(bench: Bench, target: Target, readings: list[tuple[float, dict[str, float]]]) -> None:
    """Store the slope of every gauge per cycle, with its confidence interval."""
    for name in readings[0][1] if readings else ():
        meter = bench.meter(target)
        positions, values = [cycles for cycles, _ in readings], [each[name] for _, each in readings]
        begin = time.perf_counter()
        for value in values:
            meter.add(
                f"gauge {name}", value, begin, unit=BYTES if name.endswith("bytes") else COUNT, better=NEITHER
            )
        note = "too few readings for a slope"
        if len(values) >= FEWEST_POINTS:
            slope = trend(positions, values)
            bounds = f"{slope.interval.low:.3g} to {slope.interval.high:.3g}"
            note = f"{slope.slope:.3g} per pod cycle ({bounds}){': it grows' if slope.grows else ''}"
        bench.add_results(meter, headline=f"gauge {name}", stopped="the time budget ended", note=note)
