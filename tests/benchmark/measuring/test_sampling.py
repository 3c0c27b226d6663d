import gc
import random
import time
from typing import cast

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.idle_check import quiet
from critests.benchmark.measuring.meter import NOT_DONE, Meter, NotDone
from critests.benchmark.measuring.sampling import FAILURES_IN_A_ROW, Cycle, Lane, Tally, sample
from critests.benchmark.measuring.target import Target
from critests.lifecycle.waiting import ConditionNotMet
from critests.statistics.stopping import PrecisionPlan
from tests.benchmark.fakes import FakeTarget, Refused, answering, meter

REQUEST = cri.VersionRequest()


def lane(cycle: Cycle, side: str = "") -> Lane:
    return Lane(cast("Target", FakeTarget(side)), cycle, meter(side))


def keeping(value: float) -> Cycle:
    return lambda kept: kept.keep("Version", value, time.perf_counter())


def run(lanes: list[Lane], plan: PrecisionPlan, seed: int = 1) -> str:
    return sample(lanes, "Version", plan, random.Random(seed))  # noqa: S311 - chance, not secrets


def test_it_stops_when_the_answer_is_sharp() -> None:
    noise = random.Random(2)  # noqa: S311 - chance, not secrets
    only = lane(lambda kept: kept.keep("Version", noise.uniform(0.99, 1.01), time.perf_counter()))
    assert run([only], PrecisionPlan(30.0)) == "the confidence interval is narrow enough"
    assert 40 <= only.tally.cycles < 2000


def test_it_stops_when_the_time_is_over() -> None:
    noise = random.Random(3)  # noqa: S311 - chance, not secrets

    def cycle(kept: Meter) -> None:
        time.sleep(0.001)
        kept.keep("Version", noise.expovariate(1), time.perf_counter())

    begin = time.monotonic()
    assert run([lane(cycle)], PrecisionPlan(0.3, 0.5, 0.0001)) == "the time budget ended"
    assert time.monotonic() - begin < 10


def test_it_stops_when_there_are_enough_samples() -> None:
    noise = random.Random(3)  # noqa: S311 - chance, not secrets
    only = lane(lambda kept: kept.keep("Version", noise.expovariate(1), time.perf_counter()))
    assert run([only], PrecisionPlan(30.0, 0.5, 0.0001, most_samples=100)) == "the sample budget ended"
    assert only.tally.cycles == 100


def test_no_time_at_all_is_one_cycle() -> None:
    only = lane(keeping(1.0))
    run([only], PrecisionPlan(0.0))
    assert only.meter.series["Version"].value == [1.0]


def test_both_sides_are_in_every_block_in_random_order() -> None:
    order: list[str] = []
    lanes = [lane(lambda _kept, side=side: order.append(side), side) for side in ("a", "b")]  # type: ignore[misc]  # the default binds the side
    run(lanes, PrecisionPlan(30.0, most_samples=200))
    blocks = ["".join(order[index : index + 2]) for index in range(0, len(order), 2)]
    assert len(blocks) == 200
    assert set(blocks) == {"ab", "ba"}
    assert 60 < blocks.count("ab") < 140


def test_blocks_are_kept_with_the_samples_of_two_sides_and_not_of_one() -> None:
    lanes = [lane(keeping(1.0), "a"), lane(keeping(2.0), "b")]
    run(lanes, PrecisionPlan(30.0, most_samples=5))
    assert [each.meter.series["Version"].block for each in lanes] == [[0, 1, 2, 3, 4]] * 2
    only = lane(keeping(1.0))
    run([only], PrecisionPlan(30.0, most_samples=5))
    assert only.meter.series["Version"].block == []


def test_a_failure_is_counted_and_sampling_goes_on() -> None:
    method = answering(failing=set(range(3, 100, 3)))
    only = lane(lambda kept: kept.call("Version", method, REQUEST))
    run([only], PrecisionPlan(30.0, 0.5, 1e-9, most_samples=30))
    assert only.tally.failures == only.meter.series["Version"].errors()["UNKNOWN"] > 5
    assert len(only.meter.series["Version"].steady()) >= 20


def test_it_gives_up_after_five_failures_in_a_row() -> None:
    method = answering(failing=set(range(4, 1000)))
    only = lane(lambda kept: kept.call("Version", method, REQUEST))
    assert run([only], PrecisionPlan(30.0)) == "5 cycles in a row failed: Version failed with UNKNOWN: no"
    assert only.tally.cycles == 3 + FAILURES_IN_A_ROW


def test_one_side_that_fails_ends_both() -> None:
    lanes = [
        lane(keeping(1.0), "a"),
        lane(lambda kept: kept.call("Version", answering(failing={1}), REQUEST), "b"),
    ]
    assert run(lanes, PrecisionPlan(30.0)).startswith("5 cycles in a row failed")


def test_a_preparation_that_fails_is_no_sample() -> None:
    def cycle(_kept: Meter) -> None:
        raise Refused(details="a" * 5000)

    only = lane(cycle)
    reason = run([only], PrecisionPlan(30.0))
    assert "outside of what is timed" in reason
    assert len(reason) < 1000
    assert only.meter.series == {}


def test_what_was_not_done_does_not_count_as_measured() -> None:
    def cycle(kept: Meter) -> None:
        kept.call("Version", answering(), REQUEST)
        raise NotDone("the container does not run")

    tally, kept = Tally(), meter()
    assert tally.attempt(cycle, kept) == NOT_DONE
    assert kept.series["Version"].steady() == []
    assert (tally.untrue, tally.untruth) == (1, "the container does not run")


def test_a_condition_that_does_not_come_true_is_a_failure() -> None:
    def cycle(_kept: Meter) -> None:
        raise ConditionNotMet("waited 1 s")

    tally = Tally()
    assert tally.attempt(cycle, meter()) == "DEADLINE_EXCEEDED"
    assert tally.latest == "waited 1 s"


def test_anything_else_ends_it() -> None:
    def cycle(_kept: Meter) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run([lane(cycle)], PrecisionPlan(30.0))
    assert gc.isenabled()


def test_the_garbage_collector_rests_while_windows_are_open() -> None:
    with quiet():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_progress_is_told_seldom() -> None:
    told: list[int] = []
    only = lane(keeping(1.0))
    sample([only], "other", PrecisionPlan(30.0, most_samples=2000), random.Random(1), told.append)  # noqa: S311 - chance, not secrets
    assert 1 <= len(told) < 20


def test_what_ended_pods_leave_is_swept() -> None:
    only = lane(keeping(1.0))
    run([only], PrecisionPlan(30.0, most_samples=20))
    assert cast("FakeTarget", only.target).swept >= 3
