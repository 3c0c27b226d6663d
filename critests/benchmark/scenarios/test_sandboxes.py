"""Sandboxes: on the pod network, without it, in a user namespace, and their end with containers in them."""

import contextlib
from collections.abc import Iterator

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.pod_start_phases import can_be_split, starting, wrapped
from critests.benchmark.scenarios.workloads import end_sandbox, sandbox_cycle
from critests.catalogue.words import Capability
from critests.node.starting.throwaway import RuntimeStartFailed

SHARE_BY_CONTAINERS = {0: 1, 1: 1, 5: 2, 20: 4}
"""Of the time: the more containers, the longer a cycle."""
PHASES_SHARE = 0.25


@scenario("B-02")
def test_sandbox_on_the_pod_network(bench: Bench) -> None:
    """Run, stop and remove a sandbox with an address of its own; and, on a throwaway runtime, where the time
    of a pod start goes.
    """
    split = all(can_be_split(target) for target in bench.targets)
    bench.sample(
        sandbox_cycle(), headline="RunPodSandbox", seconds=bench.seconds * (1 - PHASES_SHARE if split else 1)
    )
    if not split:
        return
    with contextlib.ExitStack() as held:
        try:
            pairs = [held.enter_context(wrapped(target)) for target in bench.targets]
        except RuntimeStartFailed as error:
            bench.target.context.notes.append(f"the phases of a pod start were not measured: {error.reason}")
            return
        # what decides is an operation that only exists by phase, so the whole share of time is used
        sides = [side for side, _ in pairs]
        bench.sample(
            starting(pairs), headline="RunPodSandbox", seconds=bench.seconds * PHASES_SHARE, targets=sides
        )


@scenario("B-03")
def test_sandbox_on_the_host_network(bench: Bench) -> None:
    """Run, stop and remove a sandbox on the host's network: beside B-02 it shows what the pod network
    costs.
    """
    bench.sample(sandbox_cycle(network=False), headline="RunPodSandbox", dimensions={"network": "host"})


@scenario("B-04")
def test_sandbox_in_a_user_namespace(bench: Bench) -> None:
    """Run, stop and remove a sandbox whose root is nobody outside."""
    for target in bench.targets:
        target.needs(Capability.USER_NAMESPACES)
    bench.sample(
        sandbox_cycle(user_namespace=True), headline="RunPodSandbox", dimensions={"users": "own namespace"}
    )


@scenario("B-05")
def test_end_of_a_sandbox_with_containers(bench: Bench) -> None:
    """Stop and remove a sandbox in which containers still run, by their number."""
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
                end_sandbox(target, meter, sandbox.id)

        yield cycle

    return prepared
