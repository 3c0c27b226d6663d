"""Storms: many pods, ends of containers or execs at the same instant, and a node that starts."""

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
from critests.benchmark.scenarios.daemon_restarts import found_again, own_runtime
from critests.benchmark.scenarios.exit_barrier import TO_STATUS, Release, keep_ends, told
from critests.benchmark.scenarios.one_pod import END, START, TimedPod
from critests.benchmark.scenarios.storms import Storm, keep_alone, keep_storm, none_left, none_lost, strike
from critests.benchmark.scenarios.workloads import HOST
from critests.node.starting.throwaway import RuntimeStartFailed

PODS = {"smoke": (5,), "standard": (10, 30), "full": (10, 30, 110)}
ENDS = {"smoke": (10,), "standard": (100,), "full": (10, 50, 100)}
NODE_PODS = {"smoke": (5,), "standard": (50,), "full": (10, 50, 110)}
EXECS = {"smoke": (10,), "standard": (200,), "full": (50, 100, 200)}
PER_SANDBOX = 10
"""Containers of a storm of ends in one sandbox, and containers among which execs are shared out."""
ALL_READY, ALL_GONE, ALL_EXECS = "all pods ready", "all pods gone", "all execs done"
DAEMON_START, NODE_START = "daemon start", "node start"
EXEC_SECONDS = 120


@scenario("B-29")
def test_storm_of_pods(bench: Bench) -> None:
    """Many pods at the same instant, a thread for each: until all of them run, and until all are gone."""
    _sampled(bench, PODS[bench.profile], "pods", ALL_READY, pods_at_once)


@scenario("B-39")
def test_storm_of_ends(bench: Bench) -> None:
    """Containers that end within a second: from the end of each to the list that tells it."""
    _sampled(bench, ENDS[bench.profile], "containers", TO_STATUS, ends_at_once)


@scenario("B-40")
def test_node_start(bench: Bench) -> None:
    """A daemon that has just been started gets all of a node's pods at once: from the first request to the
    last pod that runs.
    """
    for target in bench.targets:
        own_runtime(target)
    _sampled(bench, NODE_PODS[bench.profile], "pods", NODE_START, node_starts)


@scenario("B-41")
def test_storm_of_execs(bench: Bench) -> None:
    """Many ExecSync at the same instant, in ten containers: each has its own output."""
    _sampled(bench, EXECS[bench.profile], "execs", "ExecSync", execs_at_once)


def _sampled(
    bench: Bench, numbers: tuple[int, ...], of: str, headline: str, storm: Callable[[int], Workload]
) -> None:
    """Sample storms of several sizes; a larger one gets more time."""
    for number in numbers:
        bench.sample(
            storm(number),
            headline=headline,
            dimensions={of: str(number)},
            seconds=bench.seconds * number / sum(numbers),
        )


def pods_at_once(number: int) -> Workload:
    """Return the workload of one pod alone, and of pods that begin at the same instant and end at another."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        target.image(PLAIN)

        def cycle(meter: Meter) -> None:
            alone = TimedPod(target)
            try:
                keep_alone(meter, START, alone.start)
                alone.look()
                keep_alone(meter, END, alone.end)
            finally:
                alone.discard()
            _storm_of_pods(target, meter, number)

        yield cycle

    return prepared


def _storm_of_pods(target: Target, meter: Meter, number: int) -> Storm:
    """Start pods at the same instant and end them at another; see in between that every one runs and none is
    lost, and afterwards that nothing is left of any. Return the first half.
    """
    pods = {f"pod {index}": TimedPod(target) for index in range(1, number + 1)}
    names, made = list(pods), list(pods.values())
    try:
        started = strike(names, lambda index, kept: made[index].start(kept), meter)
        keep_storm(meter, started, each=START, whole=ALL_READY)
        for pod in made:
            pod.look()
        sandboxes = {pod.sandbox_id: name for name, pod in pods.items()}
        containers = {pod.container_id: name for name, pod in pods.items()}
        none_lost("ListPodSandbox", sandboxes, _sandboxes(target))
        none_lost("ListContainers", containers, _containers(target))
        ended = strike(names, lambda index, kept: made[index].end(kept), meter)
        keep_storm(meter, ended, each=END, whole=ALL_GONE)
        none_left("ListPodSandbox", sandboxes, _sandboxes(target))
        none_left("ListContainers", containers, _containers(target))
    finally:
        for pod in made:
            pod.discard()
    return started


def _sandboxes(target: Target) -> set[str]:
    listed = target.connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest())
    return {each.id for each in listed.items}


def _containers(target: Target) -> set[str]:
    listed = target.connection.runtime.ListContainers(cri.ListContainersRequest())
    return {each.id for each in listed.containers}


def ends_at_once(number: int) -> Workload:
    """Return the workload of containers that end within a second; starting them is not part of it."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        folder = target.context.run.data_directory / f"release-{target.side or 'only'}-{number}"
        counted = itertools.count(1)
        with contextlib.ExitStack() as held:
            sandboxes = [
                held.enter_context(target.sandbox(namespaces=HOST))
                for _ in range(math.ceil(number / PER_SANDBOX))
            ]

            def cycle(meter: Meter) -> None:
                containers = {}
                with Release(folder, f"go-{next(counted)}") as release:
                    try:
                        for index in range(number):
                            containers[f"container {index + 1}"] = target.running(
                                sandboxes[index // PER_SANDBOX],
                                command=release.command,
                                mounts=[release.mount],
                            )
                        for container in containers.values():
                            container.wait_for_log("ready")
                        released = time.time()
                        release.let_go(number)
                        first = told(target, [container.id for container in containers.values()])
                        keep_ends(meter, target, containers, first, released)
                    finally:
                        for container in containers.values():
                            target.discard_container(container.id)

            yield cycle

    return prepared


def node_starts(number: int) -> Workload:
    """Return the workload of a daemon that is started anew, without any pods, and gets many at once."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        runtime = own_runtime(target)
        target.image(PLAIN)

        def cycle(meter: Meter) -> None:
            runtime.kill(signal.SIGTERM)
            begin = time.perf_counter()
            try:
                runtime.start_again()
            except RuntimeStartFailed as error:
                raise NotDone(str(error)) from error
            found_again(target, runtime)
            meter.keep(DAEMON_START, time.perf_counter() - begin, begin)
            first = time.perf_counter()
            storm = _storm_of_pods(target, meter, number)
            meter.keep(NODE_START, storm.instant + storm.seconds - first, first)

        yield cycle

    return prepared


def execs_at_once(number: int) -> Workload:
    """Return the workload of one command alone, and of many at the same instant, shared out among ten
    containers.
    """

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

            def one(index: int, kept: Meter) -> None:
                answer = kept.call("ExecSync", target.runtime.ExecSync, requests[index], timeout=EXEC_SECONDS)
                own_output(names[index], answer)

            def cycle(meter: Meter) -> None:
                keep_alone(meter, "ExecSync", lambda kept: one(0, kept))
                keep_storm(meter, strike(names, one, meter), each="ExecSync", whole=ALL_EXECS)

            yield cycle

    return prepared


def own_output(name: str, answer: cri.ExecSyncResponse) -> None:
    """See that a command has printed what it was to print, and nothing that another one was to.

    Raises:
        NotDone: it has not.
    """
    if answer.exit_code or answer.stdout != f"{name}\n".encode():
        raise NotDone(
            f"{name} ended with {answer.exit_code} and printed {answer.stdout[:80]!r}, not its own name"
        )
