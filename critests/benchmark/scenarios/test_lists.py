"""The kubelet's frequent calls: lists, status, statistics, by the number of containers."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import CallFailed, Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Tally, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.list_calls import listing, statistics_of
from critests.benchmark.scenarios.population import Population
from critests.benchmark.scenarios.workloads import pod_cycle
from critests.run.outcomes import Unsupported

NUMBERS = {"smoke": (1, 10), "standard": (1, 10, 50), "full": (1, 10, 50, 100, 250, 500)}
FARTHEST = {"smoke": (), "standard": (), "full": (1000,)}
"""Additional numbers of the unary lists only: creating and removing 500 more containers takes four minutes.
"""
ANNOTATION_BYTES = 64 * 1024
RELIST_SECONDS = 1.0
CHURN_SECONDS = 60.0


@scenario("B-18")
def test_lists_by_number_of_containers(bench: Bench) -> None:
    """ListContainers, ListPodSandbox, ContainerStatus and PodSandboxStatus, by the number of containers on
    the node.
    """
    numbers = (*NUMBERS[bench.profile], *FARTHEST[bench.profile])
    _by_number(bench, listing, "ListContainers", numbers)


@scenario("B-19")
def test_streamed_lists(bench: Bench) -> None:
    """The streamed and the unary lists, with 64 KiB of annotations on every pod."""
    for target in bench.targets:
        _needs_rpc(target, target.runtime.StreamContainers, cri.StreamContainersRequest())
    numbers = NUMBERS[bench.profile]
    _by_number(bench, _streaming, "StreamContainers", numbers, annotation_bytes=ANNOTATION_BYTES)


@scenario("B-20")
def test_relist_during_churn(bench: Bench) -> None:
    """The kubelet's relist during pod churn: two lists and the status of the changed pods, every second."""
    number = NUMBERS[bench.profile][-1]
    with contextlib.ExitStack() as stack:
        for target in bench.targets:
            stack.enter_context(Population.of(target, number))
        bench.sample(_relisting, headline="relist", dimensions={"containers": str(number)})


@scenario("B-21")
def test_statistics_by_number_of_containers(bench: Bench) -> None:
    """ListContainerStats and ListPodSandboxStats, and ListPodSandboxMetrics if implemented, by the number of
    containers.
    """
    _by_number(bench, statistics_of, "ListContainerStats", NUMBERS[bench.profile])


def _by_number(
    bench: Bench,
    workload: Callable[[Population], Workload],
    headline: str,
    numbers: Sequence[int],
    *,
    annotation_bytes: int = 0,
) -> None:
    """Sample a workload while the number of containers grows."""
    with contextlib.ExitStack() as stack:
        populations = {
            id(target): stack.enter_context(Population.of(target, 0, annotation_bytes))
            for target in bench.targets
        }
        for number in numbers:
            for population in populations.values():
                population.grow_to(number)

            def on(target: Target) -> contextlib.AbstractContextManager[Cycle]:
                return workload(populations[id(target)])(target)

            bench.sample(
                on,
                headline=headline,
                dimensions={"containers": str(number)},
                seconds=bench.seconds / len(numbers),
            )


def _streaming(population: Population) -> Workload:
    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        def cycle(meter: Meter) -> None:
            listed = meter.call(
                "ListContainers", target.runtime.ListContainers, cri.ListContainersRequest()
            ).containers
            population.check_complete("ListContainers", {each.id for each in listed})
            _streamed(
                meter, "StreamContainers", target.runtime.StreamContainers, cri.StreamContainersRequest()
            )
            _streamed(
                meter,
                "StreamPodSandboxes",
                target.runtime.StreamPodSandboxes,
                cri.StreamPodSandboxesRequest(),
            )

        yield cycle

    return prepared


# the method and request of any RPC
def _streamed(meter: Meter, operation: str, method: Callable[..., Any], request: Any) -> None:  # noqa: ANN401 - see above
    """Time a streamed list to its first and to its last message."""
    begin = time.perf_counter()
    first = None
    try:
        for _ in method(request, timeout=60):
            first = first or time.perf_counter()
    except grpc.RpcError as error:
        code = error.code().name
        meter.add(operation, time.perf_counter() - begin, begin, code=code)
        raise CallFailed(operation, code, str(error.details())) from error
    end = time.perf_counter()
    meter.add(operation, end - begin, begin)
    meter.add(f"{operation}, first message", (first or end) - begin, begin)


@contextlib.contextmanager
def _relisting(target: Target) -> Iterator[Cycle]:
    known: set[str] = set()
    with _churn(target):

        def cycle(meter: Meter) -> None:
            due = time.monotonic() + RELIST_SECONDS
            with meter.sum("relist"):
                listed = meter.call(
                    "ListPodSandbox", target.runtime.ListPodSandbox, cri.ListPodSandboxRequest()
                ).items
                meter.call("ListContainers", target.runtime.ListContainers, cri.ListContainersRequest())
                current = {sandbox.id for sandbox in listed}
                changed = current - known if known else set()
                for sandbox_id in changed:
                    _status_of_changed(meter, target, sandbox_id)
            known.clear()
            known.update(current)
            meter.add("missed deadline", float(time.monotonic() > due), time.perf_counter(), unit="1")
            time.sleep(max(0.0, due - time.monotonic()))

        yield cycle


def _status_of_changed(meter: Meter, target: Target, sandbox_id: str) -> None:
    """Read the status of a new sandbox; NOT_FOUND is not a failure, because it may have been removed since
    the list. The kubelet's relist tolerates this too.
    """
    try:
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        meter.call("PodSandboxStatus", target.runtime.PodSandboxStatus, request)
    except CallFailed as error:
        if error.code != "NOT_FOUND":
            raise


@contextlib.contextmanager
def _churn(target: Target) -> Iterator[None]:
    """Start and remove one pod after another in a thread."""
    over = threading.Event()
    with pod_cycle(network=False)(target) as cycle:
        tally, unused = Tally(), Meter("", {}, "", 0.0, target.connection.deadlines)

        def churn() -> None:
            while not over.is_set() and not tally.give_up_reason:
                tally.run(cycle, unused)

        thread = threading.Thread(target=churn, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(CHURN_SECONDS)


# the method and request of any RPC
def _needs_rpc(target: Target, method: Callable[..., Any], request: Any) -> None:  # noqa: ANN401 - see above
    """End the scenario as unsupported if the runtime does not implement a streamed list."""
    try:
        for _ in method(request, timeout=10):
            pass
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            msg = f"{target.name} has no streamed lists"
            raise Unsupported(msg) from error
        msg = f"the streamed list failed: {error.code().name}"
        raise NotDone(msg) from error
