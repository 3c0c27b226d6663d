"""Restart of the daemon with running pods: time until it responds, is ready, and lists all containers."""

import contextlib
import signal
from collections.abc import Iterator

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.daemon_restarts import restarting, throwaway_runtime_of
from critests.benchmark.scenarios.population import Population

CONTAINERS = {"smoke": (5,), "standard": (5, 50), "full": (5, 110, 500)}


@scenario("B-33")
def test_restart_with_pods(bench: Bench) -> None:
    """SIGTERM and immediate restart of the daemon, by the number of containers: time to Version, to ready, to
    complete lists.
    """
    for target in bench.targets:
        throwaway_runtime_of(target)
    numbers = CONTAINERS[bench.profile]
    for number in numbers:
        seconds = bench.seconds / len(numbers)
        bench.sample(
            _with_containers(number),
            headline="restart to complete lists",
            dimensions={"containers": str(number)},
            seconds=seconds,
        )


def _with_containers(number: int) -> Workload:
    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with (
            Population.of(target, number) as population,
            restarting(population, signal.SIGTERM)(target) as cycle,
        ):
            yield cycle

    return prepared
