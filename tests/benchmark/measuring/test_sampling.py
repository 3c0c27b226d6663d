import gc
import random
import time
from typing import cast

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.garbage_collector import garbage_collection_paused
from critests.benchmark.measuring.meter import NOT_DONE, Meter, NotDone
from critests.benchmark.measuring.sampling import FAILURES_IN_A_ROW, Cycle, SampledSide, Tally, sample
from critests.benchmark.measuring.target import Target
from critests.client.deadlines import Deadlines
from critests.lifecycle.waiting import ConditionNotMet
from critests.statistics.stopping import FEWEST_BLOCKS, PrecisionPlan, Stop
from tests.benchmark.fakes import FakeTarget, answering, new_meter
from tests.refused import Refused

REQUEST = cri.VersionRequest()


def side(cycle: Cycle, side: str = "") -> SampledSide:
    return SampledSide(cast("Target", FakeTarget(side)), cycle, new_meter(side))


def keeping(value: float) -> Cycle:
    return lambda meter: meter.add("Version", value, time.perf_counter())


def run(sides: list[SampledSide], plan: PrecisionPlan, seed: int = 1) -> str:
    return sample(sides, "Version", plan, random.Random(seed))  # noqa: S311 - chance, not secrets


def test_sampling_stops_when_the_interval_is_narrow() -> None:
    noise = random.Random(2)  # noqa: S311 - chance, not secrets
    only = side(lambda meter: meter.add("Version", noise.uniform(0.99, 1.01), time.perf_counter()))
    assert run([only], PrecisionPlan(30.0)) == "the confidence interval is narrow enough"
    assert 40 <= only.tally.cycles < 2000


def test_sampling_stops_when_the_time_budget_ends() -> None:
    noise = random.Random(3)  # noqa: S311 - chance, not secrets

    def cycle(meter: Meter) -> None:
        time.sleep(0.001)
        meter.add("Version", noise.expovariate(1), time.perf_counter())

    assert run([side(cycle)], PrecisionPlan(0.3, 0.5, 0.0001)) == "the time budget ended"


def test_sampling_stops_when_the_sample_budget_ends() -> None:
    noise = random.Random(3)  # noqa: S311 - chance, not secrets
    only = side(lambda meter: meter.add("Version", noise.expovariate(1), time.perf_counter()))
    assert run([only], PrecisionPlan(30.0, 0.5, 0.0001, most_samples=100)) == "the sample budget ended"
    assert only.tally.cycles == 100


def test_without_time_there_is_one_cycle() -> None:
    only = side(keeping(1.0))
    run([only], PrecisionPlan(0.0))
    assert only.meter.series["Version"].value == [1.0]


def test_both_sides_are_in_every_block_in_random_order() -> None:
    order: list[str] = []
    sides = [side(lambda _meter, name=name: order.append(name), name) for name in ("a", "b")]  # type: ignore[misc]  # the default binds the name
    run(sides, PrecisionPlan(30.0, most_samples=200))
    blocks = ["".join(order[index : index + 2]) for index in range(0, len(order), 2)]
    assert len(blocks) == 200
    assert set(blocks) == {"ab", "ba"}
    assert 60 < blocks.count("ab") < 140


def answering_side(name: str, spread: float, seed: int) -> SampledSide:
    """Return a side whose samples answer a question: the pod cycle of B-11."""
    noise = random.Random(seed)  # noqa: S311 - chance, not secrets
    made = side(
        lambda meter: meter.add("pod cycle", noise.lognormvariate(0, spread), time.perf_counter()), name
    )
    made.meter = Meter("B-11", {}, name, 0.0, Deadlines())
    return made


def test_two_sides_stop_when_the_interval_of_the_answer_is_narrow() -> None:
    sides = [answering_side("a", 0.02, 1), answering_side("b", 0.02, 2)]

    assert run(sides, PrecisionPlan(30.0, most_samples=300)) == Stop.PRECISE
    assert FEWEST_BLOCKS <= sides[0].tally.cycles < 300
    wide = [answering_side("a", 2.0, 1), answering_side("b", 2.0, 2)]
    assert run(wide, PrecisionPlan(30.0, most_samples=60)) == Stop.OUT_OF_SAMPLES


def test_two_sides_take_as_many_blocks_as_a_difference_needs_whatever_the_budget() -> None:
    def slow(meter: Meter) -> None:
        time.sleep(0.04)
        meter.add("pod cycle", chance.lognormvariate(0, 2), time.perf_counter())

    chance = random.Random(5)  # noqa: S311 - chance, not secrets
    sides = [answering_side("a", 2.0, 1), answering_side("b", 2.0, 2)]
    for each in sides:
        each.cycle = slow

    assert run(sides, PrecisionPlan(1.0)) == Stop.OUT_OF_TIME
    assert sides[0].tally.cycles == FEWEST_BLOCKS


def test_only_samples_of_two_sides_have_blocks() -> None:
    sides = [side(keeping(1.0), "a"), side(keeping(2.0), "b")]
    run(sides, PrecisionPlan(30.0, most_samples=5))
    assert [each.meter.series["Version"].block for each in sides] == [[0, 1, 2, 3, 4]] * 2
    only = side(keeping(1.0))
    run([only], PrecisionPlan(30.0, most_samples=5))
    assert only.meter.series["Version"].block == []


def test_a_failure_is_counted_and_sampling_continues() -> None:
    method = answering(failing=set(range(3, 100, 3)))
    only = side(lambda meter: meter.call("Version", method, REQUEST))
    run([only], PrecisionPlan(30.0, 0.5, 1e-9, most_samples=30))
    assert only.tally.failures == only.meter.series["Version"].errors()["UNKNOWN"] > 5
    assert len(only.meter.series["Version"].steady()) >= 20


def test_it_gives_up_after_five_failures_in_a_row() -> None:
    method = answering(failing=set(range(4, 1000)))
    only = side(lambda meter: meter.call("Version", method, REQUEST))
    assert run([only], PrecisionPlan(30.0)) == "5 cycles in a row failed: Version failed with UNKNOWN: no"
    assert only.tally.cycles == 3 + FAILURES_IN_A_ROW


def test_one_side_that_fails_ends_both() -> None:
    sides = [
        side(keeping(1.0), "a"),
        side(lambda meter: meter.call("Version", answering(failing={1}), REQUEST), "b"),
    ]
    assert run(sides, PrecisionPlan(30.0)).startswith("5 cycles in a row failed")


def test_a_failed_preparation_is_not_a_sample() -> None:
    def cycle(_meter: Meter) -> None:
        raise Refused(details="a" * 5000)

    only = side(cycle)
    reason = run([only], PrecisionPlan(30.0))
    assert "outside the timed windows" in reason
    assert len(reason) < 1000
    assert only.meter.series == {}


def test_samples_of_a_cycle_that_was_not_done_do_not_count() -> None:
    def cycle(meter: Meter) -> None:
        meter.call("Version", answering(), REQUEST)
        raise NotDone("the container does not run")

    tally, meter = Tally(), new_meter()
    assert tally.run(cycle, meter) == NOT_DONE
    assert meter.series["Version"].steady() == []
    assert (tally.not_done, tally.first_not_done) == (1, "the container does not run")


def test_a_condition_that_does_not_come_true_is_a_failure() -> None:
    def cycle(_meter: Meter) -> None:
        raise ConditionNotMet("waited 1 s")

    tally = Tally()
    assert tally.run(cycle, new_meter()) == "DEADLINE_EXCEEDED"
    assert tally.latest_failure == "waited 1 s"


def test_other_exceptions_end_sampling() -> None:
    def cycle(_meter: Meter) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run([side(cycle)], PrecisionPlan(30.0))
    assert gc.isenabled()


def test_the_garbage_collector_is_off_during_windows() -> None:
    with garbage_collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_progress_is_rate_limited() -> None:
    reported: list[int] = []
    only = side(keeping(1.0))
    sample([only], "other", PrecisionPlan(30.0, most_samples=2000), random.Random(1), reported.append)  # noqa: S311 - chance, not secrets
    assert 1 <= len(reported) < 20


def test_cgroups_of_removed_pods_are_removed() -> None:
    only = side(keeping(1.0))
    run([only], PrecisionPlan(30.0, most_samples=20))
    assert cast("FakeTarget", only.target).swept >= 3
