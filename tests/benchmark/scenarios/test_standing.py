"""Idle pods: their limit, the footprint of the runtime, and its usage without calls."""

import contextlib
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.resources import PROCESSES, ProcessFootprint, UsedResources
from critests.benchmark.measuring.runtime_processes import RuntimeNotVisible
from critests.benchmark.measuring.sampling import Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenario_profiles import COMPARE
from critests.benchmark.scenarios import idle_pods, one_pod, test_standing
from critests.benchmark.scenarios.idle_pods import (
    ENDED,
    STARTED,
    IdlePods,
    add_idle_usage,
    measure_idle,
    one_more_pod,
)
from critests.benchmark.scenarios.population import Population
from critests.benchmark.scenarios.test_standing import PODS, SHARES, _add_footprints, _why_unmeasurable
from critests.statistics.growth import FEWEST_LEVELS
from tests.benchmark.fakes import FakeTarget, answering, bench, doing, new_meter


class Pods:
    """A population of which only so many pods are borne."""

    def __init__(self, most: int) -> None:
        self.container_ids: list[str] = []
        self._most = most

    def grow_to(self, number: int) -> None:
        if number > self._most:
            msg = f"the runtime rejected container {number}"
            raise NotDone(msg)
        self.container_ids.append(str(number))


FOOTPRINTS = dict.fromkeys(("daemon", "shims"), ProcessFootprint(1, 1, 1))


def side(most: int = 100, pid: int | None = 7, *, throwaway: bool = True, unmeasurable: str = "") -> IdlePods:
    target = FakeTarget(pid=pid)
    target.context.throwaway = throwaway
    return IdlePods(cast("Target", target), cast("Population", Pods(most)), unmeasurable)


def test_pods_grow_until_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_pods, "exhausted_resource", lambda _target: "")
    one = side(most=7)

    assert one.grow_to(5)
    assert not one.grow_to(10)
    assert (one.pods, one.why) == (7, "the runtime rejected container 8")
    assert not one.grow_to(10)


def test_pods_grow_until_the_machine_has_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter(["", "", "memory ran out"])
    monkeypatch.setattr(idle_pods, "exhausted_resource", lambda _target: next(left))
    one = side()

    assert not one.grow_to(10)
    assert (one.pods, one.why) == (2, "memory ran out")


def test_the_footprint_is_stored_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"daemon": ProcessFootprint(50_000_000, 40, 12), "shims": ProcessFootprint(9_000_000, 30, 33)}
    monkeypatch.setattr(idle_pods, "footprints", lambda _pid: held)
    meter, one = new_meter(pods="3"), side()

    one.add_footprint(meter)

    assert {name: (series.value, series.unit) for name, series in meter.series.items()} == {
        "memory of the daemon": ([50_000_000], "B"),
        "descriptors of the daemon": ([40], "1"),
        "threads of the daemon": ([12], "1"),
        "memory of the shims": ([9_000_000], "B"),
        "descriptors of the shims": ([30], "1"),
        "threads of the shims": ([33], "1"),
    }


def test_an_invisible_runtime_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def footprints(_pid: int) -> dict[str, ProcessFootprint]:
        raise RuntimeNotVisible("run as root")

    monkeypatch.setattr(idle_pods, "footprints", footprints)
    meter, one = new_meter(), side()

    one.add_footprint(meter)
    one.add_footprint(meter)

    assert one.unmeasurable == "run as root"
    assert not meter.series


def used(cpu: float, wake_ups: int, written: int) -> UsedResources:
    return UsedResources(cpu, cpu / 2, 0, written, wake_ups, 3, PROCESSES)


def test_idle_usage_is_scaled_to_a_minute() -> None:
    meter = new_meter()

    add_idle_usage(meter, used(0.05, 40, 8192), 10.0, 0.0)

    assert {name: series.value for name, series in meter.series.items()} == {
        "idle time a minute": [pytest.approx(0.3)],
        "idle wake-ups a minute": [pytest.approx(240)],
        "idle writes a minute": [pytest.approx(49152)],
    }


def test_the_sides_are_idle_simultaneously(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("critests.benchmark.scenarios.idle_pods.time.sleep", slept.append)
    monkeypatch.setattr(
        idle_pods, "snapshot", lambda _pid: SimpleNamespace(since=lambda _earlier: used(0.1, 1, 1))
    )
    sides, meters = (
        [side(), side(), side(unmeasurable="not ours")],
        [new_meter("a"), new_meter("b"), new_meter()],
    )

    measure_idle(sides, meters, 5.0)

    assert slept == [5.0]
    assert [len(each.series) for each in meters] == [3, 3, 0]


def test_readings_of_two_sides_are_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_pods, "footprints", lambda _pid: FOOTPRINTS)
    pair, alone = [new_meter("a"), new_meter("b")], [new_meter()]

    _add_footprints([side(), side()], pair, 2)
    _add_footprints([side()], alone, 2)

    assert [each.series["memory of the daemon"].block for each in pair] == [[2], [2]]
    assert alone[0].series["memory of the daemon"].block == []


def test_only_a_private_runtime_is_measured() -> None:
    own, others, same = side(pid=1), side(pid=2, throwaway=False), side(pid=1)

    assert _why_unmeasurable([own.target]) == [""]
    assert "private runtime" in _why_unmeasurable([own.target, others.target])[1]
    assert _why_unmeasurable([own.target, same.target]) == ["both sides have the same daemon"] * 2
    assert "private runtime" in _why_unmeasurable([side(pid=None).target])[0]


def test_every_profile_has_enough_numbers_for_a_form() -> None:
    numbers_of = {profile: numbers for profile, numbers in PODS.items() if profile != COMPARE}

    assert all(len(numbers) >= FEWEST_LEVELS for numbers in numbers_of.values())
    assert sum(SHARES.values()) == pytest.approx(1)


def test_one_more_pod_is_two_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    for look in ("check_ready", "check_running"):
        monkeypatch.setattr(one_pod, look, lambda *_: None)

    def ended(_target: object, meter: Meter, _id: str) -> None:
        meter.call("StopContainer", answering(0.002), cri.VersionRequest())

    monkeypatch.setattr(one_pod, "stop_and_remove_container", ended)
    monkeypatch.setattr(one_pod, "stop_and_remove_sandbox", ended)

    def made(_target: object, meter: Meter, _request: object) -> str:
        meter.call("StartContainer", answering(0.002), cri.VersionRequest())
        return "c"

    monkeypatch.setattr(one_pod, "create_and_start", made)
    target: Any = FakeTarget()
    target.runtime = SimpleNamespace(
        RunPodSandbox=lambda _request, timeout: cri.RunPodSandboxResponse(pod_sandbox_id=f"s{timeout:.0f}")
    )
    target.sandbox_request = cri.RunPodSandboxRequest
    target.container_request = lambda *_: cri.CreateContainerRequest()
    target.wait_for_output = lambda *_: None
    meter = new_meter()

    with one_more_pod(target) as cycle:
        cycle(meter)

    calls = {name: meter.series[name].value for name in ("RunPodSandbox", "StartContainer", "StopContainer")}
    assert meter.series[ENDED].value == [pytest.approx(sum(calls["StopContainer"]))]
    assert meter.series[STARTED].value == [
        pytest.approx(calls["RunPodSandbox"][0] + calls["StartContainer"][0])
    ]


class Removing(FakeTarget):
    """Notes what is removed."""

    def __init__(self) -> None:
        super().__init__()
        self.gone: list[str] = []

    def discard(self, sandbox_id: str) -> None:
        self.gone.append(sandbox_id)


@pytest.mark.parametrize(
    ("pods", "have", "wanted", "gone", "left"),
    [
        (True, 4, 2, ["3", "2"], 2),
        (True, 4, 4, [], 4),
        (True, 3, 0, ["2", "1", "0"], 0),
        (False, 10, 5, ["1"], 5),
        (False, 10, 6, [], 10),
    ],
)
def test_a_population_shrinks_by_whole_sandboxes(
    pods: bool, have: int, wanted: int, gone: list[str], left: int
) -> None:
    target = Removing()
    population = Population(cast("Target", target), pods=pods)
    population.container_ids = [f"c{number}" for number in range(have)]
    population.sandbox_ids = [str(number) for number in range(have if pods else -(-have // 5))]

    population.shrink_to(wanted)

    assert target.gone == gone
    assert len(population.container_ids) == left
    assert target.swept == 1


class Standers(Pods):
    """A population of fake pods that can shrink."""

    def shrink_to(self, number: int) -> None:
        del self.container_ids[number:]


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """B-27 with instant measurements; return the measurements, each with its number of pods."""
    seen: list[tuple[str, int]] = []

    def part(name: str) -> Callable[[Standers], Workload]:
        def of(population: Standers) -> Workload:
            def cycle(meter: Meter) -> None:
                seen.append((name, len(population.container_ids)))
                meter.add(name, 0.001, time.perf_counter())

            return doing(cycle)

        return of

    def alone(name: str) -> Workload:
        return doing(lambda meter: meter.add(name, 0.001, time.perf_counter()))

    used_idle = SimpleNamespace(since=lambda _earlier: used(0.1, 1, 1))
    monkeypatch.setattr(idle_pods, "exhausted_resource", lambda _target: "")
    monkeypatch.setattr(idle_pods, "footprints", lambda _pid: FOOTPRINTS)
    monkeypatch.setattr(idle_pods, "snapshot", lambda _pid: used_idle)
    monkeypatch.setattr("critests.benchmark.scenarios.idle_pods.time.sleep", lambda _seconds: None)
    monkeypatch.setattr(test_standing, "footprints", lambda _pid: FOOTPRINTS)
    monkeypatch.setattr(test_standing, "listing", lambda _population: doing(lambda _meter: None))
    monkeypatch.setattr(test_standing, "relisting", part("relist"))
    monkeypatch.setattr(test_standing, "statistics_of", part("ListContainerStats"))
    monkeypatch.setattr(test_standing, "one_more_pod", alone(STARTED))
    monkeypatch.setattr(test_standing, "event_delivery", lambda _number: alone("end to event"))
    monkeypatch.setattr(
        test_standing,
        "restarting",
        lambda population, _signal, name: part(f"{name} to complete lists")(population),
    )
    return seen


def grown(monkeypatch: pytest.MonkeyPatch, *sides: str, most: int = 100, throwaway: bool = True) -> Bench:
    """Run B-27 on sides with a limit of pods."""
    made = bench(*sides, seconds=0.0)
    for target in made.targets:
        fake = cast("Any", target)
        fake.name = f"runtime {fake.side}"
        fake.context.throwaway = throwaway
        fake.context.owned = SimpleNamespace(runtime=object()) if throwaway else None
    monkeypatch.setattr(Population, "of_pods", lambda _target: contextlib.nullcontext(Standers(most)))
    test_standing.test_growth_over_standing_pods(made)
    return made


def test_a_reached_limit_is_named_and_smaller_numbers_are_measured(
    whole: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = grown(monkeypatch, most=4)

    assert {number for _, number in whole} == {1, 3}
    assert made.remarks == [
        "6 pods were not reached: runtime  stopped at 4: the runtime rejected container 5"
    ]
    made.conclude()


def test_a_foreign_runtime_is_neither_read_nor_killed(
    whole: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = grown(monkeypatch, throwaway=False)

    assert {each.operation for each in made.operations} == {
        "relist",
        "ListContainerStats",
        STARTED,
        "end to event",
    }
    assert not [name for name, _ in whole if "SIGKILL" in name]
    assert len(made.remarks) == 2
    made.conclude()
