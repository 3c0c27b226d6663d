"""Restart of the daemon with pods running: until it answers, until it is ready, until its lists are
complete.
"""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.population import Population
from critests.client.plain import PlainConnection, plain_stubs
from critests.node.throwaway import ThrowawayRuntime
from critests.run.outcomes import blocked

CONTAINERS = {"smoke": (5,), "standard": (5, 50), "full": (5, 110, 500)}
POLL_SECONDS = 0.005
BACK_SECONDS = 60.0


@scenario("B-33")
def test_restart_with_pods(bench: Bench) -> None:
    """SIGTERM to the daemon and a new one at once, by the number of containers: until Version, until ready,
    until the lists are whole.
    """
    for target in bench.targets:
        _own(target)
    numbers = CONTAINERS[bench.profile]
    for number in numbers:
        seconds = bench.seconds / len(numbers)
        bench.sample(
            _restarting(number),
            headline="restart to complete lists",
            dimensions={"containers": str(number)},
            seconds=seconds,
        )


def _restarting(number: int) -> Workload:
    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        runtime = _own(target)
        with Population.of(target, number) as population:

            def cycle(meter: Meter) -> None:
                _restart(meter, target, runtime, population)

            yield cycle

    return prepared


def _own(target: Target) -> ThrowawayRuntime:
    """Return the runtime that this run started; anybody else's is not ours to restart."""
    owned = target.context.owned
    if owned is None or owned.runtime is None:
        blocked("needs a throwaway runtime (--node): this one is not ours to restart")
    return owned.runtime


def _restart(meter: Meter, target: Target, runtime: ThrowawayRuntime, population: Population) -> None:
    """End the daemon, start it again, and ask meanwhile on connections of our own: gRPC's own wait between
    attempts would be measured.
    """
    runtime.kill(signal.SIGTERM)
    begin = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(runtime.restart)
        _until(meter, "restart to Version", begin, lambda: _answers(target, started))
        with contextlib.closing(plain_stubs(target.context.endpoint)) as fresh:
            wanted = set(population.container_ids)
            _until(meter, "restart to ready", begin, lambda: _ready(fresh))
            _until(meter, "restart to complete lists", begin, lambda: wanted <= _listed(fresh))
        started.result()
    target.context.daemon_pid = runtime.pid


def _answers(target: Target, started: Future[None]) -> bool:
    if started.done() and (error := started.exception()) is not None:
        raise NotDone(str(error)) from error
    with contextlib.closing(plain_stubs(target.context.endpoint)) as fresh:
        return bool(fresh.runtime.Version(cri.VersionRequest(), timeout=1).version)


def _ready(fresh: PlainConnection) -> bool:
    conditions = fresh.runtime.Status(cri.StatusRequest(), timeout=1).status.conditions
    return bool(conditions) and all(each.status for each in conditions)


def _listed(fresh: PlainConnection) -> set[str]:
    return {
        each.id for each in fresh.runtime.ListContainers(cri.ListContainersRequest(), timeout=10).containers
    }


def _until(meter: Meter, operation: str, begin: float, holds: Callable[[], bool]) -> None:
    """Ask again and again until something holds, and keep how long that was after the restart began."""
    while time.perf_counter() - begin < BACK_SECONDS:
        with contextlib.suppress(grpc.RpcError):  # a daemon that is not back yet; what counts is when it is
            if holds():
                meter.keep(operation, time.perf_counter() - begin, begin)
                return
        time.sleep(POLL_SECONDS)
    msg = f"{operation}: not within {BACK_SECONDS:g} s after a restart"
    raise NotDone(msg)
