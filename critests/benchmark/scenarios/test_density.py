"""Many pods, and many cycles: memory per pod, and what grows while pods come and go."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterator

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.resources import PARTS, gauges, holdings
from critests.benchmark.measuring.sampling import Cycle, Tally
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.machine_limits import scarce, what_ran_out
from critests.benchmark.scenarios.workloads import pod_cycle
from critests.lifecycle.process_cgroups import MOUNT as CGROUP_MOUNT
from critests.record.samples import BYTES, COUNT, LOWER, NEITHER
from critests.run.outcomes import blocked
from critests.statistics.trend import FEWEST_POINTS, trend

PODS = {"smoke": 5, "standard": 50, "full": 500}
LOOKS = 10
GAUGE_EVERY_CYCLES = 5
MEMORY = "memory per pod"


@scenario("B-26")
def test_density(bench: Bench) -> None:
    """Pods that only wait are added up to the profile's number, or until something runs out: memory per pod,
    split into its parts.
    """
    sides = [
        Crowd(target, bench.meter(target), daemon)
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
            side.end()
            note = f"{side.pods} pods; {side.why}"
            bench.keep(side.meter, headline=MEMORY, stopped=side.why, tally=Tally(latest=side.why), note=note)


class Crowd:
    """Pods of one side that only wait.

    Attributes:
        target: the side.
        meter: keeps what each pod added.
        pods: how many there are, whole ones.
        why: why there are no more.
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
        self._seen = holdings(daemon)

    def grow_to(self, goal: int, seconds: float) -> None:
        """Add pods up to a goal, unless something runs out, and keep what each of them added to the memory.

        What the first of them adds is warm-up: it pays for what all share.

        Args:
            goal: of pods.
            seconds: that all goals together may take.
        """
        before, begin = self.pods, time.monotonic()
        while not self._full and self.pods < goal:
            why = scarce(self.target)
            if not why and self._seconds_used + time.monotonic() - begin > seconds:
                why = "the time budget ended"
            if not why:
                why = self._add()
            if why:
                self.why, self._full = why, True
        self._seconds_used += time.monotonic() - begin
        if self.pods > before:
            self._look(self.pods - before)

    def _add(self) -> str:
        """Add a pod; return why that failed, empty where it did not."""
        request, runtime = self.target.sandbox_request(), self.target.connection.runtime
        try:
            sandbox_id = runtime.RunPodSandbox(request).pod_sandbox_id
            self._sandboxes.append(sandbox_id)
            create = self.target.container_request(sandbox_id, request.config)
            container_id = runtime.CreateContainer(create).container_id
            runtime.StartContainer(cri.StartContainerRequest(container_id=container_id))
            self.target.until_output(request.config, create.config)
        except grpc.RpcError as error:
            return what_ran_out(self.pods + 1, error.code().name, str(error.details()))
        except NotDone as error:
            return f"pod {self.pods + 1}: {error}"
        self.pods += 1
        return ""

    def _look(self, added: int) -> None:
        now, begin = holdings(self._daemon), time.perf_counter()
        parts = {part: (now[part].memory_bytes - self._seen[part].memory_bytes) / added for part in PARTS}
        self._seen = now
        self.meter.keep(MEMORY, max(sum(parts.values()), 0.0), begin, unit=BYTES, better=LOWER)
        for part, share in parts.items():
            self.meter.keep(f"{MEMORY}: {part}", max(share, 0.0), begin, unit=BYTES, better=LOWER)
        for series in self.meter.series.values():
            series.warm_up = min(1, len(series.value) - 1)

    def end(self) -> None:
        """Remove them."""
        for sandbox_id in self._sandboxes:
            self.target.discard(sandbox_id)
        self.target.sweep()


@scenario("B-34")
def test_soak(bench: Bench) -> None:
    """Pod cycles for as long as the budget allows, and the slope of everything that could leak, per cycle."""
    looks: dict[str, list[tuple[float, dict[str, float]]]] = {target.side: [] for target in bench.targets}
    _daemons(bench)

    @contextlib.contextmanager
    def soaking(target: Target) -> Iterator[Cycle]:
        counted = itertools.count(1)
        with pod_cycle()(target) as once:

            def cycle(meter: Meter) -> None:
                number = next(counted)
                if number % GAUGE_EVERY_CYCLES == 1:
                    target.sweep()
                    looks[target.side].append((float(number), _gauges(target)))
                once(meter)

            yield cycle

    bench.sample(soaking, headline="pod cycle", half_width=NEVER_SHARP)
    for target in bench.targets:
        _slopes(bench, target, looks[target.side])


NEVER_SHARP = 1e-9
"""The whole time is to be used: it is growth that is looked for."""


def _gauges(target: Target) -> dict[str, float]:
    """Read what should stay the same, of the runtime's own things only: others may be at work on this
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
    """Return the daemon of each side; two sides of the same one hold their memory together."""
    found = [_daemon(target) for target in bench.targets]
    if len(set(found)) < len(found):
        blocked("both sides are one daemon, and what it holds for either cannot be distinguished")
    return found


def _daemon(target: Target) -> int:
    """Return the daemon's process; its memory is only its own where the runtime is."""
    if not target.context.throwaway or target.context.daemon_pid is None:
        blocked("needs a throwaway runtime (--node): what others do on this one would be counted too")
    return target.context.daemon_pid


def _slopes(bench: Bench, target: Target, looks: list[tuple[float, dict[str, float]]]) -> None:
    """Say how fast every gauge grew per cycle, and whether that is more than chance."""
    for name in looks[0][1] if looks else ():
        meter = bench.meter(target)
        positions, values = [cycles for cycles, _ in looks], [each[name] for _, each in looks]
        begin = time.perf_counter()
        for value in values:
            meter.keep(
                f"gauge {name}", value, begin, unit=BYTES if name.endswith("bytes") else COUNT, better=NEITHER
            )
        note = "too few looks for a slope"
        if len(values) >= FEWEST_POINTS:
            slope = trend(positions, values)
            bounds = f"{slope.interval.low:.3g} to {slope.interval.high:.3g}"
            note = f"{slope.slope:.3g} per pod cycle ({bounds}){': it grows' if slope.grows else ''}"
        bench.keep(meter, headline=f"gauge {name}", stopped="the time budget ended", note=note)
