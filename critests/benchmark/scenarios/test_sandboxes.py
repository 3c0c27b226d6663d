"""Sandboxes: on the pod network, on the host network, in a user namespace, and their removal with
containers.
"""

import contextlib
from collections.abc import Iterator

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.pod_start_phases import can_be_split, starting, wrapped
from critests.benchmark.scenarios.workloads import sandbox_cycle, stop_and_remove_sandbox
from critests.catalogue.words import Capability
from critests.node.starting.throwaway import RuntimeStartFailed

SHARE_BY_CONTAINERS = {0: 1, 1: 1, 5: 2, 20: 4}
"""Number of containers to its share of the time: a cycle with more containers takes longer."""
PHASES_SHARE = 0.25


@scenario("B-02")
def test_sandbox_on_the_pod_network(bench: Bench) -> None:
    """Run, stop and remove a sandbox on the pod network; and, on a throwaway runtime, the phases of a pod
    start.
    """
    split = all(can_be_split(target) for target in bench.targets)
    bench.sample(
        sandbox_cycle(), headline="RunPodSandbox", seconds=bench.seconds * (1 - PHASES_SHARE if split else 1)
    )
    if not split:
        return
    with contextlib.ExitStack() as stack:
        try:
            pairs = [stack.enter_context(wrapped(target)) for target in bench.targets]
        except RuntimeStartFailed as error:
            bench.target.context.notes.append(f"the phases of a pod start were not measured: {error.reason}")
            return
        # the headline has samples only by phase, so no interval stops the sampling before the budget ends
        sides = [side for side, _ in pairs]
        bench.sample(
            starting(pairs), headline="RunPodSandbox", seconds=bench.seconds * PHASES_SHARE, targets=sides
        )


@scenario("B-03")
def test_sandbox_on_the_host_network(bench: Bench) -> None:
    """Run, stop and remove a sandbox on the host network: the difference to B-02 is the cost of the pod
    network.
    """
    bench.sample(sandbox_cycle(network=False), headline="RunPodSandbox", dimensions={"network": "host"})


@scenario("B-04")
def test_sandbox_in_a_user_namespace(bench: Bench) -> None:
    """Run, stop and remove a sandbox with its own user namespace."""
    for target in bench.targets:
        target.require(Capability.USER_NAMESPACES)
    bench.sample(
        sandbox_cycle(user_namespace=True), headline="RunPodSandbox", dimensions={"users": "own namespace"}
    )


@scenario("B-05")
def test_end_of_a_sandbox_with_containers(bench: Bench) -> None:
    """Stop and remove a sandbox with running containers, by their number."""
    shares = {
        number: share
        for number, share in SHARE_BY_CONTAINERS.items()
        if bench.profile != "smoke" or number < 5
    }
    for number, share in shares.items():
        seconds = bench.seconds * share / sum(shares.values())
        bench.sample(
            _full_sandbox(number),
            headline="StopPodSandbox",
            dimensions={"containers": str(number)},
            seconds=seconds,
        )


def _full_sandbox(containers: int) -> Workload:
    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        def cycle(meter: Meter) -> None:
            with target.sandbox() as sandbox:
                for _ in range(containers):
                    target.running(sandbox)
                stop_and_remove_sandbox(target, meter, sandbox.id)

        yield cycle

    return prepared
