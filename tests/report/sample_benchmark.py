"""A benchmark run that never took place: deterministic samples of every kind, and the record that belongs to
them.
"""

import dataclasses
import math
import random
from collections.abc import Iterator
from typing import Final

from critests.catalogue.words import Outcome
from critests.record.identity import RuntimeIdentity
from critests.record.operations import BenchmarkFacts, NoiseProbe, OperationResult
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord, Timing
from critests.record.samples import Series
from critests.record.summaries import summarised
from critests.record.tally import count
from critests.record.units import BYTES, BYTES_PER_SECOND, HIGHER, NEITHER, PER_SECOND
from tests.report.sample_run import HOSTILE

STARTED: Final = 1_795_000_000.25
SPEED: Final = {"": 1.0, "a": 1.0, "b": 1.25}
"""How much longer the calls of a side take."""

SCENARIOS: Final = {
    "B-01": ("test_null_call", "The minimal call: Version, which does nothing"),
    "B-02": ("test_run_pod_sandbox", "RunPodSandbox on the pod network, warm"),
    "B-06": ("test_create_and_start", "CreateContainer and StartContainer apart"),
    "B-09": ("test_stop_container", "StopContainer of a process that ends at once"),
    "B-11": ("test_pod_cycle", "The whole life of a pod as the kubelet calls it"),
    "B-13": ("test_exec_sync", "ExecSync of true at rising concurrency"),
    "B-18": ("test_lists", "Lists by the number of containers"),
    "B-23": ("test_pull", "Pull of one layer from a local registry"),
    "B-26": ("test_density", "Memory per pod"),
    "B-28": ("test_throughput", "Pods per second at rising concurrency"),
}
OUTCOMES: Final = {
    "B-22": ("test_event_delivery", Outcome.UNSUPPORTED, "GetContainerEvents is Unimplemented"),
    "B-33": ("test_restart", Outcome.BLOCKED, "needs a private runtime: --node"),
    "B-34": ("test_soak", Outcome.FAILED, f"every call failed: UNAVAILABLE: {HOSTILE}"),
}
REFERENCE: Final = {"create": 0.021, "start": 0.009, "kill": 0.004, "delete": 0.006, "cycle": 0.040}


def sample_series(*, sides: bool = False, size: int = 1200) -> list[Series]:
    """Return series of every kind that reports show.

    Args:
        sides: Each twice, as a live comparison has them: `b` is 25 % slower.
        size: Samples of the larger series.
    """
    return [series for side in (("a", "b") if sides else ("",)) for series in _series(side, size)]


def sample_benchmark(
    *, sides: bool = False, size: int = 1200, **changes: object
) -> tuple[RunRecord, list[Series]]:
    """Return a record and its series; `changes` replace fields of the record."""
    series = sample_series(sides=sides, size=size)
    tests = list(_tests())
    record = RunRecord(
        kind="benchmark",
        run_id="1795000000-b3c4d5",
        suite_version="0.1.0",
        started=STARTED,
        finished=STARTED + 871.4,
        arguments=["bench", "--profile", "standard", "--seed", "7"],
        runtime=_runtime("1.6.20~ds1"),
        machine={
            "kernel": "6.18.0",
            "architecture": "x86_64",
            "cpu": {"model": "Example CPU 9000", "count": 2},
            "memory_bytes": 8_323_444_736,
            "cgroup": {"version": 1, "driver": "cgroupfs"},
            "virtualisation": "kvm",
        },
        tests=tests,
        counts=count(tests, {}),
        exit_code=1,
        exit_reason=("10 scenarios were measured; 1 failed because of the runtime; 2 cannot run here"),
        notes=["the daemon was started for this run"],
        timing=Timing(startup_seconds=1.4, wall_seconds=871.4, harness_cpu_seconds=61.0),
        operations=[_result(each) for each in series],
        benchmark=BenchmarkFacts(
            profile="standard",
            seed=7,
            budget_seconds=900.0,
            sides={"a": _runtime("1.6.20~ds1"), "b": _runtime("2.1.4")} if sides else {},
            client_seconds={"Version": 0.000212, "RunPodSandbox": 0.000241, "ListContainers": 0.000318},
            reference_seconds=dict(REFERENCE),
            noise=[
                NoiseProbe(name="spin", median_seconds=0.0100, p99_seconds=0.0131, count=200),
                NoiseProbe(name="fsync", median_seconds=0.0008, p99_seconds=0.0042, count=200),
                NoiseProbe(name="fork", median_seconds=0.0011, p99_seconds=0.0019, count=200),
            ],
            steal_share=0.018,
        ),
    )
    # a test names real fields
    return dataclasses.replace(record, **changes), series  # type: ignore[arg-type]  # see above


def latencies(
    name: str,
    middle: float,
    size: int,
    *,
    spread: float = 0.15,
    tail: float = 0.03,
    warm_up: int = 0,
    side: str = "",
) -> list[float]:
    """Return durations in seconds: log-normal, a tail of slow ones, and slower ones at the start.

    Args:
        name: Seeds the randomness.
        middle: Median in seconds.
        size: How many.
        spread: Of the logarithm.
        tail: Share of samples that take about twice as long.
        warm_up: How many samples at the start are slower.
        side: Side of a comparison.
    """
    chance = random.Random(f"{name} {side}")  # noqa: S311 - samples, not secrets
    found = []
    for index in range(size):
        value = middle * SPEED[side] * math.exp(chance.gauss(0, spread))
        if chance.random() < tail:
            value *= 1.6 + chance.random() * 1.5
        if index < warm_up:
            value *= 1 + 1.5 * math.exp(-index / max(warm_up / 3, 1))
        found.append(value)
    return found


def _filled(
    series: Series, values: list[float], *, start: float = 0.0, codes: dict[int, str] | None = None
) -> Series:
    clock = start
    for index, value in enumerate(values):
        series.add(
            value, clock, code=(codes or {}).get(index, "OK"), block=index // 20 if series.side else -1
        )
        clock += value * 1.2 if series.unit == "s" else 1.0
    return series


def _series(side: str, size: int) -> Iterator[Series]:
    yield _timed("B-01", "Version", 0.00061, size * 2, side, warm_up=40)
    yield _timed("B-02", "RunPodSandbox", 0.137, max(size // 4, 20), side, warm_up=9, network="pod")
    for phase, share in (("cni", 0.082), ("oci", 0.027), ("rest", 0.028)):
        yield _timed("B-02", "RunPodSandbox", share, max(size // 4, 20), side, phase=phase)
    yield _timed("B-06", "CreateContainer", 0.031, size, side, warm_up=25)
    yield _timed("B-06", "StartContainer", 0.036, size, side, warm_up=25)
    failing = {index: "DEADLINE_EXCEEDED" if index % 2 else "UNKNOWN" for index in range(30, size, 97)}
    yield _filled(
        Series(scenario="B-09", operation="StopContainer", side=side, warm_up=5),
        latencies("stop", 0.012, size // 2, spread=0.5, side=side),
        codes=failing,
    )
    yield _timed("B-11", "pod cycle", 0.391, max(size // 8, 12), side)
    for level in (1, 2, 4, 8, 16, 32, 64):
        value = 410 * level / (1 + 0.09 * (level - 1) + 0.0009 * level * (level - 1))
        yield _rate("B-13", "ExecSync", value, side, level)
        yield _timed("B-13", "ExecSync", level / value, max(size // 3, 20), side, concurrency=str(level))
    for number in (1, 10, 50, 100, 250, 500, 1000):
        yield _timed(
            "B-18",
            "ListContainers",
            0.0009 + number * 2.3e-5,
            size if number < 500 else 60,
            side,
            containers=str(number),
        )
        yield _timed(
            "B-18",
            "ListPodSandbox",
            0.0008 + number * 1.1e-5,
            max(size // 4, 20),
            side,
            containers=str(number),
        )
    chance = random.Random(f"pull {side}")  # noqa: S311 - samples, not secrets
    yield _filled(
        Series(
            scenario="B-23",
            operation="PullImage",
            dimensions={"compression": "gzip"},
            unit=BYTES_PER_SECOND,
            better=HIGHER,
            side=side,
        ),
        [41e6 * chance.uniform(0.9, 1.1) / SPEED[side] for _ in range(12)],
    )
    for part, size_of in (("daemon", 0.42e6), ("shim", 9.8e6), ("pause", 0.31e6)):
        yield _filled(
            Series(
                scenario="B-26", operation="memory per pod", dimensions={"part": part}, unit=BYTES, side=side
            ),
            [size_of * chance.uniform(0.97, 1.03) for _ in range(8)],
        )
    yield Series(
        scenario="B-26", operation="pods", unit="1", better=NEITHER, side=side, value=[110.0], at=[0.0]
    )
    for level in (1, 2, 4, 8, 16, 32):
        yield _rate(
            "B-28",
            "pod cycle",
            2.5 * level / (1 + 0.31 * (level - 1) + 0.004 * level * (level - 1)),
            side,
            level,
        )


def _timed(
    scenario: str, operation: str, middle: float, size: int, side: str, *, warm_up: int = 0, **dimensions: str
) -> Series:
    series = Series(scenario=scenario, operation=operation, dimensions=dimensions, side=side, warm_up=warm_up)
    return _filled(
        series, latencies(f"{scenario} {operation} {dimensions}", middle, size, warm_up=warm_up, side=side)
    )


def _rate(scenario: str, operation: str, value: float, side: str, level: int) -> Series:
    series = Series(
        scenario=scenario,
        operation=operation,
        dimensions={"concurrency": str(level)},
        unit=PER_SECOND,
        better=HIGHER,
        side=side,
    )
    chance = random.Random(f"{scenario} {level} {side}")  # noqa: S311 - samples, not secrets
    return _filled(series, [value / SPEED[side] * chance.uniform(0.97, 1.03) for _ in range(5)])


def _result(series: Series) -> OperationResult:
    found = summarised(series)
    timed = series.unit == "s" and "phase" not in series.dimensions
    middle = found.quantiles["0.5"].value if "0.5" in found.quantiles else math.inf
    client = (
        {"Version": 0.000212, "ListContainers": 0.000318, "ListPodSandbox": 0.00031}.get(
            series.operation, 0.00024
        )
        if timed
        else None
    )
    step = {
        "RunPodSandbox": "cycle",
        "CreateContainer": "create",
        "StartContainer": "start",
        "pod cycle": "cycle",
    }.get(series.operation)
    enough = found.count >= 100
    return dataclasses.replace(
        found,
        headline=series.scenario in {"B-02", "B-06", "B-11"} and "phase" not in series.dimensions,
        steadiness="steady" if series.warm_up else "too short to tell",
        stopped=(
            ""
            if not timed
            else "the interval of the median is within 2 %"
            if enough
            else "the budget of 30 s was used up"
        ),
        client_seconds=client,
        client_bound=client is not None and client > middle / 3,
        over_reference=middle / REFERENCE[step] if step and timed else None,
        resources=(
            {
                "daemon_cpu_seconds": middle * 0.21,
                "shim_cpu_seconds": middle * 0.4,
                "daemon_io_bytes": 61_440.0,
            }
            if series.operation in {"RunPodSandbox", "pod cycle"} and timed
            else {}
        ),
        note=(
            "the first 5 calls created the network's bridge"
            if series.operation == "RunPodSandbox" and timed
            else ""
        ),
    )


def _runtime(version: str) -> RuntimeIdentity:
    endpoint = "unix:///run/containerd/containerd.sock"
    return RuntimeIdentity(
        name="containerd",
        version=version,
        api_version="v1",
        endpoint=endpoint,
        image_endpoint=endpoint,
        handlers=["", "crun"],
        pid=4242,
    )


def _tests() -> Iterator[TestResult]:
    outcomes = {scenario: (name, Outcome.PASSED, "") for scenario, (name, _) in SCENARIOS.items()} | OUTCOMES
    for number, (scenario, (name, outcome, reason)) in enumerate(sorted(outcomes.items())):
        yield TestResult(
            id=f"benchmark/test_scenarios.py::{name}",
            name=name,
            area="benchmark",
            group=scenario,
            title=SCENARIOS.get(scenario, ("", "A scenario that was not measured"))[1],
            outcome=outcome,
            reason=reason,
            started=STARTED + number * 60,
            seconds=58.2,
            repeat_command=f"critests bench --select {scenario}",
        )
