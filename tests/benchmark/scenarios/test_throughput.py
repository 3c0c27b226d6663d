"""Arrivals at a fixed rate, bursts, and what pods in great number run out of."""

import random
import threading
import time
from typing import cast

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.resources import PARTS, ProcessFootprint
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios import test_density
from critests.benchmark.scenarios.machine_limits import what_ran_out
from critests.benchmark.scenarios.test_density import DensityPods
from critests.benchmark.scenarios.test_throughput import FROM_INTENDED, OpenLoop, arrivals
from tests.benchmark.fakes import FakeTarget, answering, new_meter

REQUEST = cri.VersionRequest()


def side(seconds: float, failing: "set[int] | frozenset[int]" = frozenset()) -> OpenLoop:
    method = answering(seconds, failing)

    def cycle(meter: Meter) -> None:
        meter.call("Version", method, REQUEST)

    made = OpenLoop(cast("Target", FakeTarget()), cycle)
    made.begin_load(new_meter())
    return made


def test_a_schedule_has_the_rate_that_was_asked_for() -> None:
    schedule = arrivals(50, 40, random.Random(5))  # noqa: S311 - chance, not secrets
    assert len(schedule) == pytest.approx(2000, rel=0.1)
    assert schedule == sorted(schedule)
    assert schedule[-1] < 40


def test_a_short_schedule_has_a_few_arrivals_nevertheless() -> None:
    assert len(arrivals(0.5, 0.1, random.Random(5))) == 3  # noqa: S311 - chance, not secrets


def test_arrivals_do_not_wait_for_each_other() -> None:
    """No cycle ends before all have begun, otherwise none would pass the barrier."""
    together = threading.Barrier(4)
    one = OpenLoop(cast("Target", FakeTarget()), lambda meter: meter.add("Version", together.wait(60), 0.0))
    one.begin_load(new_meter())

    one.run_schedule([0.0, 0.01, 0.02, 0.03], -1)

    series = one.meter.series[FROM_INTENDED]
    assert len(series.value) == len(series.late) == 4
    assert series.errors() == {}


def test_a_cycle_beyond_the_limit_in_flight_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("critests.benchmark.scenarios.test_throughput.MOST_IN_FLIGHT", 1)
    one = side(0.1)
    one.run_schedule([0.0, 0.0, 0.0], -1)
    series = one.meter.series[FROM_INTENDED]
    assert max(series.late) > 0.15
    assert max(series.value) > 0.25


def test_failed_arrivals_are_data_and_end_if_none_succeeds() -> None:
    one = side(0.0, failing={2})
    one.run_schedule([0.0, 0.02, 0.04], 7)
    series = one.meter.series[FROM_INTENDED]
    assert series.errors() == {"UNKNOWN": 1}
    assert series.block == [7, 7, 7]
    give_up_reason = side(0.0, failing=set(range(1, 1000)))
    give_up_reason.run_schedule([0.05 * number for number in range(400)], -1)
    assert len(give_up_reason.meter.series[FROM_INTENDED].value) < 400
    assert (
        "5 cycles in a row failed" in give_up_reason.tally.give_up_reason or give_up_reason.tally.in_a_row > 5
    )


def test_calibration_gives_the_time_of_a_cycle() -> None:
    assert 0.02 <= side(0.02).calibrate(new_meter(), 0.5) < 5
    with pytest.raises(NotDone, match="no cycle succeeded without load"):
        side(0.0, failing=set(range(1, 100))).calibrate(new_meter(), 0.5)


def split(*memory: int) -> dict[str, ProcessFootprint]:
    return {part: ProcessFootprint(held, 0, 0) for part, held in zip(PARTS, memory, strict=True)}


def test_a_crowd_stops_at_the_last_good_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [0]
    monkeypatch.setattr(test_density, "footprints", lambda _pid: split(100 * held[0], 1000 * held[0], 10, 10))
    monkeypatch.setattr(test_density, "exhausted_resource", lambda _target: "")

    def add(pods: DensityPods) -> str:
        if held[0] == 7:
            return what_ran_out(8, "UNKNOWN", "no IP addresses available in range set")
        held[0] += 1
        pods.pods += 1
        return ""

    monkeypatch.setattr(DensityPods, "_add", add)
    pods = DensityPods(cast("Target", FakeTarget()), new_meter(), 1)
    for goal in (2, 4, 6, 8, 10):
        pods.grow_to(goal, 60)
    assert pods.pods == 7
    assert pods.why.startswith("addresses ran out: the runtime rejected pod 8 with UNKNOWN")
    memory = pods.meter.series["memory per pod"]
    assert memory.value == [1100, 1100, 1100, 1100]
    assert memory.warm_up == 1


def test_a_crowd_stops_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_density, "footprints", lambda _pid: split(0, 0, 0, 0))
    monkeypatch.setattr(test_density, "exhausted_resource", lambda _target: "")

    def add(pods: DensityPods) -> str:
        time.sleep(0.05)
        pods.pods += 1
        return ""

    monkeypatch.setattr(DensityPods, "_add", add)
    pods = DensityPods(cast("Target", FakeTarget()), new_meter(), 1)
    pods.grow_to(1000, 0.2)
    assert pods.why == "the time budget ended"
    assert pods.pods < 1000


@pytest.mark.parametrize(
    ("details", "scarce"),
    [
        ("failed to allocate for range 0: no IP addresses available in range set", "addresses ran out"),
        ("write /var/lib/x: no space left on device", "disk space ran out"),
        ("fork/exec runc: cannot allocate memory", "memory ran out"),
        ("something else", "the runtime rejected pod 7"),
    ],
)
def test_the_exhausted_resource_is_named(details: str, scarce: str) -> None:
    assert what_ran_out(7, "UNKNOWN", details).startswith(scarce)
    assert details in what_ran_out(7, "UNKNOWN", details)
