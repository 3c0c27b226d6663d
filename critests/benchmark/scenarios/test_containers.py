"""Containers: time to create, start, stop, update and remove them, and what it depends on."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import check_exited, check_removed, container_lifecycle
from critests.lifecycle.requests import ContainerOptions

GRACE_SECONDS = 1
STUBBORN = ("/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 60; done")
MANY_CHILDREN = (
    "/bin/sh",
    "-c",
    "for i in $(seq 50); do sleep 3600 & done; trap 'kill $(jobs -p); exit 0' TERM; echo ready; wait",
)
ITEMS = (0, 10, 100)


@scenario("B-06")
def test_container_lifecycle(bench: Bench) -> None:
    """Create, start, stop and remove a container that exits on SIGTERM, in the same sandbox."""
    reference = bench.oci_runtime_seconds(**{"create and start": ("create", "start")})
    bench.sample(container_lifecycle, headline="StartContainer", reference=reference)


@scenario("B-07")
def test_create_by_what_is_in_it(bench: Bench) -> None:
    """CreateContainer by number of layers of the image, of mounts, and of variables."""
    cases: list[tuple[dict[str, str], Callable[[Target], dict[str, Any]]]] = [
        ({"layers": "1"}, lambda _: {}),
        (
            {"layers": "41"},
            lambda target: {"image": target.image("many-layers"), "command": ("sleep", "3600")},
        ),
    ]
    cases += [({"mounts": str(number)}, _mounts(number)) for number in ITEMS]
    cases += [({"variables": str(number)}, _variables(number)) for number in ITEMS[1:]]
    for dimensions, options in cases:
        bench.sample(
            _creation(options),
            headline="CreateContainer",
            dimensions=dimensions,
            seconds=bench.seconds / len(cases),
        )


@scenario("B-09")
def test_stop_beyond_the_ideal(bench: Bench) -> None:
    """StopContainer of a process that exits on SIGTERM, of one that ignores it (time beyond the grace
    period), and of one with fifty children.
    """
    third = bench.seconds / 3
    bench.sample(
        _stopping(None, 0), headline="StopContainer", dimensions={"process": "obedient"}, seconds=third
    )
    bench.sample(
        _stopping(STUBBORN, GRACE_SECONDS),
        headline="overshoot",
        dimensions={"process": "stubborn"},
        seconds=third,
    )
    bench.sample(
        _stopping(MANY_CHILDREN, 0),
        headline="StopContainer",
        dimensions={"process": "fifty children"},
        seconds=third,
    )


@scenario("B-10")
def test_remove_by_what_was_written(bench: Bench) -> None:
    """RemoveContainer by size of the writable layer and number of files in it."""
    cases = {
        "nothing": "true",
        "64 MB": "dd if=/dev/zero of=/big bs=1M count=64 2>/dev/null",
        "5000 files": "mkdir /many; cd /many; i=0; while [ $i -lt 5000 ]; do : > $i; i=$((i+1)); done",
    }
    if bench.profile == "full":
        cases["1 GB"] = "dd if=/dev/zero of=/big bs=1M count=1024 2>/dev/null"
        cases["100000 files"] = (
            "mkdir /many; cd /many; i=0; while [ $i -lt 100000 ]; do : > $i; i=$((i+1)); done"
        )
    for written, script in cases.items():
        bench.sample(
            _removal(script),
            headline="RemoveContainer",
            dimensions={"written": written},
            seconds=bench.seconds / len(cases),
        )


@scenario("B-32")
def test_update_of_resources(bench: Bench) -> None:
    """UpdateContainerResources of a running container."""
    bench.sample(_updating, headline="UpdateContainerResources")


def _creation(options: Callable[[Target], dict[str, Any]]) -> Workload:
    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        container_options = options(target)
        with target.sandbox() as sandbox:

            def cycle(meter: Meter) -> None:
                request = target.container_request(sandbox.id, sandbox.config, **container_options)
                container_id = meter.call(
                    "CreateContainer", target.runtime.CreateContainer, request
                ).container_id
                target.discard_container(container_id)

            yield cycle

    return prepared


def _mounts(number: int) -> Callable[[Target], dict[str, Any]]:
    def options(target: Target) -> dict[str, Any]:
        source = target.context.run.data_directory / "mounted"
        source.mkdir(parents=True, exist_ok=True)
        return {
            "mounts": [
                cri.Mount(host_path=str(source), container_path=f"/mounted/{index}")
                for index in range(number)
            ]
        }

    return options


def _variables(number: int) -> Callable[[Target], dict[str, Any]]:
    return lambda _: {"envs": {f"VARIABLE_{index}": f"value {index}" for index in range(number)}}


def _stopping(command: tuple[str, ...] | None, grace: int) -> Workload:
    options = ContainerOptions(command=command) if command else ContainerOptions()

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox() as sandbox:

            def cycle(meter: Meter) -> None:
                container = target.running(sandbox, **options)
                if command:
                    container.wait_for_log("ready")
                try:
                    request = cri.StopContainerRequest(container_id=container.id, timeout=grace or 30)
                    meter.call("StopContainer", target.runtime.StopContainer, request)
                    begin, took = meter.windows["StopContainer"]
                    if grace:
                        # comparisons need samples above 0
                        meter.add("overshoot", max(took - grace, 1e-6), begin)
                    check_exited(target, container.id)
                finally:
                    target.discard_container(container.id)

            yield cycle

    return prepared


def _removal(script: str) -> Workload:
    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox() as sandbox:

            def cycle(meter: Meter) -> None:
                container = target.running(sandbox, command=("/bin/sh", "-c", script))
                container.exited(120)
                request = cri.RemoveContainerRequest(container_id=container.id)
                meter.call("RemoveContainer", target.runtime.RemoveContainer, request)
                check_removed(target, container.id)

            yield cycle

    return prepared


@contextlib.contextmanager
def _updating(target: Target) -> Iterator[Cycle]:
    with target.sandbox() as sandbox:
        container = target.running(sandbox)
        shares = iter(range(2, 1 << 30))

        def cycle(meter: Meter) -> None:
            # each update changes the value
            resources = cri.LinuxContainerResources(
                cpu_shares=100 + next(shares) % 900, cpu_period=100_000, cpu_quota=50_000
            )
            request = cri.UpdateContainerResourcesRequest(container_id=container.id, linux=resources)
            meter.call("UpdateContainerResources", target.runtime.UpdateContainerResources, request)
            status = target.container_status(container.id)
            reported = status.resources.linux.cpu_shares if status is not None else 0
            if reported not in {
                0,
                resources.cpu_shares,
            }:  # 0: the runtime is older than `resources` in ContainerStatus
                msg = (
                    f"UpdateContainerResources set cpu_shares to {resources.cpu_shares}, and ContainerStatus"
                    f" reports {reported}"
                )
                raise NotDone(msg)

        yield cycle
