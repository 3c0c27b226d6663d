"""Sides without a runtime: calls with a chosen duration, or failures."""

import contextlib
import random
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, ReferenceTimes
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenario_profiles import SCENARIOS
from critests.client.deadlines import Deadlines
from tests.refused import Refused


class FakeTarget:
    """The part of `Target` that sampling uses."""

    def __init__(self, side: str = "", pid: int | None = None) -> None:
        self.side = side
        self.handler = ""
        self.context = SimpleNamespace(daemon_pid=pid)
        self.connection = SimpleNamespace(deadlines=Deadlines())
        self.swept = 0
        self.calls = 0

    def remove_pod_cgroups(self) -> None:
        self.swept += 1


def answering(seconds: float = 0.0, failing: "frozenset[int] | set[int]" = frozenset()) -> Any:  # noqa: ANN401 - stands for any RPC of a stub
    """Return an RPC with a duration, which fails at the calls with the given numbers, counted from 1."""
    calls = 0

    def call(_request: object, timeout: float) -> cri.VersionResponse:
        nonlocal calls
        assert timeout > 0
        calls += 1
        if seconds:
            time.sleep(seconds)
        if calls in failing:
            raise Refused
        return cri.VersionResponse(version=str(calls))

    return call


def doing(cycle: Cycle) -> Workload:
    """Return a workload without preparation."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        cast("FakeTarget", target).calls += 1
        yield cycle

    return prepared


def new_meter(side: str = "", **dimensions: str) -> Meter:
    return Meter("B-01", dimensions, side, time.perf_counter(), Deadlines())


def bench(*sides: str, seconds: float = 0.1) -> Bench:
    """Return the `Bench` of a scenario, with one side or two."""
    return Bench(
        scenario=SCENARIOS["B-01"],
        targets=[cast("Target", FakeTarget(side, number)) for number, side in enumerate(sides or ("",))],
        seconds=seconds,
        profile="smoke",
        order=random.Random(1),  # noqa: S311 - chance, not secrets
        origin=time.perf_counter(),
        reference_times=ReferenceTimes({"Version": 1e-4}, {"create": 0.01, "start": 0.02}),
        accounting=lambda _target: lambda: {"cpu_seconds": 1.0},
    )
