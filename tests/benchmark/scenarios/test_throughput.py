"""Arrivals at a fixed rate, bursts, and what pods in great number run out of."""

import random
import time
from typing import cast

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.resources import PARTS, Holding
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios import test_density
from critests.benchmark.scenarios.machine_limits import what_ran_out
from critests.benchmark.scenarios.test_density import Crowd
from critests.benchmark.scenarios.test_throughput import FROM_INTENDED, DueCycles, arrivals
from tests.benchmark.fakes import FakeTarget, answering, meter

REQUEST = cri.VersionRequest()


def side(seconds: float, failing: "set[int] | frozenset[int]" = frozenset()) -> DueCycles:
    method = answering(seconds, failing)

    def cycle(kept: Meter) -> None:
        kept.call("Version", method, REQUEST)

    made = DueCycles(cast("Target", FakeTarget()), cycle)
    made.begin(meter())
    return made


def test_a_schedule_has_the_rate_that_was_asked_for() -> None:
    schedule = arrivals(50, 40, random.Random(5))  # noqa: S311 - chance, not secrets
    assert len(schedule) == pytest.approx(2000, rel=0.1)
    assert schedule == sorted(schedule)
    assert schedule[-1] < 40


def test_a_short_schedule_has_a_few_arrivals_nevertheless() -> None:
    assert len(arrivals(0.5, 0.1, random.Random(5))) == 3  # noqa: S311 - chance, not secrets


def test_arrivals_do_not_wait_for_each_other() -> None:
    one = side(1.5)
    begin = time.monotonic()
    one.arrive([0.0, 0.01, 0.02, 0.03], -1)
    assert time.monotonic() - begin < 4  # one after the other they would take six seconds
    series = one.meter.series[FROM_INTENDED]
    assert len(series.value) == len(series.late) == 4
    assert min(series.value) >= 0.3


def test_who_waits_for_room_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("critests.benchmark.scenarios.test_throughput.MOST_WAITING", 1)
    one = side(0.1)
    one.arrive([0.0, 0.0, 0.0], -1)
    series = one.meter.series[FROM_INTENDED]
    assert max(series.late) > 0.15
    assert max(series.value) > 0.25


def test_arrivals_that_fail_are_data_and_end_where_nothing_succeeds() -> None:
    one = side(0.0, failing={2})
    one.arrive([0.0, 0.02, 0.04], 7)
    series = one.meter.series[FROM_INTENDED]
    assert series.errors() == {"UNKNOWN": 1}
    assert series.block == [7, 7, 7]
    hopeless = side(0.0, failing=set(range(1, 1000)))
    begin = time.monotonic()
    hopeless.arrive([0.05 * number for number in range(400)], -1)
    assert time.monotonic() - begin < 5
    assert "5 cycles in a row failed" in hopeless.tally.hopeless or hopeless.tally.in_a_row > 5


def test_what_a_cycle_takes_alone() -> None:
    assert 0.02 <= side(0.02).alone(meter(), 0.5) < 5
    with pytest.raises(NotDone, match="no pod cycle succeeded alone"):
        side(0.0, failing=set(range(1, 100))).alone(meter(), 0.5)


def split(*memory: int) -> dict[str, Holding]:
    return {part: Holding(held, 0, 0) for part, held in zip(PARTS, memory, strict=True)}


def test_a_crowd_stops_at_the_last_good_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [0]
    monkeypatch.setattr(test_density, "holdings", lambda _pid: split(100 * held[0], 1000 * held[0], 10, 10))
    monkeypatch.setattr(test_density, "scarce", lambda _target: "")

    def add(crowd: Crowd) -> str:
        if held[0] == 7:
            return what_ran_out(8, "UNKNOWN", "no IP addresses available in range set")
        held[0] += 1
        crowd.pods += 1
        return ""

    monkeypatch.setattr(Crowd, "_add", add)
    crowd = Crowd(cast("Target", FakeTarget()), meter(), 1)
    for goal in (2, 4, 6, 8, 10):
        crowd.grow_to(goal, 60)
    assert crowd.pods == 7
    assert crowd.why.startswith("addresses ran out: the runtime refused pod 8 with UNKNOWN")
    memory = crowd.meter.series["memory per pod"]
    assert memory.value == [1100, 1100, 1100, 1100]
    assert memory.warm_up == 1


def test_a_crowd_stops_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_density, "holdings", lambda _pid: split(0, 0, 0, 0))
    monkeypatch.setattr(test_density, "scarce", lambda _target: "")

    def add(crowd: Crowd) -> str:
        time.sleep(0.05)
        crowd.pods += 1
        return ""

    monkeypatch.setattr(Crowd, "_add", add)
    crowd = Crowd(cast("Target", FakeTarget()), meter(), 1)
    begin = time.monotonic()
    crowd.grow_to(1000, 0.2)
    assert crowd.why == "the time budget ended"
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("details", "scarce"),
    [
        ("failed to allocate for range 0: no IP addresses available in range set", "addresses ran out"),
        ("write /var/lib/x: no space left on device", "disk space ran out"),
        ("fork/exec runc: cannot allocate memory", "memory ran out"),
        ("something else", "the runtime refused pod 7"),
    ],
)
def test_what_ran_out_is_named(details: str, scarce: str) -> None:
    assert what_ran_out(7, "UNKNOWN", details).startswith(scarce)
    assert details in what_ran_out(7, "UNKNOWN", details)
