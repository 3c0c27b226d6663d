"""Whole pods: the pod cycle of the kubelet, cold starts, and cycles while idle pods run."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios import pulls
from critests.benchmark.scenarios.workloads import create_and_start, pod_cycle
from critests.lifecycle.container_log import lines, read
from critests.record.comparison_questions import CPU_TIME
from critests.run.outcomes import blocked

CLOCK = ("/bin/clock",)
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
IDLE_PODS = {"smoke": (), "standard": (20,), "full": (50, 200)}


@scenario("B-08")
def test_time_to_first_instruction_and_line(bench: Bench) -> None:
    """From the call of StartContainer to the container's first instruction, and to its first line in the
    log.
    """
    bench.sample(_first_line, headline="first log line")


@scenario("B-11")
def test_pod_cycle(bench: Bench) -> None:
    """The lifecycle of one pod with one container, with the kubelet's status calls."""
    reference = bench.oci_runtime_seconds(**{"pod cycle": ("cycle",)})
    bench.sample(_with_cpu_time(bench, pod_cycle()), headline="pod cycle", reference=reference)


@scenario("B-12")
def test_cold_start(bench: Bench) -> None:
    """A pod after the page cache was dropped; and one whose image is not present."""
    half = bench.seconds / 2
    bench.sample(_without_page_cache, headline="pod start", dimensions={"cold": "page cache"}, seconds=half)
    bench.sample(_without_image, headline="pod start", dimensions={"cold": "image"}, seconds=half)


@scenario("B-31")
def test_pod_cycle_by_idle_pods(bench: Bench) -> None:
    """The pod cycle by the number of idle pods; 0 is the baseline."""
    numbers = (0, *IDLE_PODS[bench.profile])
    for number in numbers:
        workload = _with_idle_pods(number)
        bench.sample(
            workload,
            headline="pod cycle",
            dimensions={"idle pods": str(number)},
            seconds=bench.seconds / len(numbers),
        )


def _with_cpu_time(bench: Bench, workload: Workload) -> Workload:
    """Return a workload that stores the CPU time of the runtime from each cycle to its next one: what the
    daemon does after its last response belongs to the cycle.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        used_so_far = bench.account_usage(target)
        earlier: list[float] = []
        with workload(target) as once:

            def cycle(meter: Meter) -> None:
                used = used_so_far().get("cpu_seconds")
                if used is not None:
                    if earlier and used > earlier[-1]:
                        meter.add(CPU_TIME, used - earlier[-1], time.perf_counter())
                    earlier[:] = [used]
                once(meter)

            yield cycle

    return prepared


@contextlib.contextmanager
def _first_line(target: Target) -> Iterator[Cycle]:
    image = target.image("tools")
    with target.sandbox() as sandbox:

        def cycle(meter: Meter) -> None:
            request = target.container_request(sandbox.id, sandbox.config, image=image, command=CLOCK)
            container_id = target.connection.runtime.CreateContainer(request).container_id
            try:
                meter.call(
                    "StartContainer",
                    target.runtime.StartContainer,
                    cri.StartContainerRequest(container_id=container_id),
                )
                begin, _ = meter.windows["StartContainer"]
                target.wait_for_output(sandbox.config, request.config)
                logged = time.perf_counter()
                meter.add(
                    "first instruction",
                    _instant(Path(sandbox.config.log_directory, request.config.log_path)) - begin,
                    begin,
                )
                meter.add("first log line", logged - begin, begin)
            finally:
                target.discard_container(container_id)

        yield cycle


def _instant(log: Path) -> float:
    """Return the monotonic time that the container printed, in seconds."""
    printed = b"\n".join(lines(read(log))).decode(errors="replace")
    if not printed.strip().isdigit():
        msg = f"the container printed {printed[:80]!r} and not the time"
        raise NotDone(msg)
    return int(printed) / 1e9


@contextlib.contextmanager
def _without_page_cache(target: Target) -> Iterator[Cycle]:
    try:
        DROP_CACHES.write_text("3\n", encoding="utf-8")
    except OSError as error:
        blocked(f"the page cache cannot be dropped here: {error}")
    with pod_cycle()(target) as warm:

        def cycle(meter: Meter) -> None:
            DROP_CACHES.write_text("3\n", encoding="utf-8")
            warm(meter)

        yield cycle


@contextlib.contextmanager
def _without_image(target: Target) -> Iterator[Cycle]:
    pulls.registry_of(target)

    def cycle(meter: Meter) -> None:
        minted = pulls.mint(target)
        request = target.sandbox_request()
        sandbox_id = ""
        try:
            with meter.sum("pod start"):
                sandbox_id = meter.call("RunPodSandbox", target.runtime.RunPodSandbox, request).pod_sandbox_id
                image = pulls.pull(target, meter, minted)
                create = target.container_request(sandbox_id, request.config, image=image)
                create_and_start(target, meter, create)
            target.wait_for_output(request.config, create.config)
        finally:
            if sandbox_id:
                target.discard(sandbox_id)
            pulls.remove_image(target, minted)

    yield cycle


def _with_idle_pods(number: int) -> Workload:
    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with contextlib.ExitStack() as stack:
            for _ in range(number):
                target.running(stack.enter_context(target.sandbox()))
            yield stack.enter_context(pod_cycle()(target))

    return prepared
