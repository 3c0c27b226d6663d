"""Kernel counters of a pod cycle, which vary less than its time."""

import contextlib
from collections.abc import Iterator

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.counters import CannotCount, Counters
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.one_pod import TimedPod
from critests.record.units import COUNT
from critests.run.outcomes import Unsupported

HEADLINE = "page faults"
CYCLE = "pod start and end"


@scenario("B-38")
def test_counters(bench: Bench) -> None:
    """Kernel counters of the daemon and all processes that it starts, while a pod is started and removed."""
    bench.sample(lambda target: counted(bench, target), headline=HEADLINE)


@contextlib.contextmanager
def counted(bench: Bench, target: Target) -> Iterator[Cycle]:
    """Open the counters; each cycle starts a pod with one container and removes it."""
    pid = target.context.daemon_pid
    if pid is None:
        msg = f"{target.name}: counters: the daemon's process is not visible"
        raise Unsupported(msg)
    with contextlib.ExitStack() as stack:
        try:
            counters = stack.enter_context(Counters(pid))
        except CannotCount as error:
            msg = f"{target.name}: counters: {error}"
            raise Unsupported(msg) from error
        for name, why in counters.missing.items():
            bench.remark(f"{name} were not counted: {why}")

        def cycle(meter: Meter) -> None:
            pod = TimedPod(target)
            before = counters.read()
            try:
                with meter.sum(CYCLE):
                    pod.start(meter)
                    pod.check_running()
                    pod.end(meter)
            finally:
                pod.discard()
            begin = meter.windows[CYCLE][0]
            for name, total in counters.read().items():
                meter.add(name, total - before[name], begin, unit=COUNT)

        yield cycle
