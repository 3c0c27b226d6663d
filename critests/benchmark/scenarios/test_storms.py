"""Storms: simultaneous pods, container exits or execs, and the start of a node."""

import contextlib
import itertools
import math
import signal
import time
from collections.abc import Callable, Iterator

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import PLAIN, Target
from critests.benchmark.scenarios.daemon_restarts import reconnect, throwaway_runtime_of
from critests.benchmark.scenarios.exit_barrier import (
    TO_STATUS,
    ExitBarrier,
    add_exit_latencies,
    wait_for_exits,
)
from critests.benchmark.scenarios.one_pod import END, START, TimedPod
from critests.benchmark.scenarios.storms import (
    Storm,
    add_storm,
    check_none_left,
    check_none_lost,
    measure_alone,
    run_storm,
)
from critests.benchmark.scenarios.workloads import HOST
from critests.node.starting.throwaway import RuntimeStartFailed

PODS = {"smoke": (5,), "standard": (10, 30), "full": (10, 30, 110)}
ENDS = {"smoke": (10,), "standard": (100,), "full": (10, 50, 100)}
NODE_PODS = {"smoke": (5,), "standard": (50,), "full": (10, 50, 110)}
EXECS = {"smoke": (10,), "standard": (200,), "full": (50, 100, 200)}
PER_SANDBOX = 10
"""Containers per sandbox in a storm of exits, and containers that share the execs of a storm."""
ALL_READY, ALL_GONE, ALL_EXECS = "all pods ready", "all pods gone", "all execs done"
DAEMON_START, NODE_START = "daemon start", "node start"
EXEC_SECONDS = 120


@scenario("B-29")
def test_storm_of_pods(bench: Bench) -> None:
    """Many simultaneous pods: time until all run, and until all are removed."""
    _sampled(bench, PODS[bench.profile], "pods", ALL_READY, pods_at_once)


@scenario("B-39")
def test_storm_of_ends(bench: Bench) -> None:
    """Containers that exit within a second: time from the exit of each to the list that reports it."""
    _sampled(bench, ENDS[bench.profile], "containers", TO_STATUS, ends_at_once)


@scenario("B-40")
def test_node_start(bench: Bench) -> None:
    """All pods of a node start simultaneously on a new daemon: time from the first request until the last pod
    runs.
    """
    for target in bench.targets:
        throwaway_runtime_of(target)
    _sampled(bench, NODE_PODS[bench.profile], "pods", NODE_START, node_starts)


@scenario("B-41")
def test_storm_of_execs(bench: Bench) -> None:
    """Many simultaneous ExecSync calls in ten containers, each with its own output."""
    _sampled(bench, EXECS[bench.profile], "execs", "ExecSync", execs_at_once)


def _sampled(
    bench: Bench, numbers: tuple[int, ...], of: str, headline: str, storm: Callable[[int], Workload]
) -> None:
    """Sample storms of several sizes, with time in proportion to the size."""
    for number in numbers:
        bench.sample(
            storm(number),
            headline=headline,
            dimensions={of: str(number)},
            seconds=bench.seconds * number / sum(numbers),
        )


def pods_at_once(number: int) -> Workload:
    """Return the workload of one pod alone, and of pods that start and are removed simultaneously."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        target.image(PLAIN)

        def cycle(meter: Meter) -> None:
            alone = TimedPod(target)
            try:
                measure_alone(meter, START, alone.start)
                alone.check_running()
                measure_alone(meter, END, alone.end)
            finally:
                alone.discard()
            _storm_of_pods(target, meter, number)

        yield cycle

    return prepared


def _storm_of_pods(target: Target, meter: Meter, number: int) -> Storm:
    """Start pods simultaneously, check that all run and none is lost, remove them simultaneously, and check
    that none is left. Return the storm of the starts.
    """
    pods = {f"pod {index}": TimedPod(target) for index in range(1, number + 1)}
    names, timed_pods = list(pods), list(pods.values())
    try:
        started = run_storm(names, lambda index, own: timed_pods[index].start(own), meter)
        add_storm(meter, started, each=START, whole=ALL_READY)
        for pod in timed_pods:
            pod.check_running()
        sandboxes = {pod.sandbox_id: name for name, pod in pods.items()}
        containers = {pod.container_id: name for name, pod in pods.items()}
        check_none_lost("ListPodSandbox", sandboxes, _sandboxes(target))
        check_none_lost("ListContainers", containers, _containers(target))
        ended = run_storm(names, lambda index, own: timed_pods[index].end(own), meter)
        add_storm(meter, ended, each=END, whole=ALL_GONE)
        check_none_left("ListPodSandbox", sandboxes, _sandboxes(target))
        check_none_left("ListContainers", containers, _containers(target))
    finally:
        for pod in timed_pods:
            pod.discard()
    return started


def _sandboxes(target: Target) -> set[str]:
    listed = target.connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest())
    return {each.id for each in listed.items}


def _containers(target: Target) -> set[str]:
    listed = target.connection.runtime.ListContainers(cri.ListContainersRequest())
    return {each.id for each in listed.containers}


def ends_at_once(number: int) -> Workload:
    """Return the workload of containers that exit within a second; their start is not measured."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        folder = target.context.run.data_directory / f"release-{target.side or 'only'}-{number}"
        counted = itertools.count(1)
        with contextlib.ExitStack() as stack:
            sandboxes = [
                stack.enter_context(target.sandbox(namespaces=HOST))
                for _ in range(math.ceil(number / PER_SANDBOX))
            ]

            def cycle(meter: Meter) -> None:
                containers = {}
                with ExitBarrier(folder, f"go-{next(counted)}") as barrier:
                    try:
                        for index in range(number):
                            containers[f"container {index + 1}"] = target.running(
                                sandboxes[index // PER_SANDBOX],
                                command=barrier.command,
                                mounts=[barrier.mount],
                            )
                        for container in containers.values():
                            container.wait_for_log("ready")
                        released = time.time()
                        barrier.release(number)
                        first = wait_for_exits(target, [container.id for container in containers.values()])
                        add_exit_latencies(meter, target, containers, first, released)
                    finally:
                        for container in containers.values():
                            target.discard_container(container.id)

            yield cycle

    return prepared


def node_starts(number: int) -> Workload:
    """Return the workload of a restarted daemon without pods, on which many pods start simultaneously."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        runtime = throwaway_runtime_of(target)
        target.image(PLAIN)

        def cycle(meter: Meter) -> None:
            runtime.kill(signal.SIGTERM)
            begin = time.perf_counter()
            try:
                runtime.start_again()
            except RuntimeStartFailed as error:
                raise NotDone(str(error)) from error
            reconnect(target, runtime)
            meter.add(DAEMON_START, time.perf_counter() - begin, begin)
            first = time.perf_counter()
            storm = _storm_of_pods(target, meter, number)
            meter.add(NODE_START, storm.instant + storm.seconds - first, first)

        yield cycle

    return prepared


def execs_at_once(number: int) -> Workload:
    """Return the workload of one command alone, and of many simultaneous ones in ten containers."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            containers = [target.running(sandbox) for _ in range(PER_SANDBOX)]
            names = [f"exec {index + 1}" for index in range(number)]
            requests = [
                cri.ExecSyncRequest(
                    container_id=containers[index % PER_SANDBOX].id,
                    cmd=("echo", name),
                    timeout=EXEC_SECONDS,
                )
                for index, name in enumerate(names)
            ]

            def execute(index: int, own: Meter) -> None:
                response = own.call(
                    "ExecSync", target.runtime.ExecSync, requests[index], timeout=EXEC_SECONDS
                )
                check_output(names[index], response)

            def cycle(meter: Meter) -> None:
                measure_alone(meter, "ExecSync", lambda own: execute(0, own))
                add_storm(meter, run_storm(names, execute, meter), each="ExecSync", whole=ALL_EXECS)

            yield cycle

    return prepared


def check_output(name: str, response: cri.ExecSyncResponse) -> None:
    """Check that a command printed its own name.

    Raises:
        NotDone: it failed, or printed something else.
    """
    if response.exit_code or response.stdout != f"{name}\n".encode():
        raise NotDone(
            f"{name} ended with {response.exit_code} and printed {response.stdout[:80]!r}, not its own name"
        )
