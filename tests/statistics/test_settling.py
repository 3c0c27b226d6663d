"""What is said to settle a comparison settles it."""

import math

import pytest

from critests.statistics import compare_runs, inefficiency, settling
from tests.statistics.synthetic import latencies


def test_a_run_with_too_few_samples_lacks_those_of_a_test() -> None:
    assert settling((200, 10), (1.0, 1.0)).more == 22
    assert settling((200, 10), (1.0, 2.0)).more == 54


def test_an_earlier_run_with_too_few_samples_is_the_one_to_repeat() -> None:
    found = settling((10, 500), (1.0, 1.0))

    assert found.more == 0
    assert found.obstacle == "the earlier run has 10 samples and lacks 22"


def test_a_wide_interval_takes_as_many_as_its_width_tells() -> None:
    """Of a large earlier run, four times the samples halve the interval."""
    found = settling((100_000, 100), (1.0, 1.0), reach=math.exp(0.2), wanted=math.exp(0.1))

    assert found.more == pytest.approx(300, abs=3)
    assert not found.obstacle


def test_what_the_earlier_run_leaves_open_no_later_one_settles() -> None:
    found = settling((100, 100), (1.0, 1.0), reach=math.exp(0.2), wanted=math.exp(0.1))

    assert (found.more, found.obstacle) == (
        0,
        "the 100 samples of the earlier run alone leave that much open",
    )


def test_a_sharp_interval_lacks_batches() -> None:
    assert settling((500, 50), (1.0, 1.0), reach=1.1, wanted=1.5).more == 30


def test_factors_are_above_one() -> None:
    with pytest.raises(ValueError, match="above 1"):
        settling((500, 500), (1.0, 1.0), reach=1.0, wanted=1.5)


def test_as_many_more_prove_the_difference() -> None:
    """Two runs that differ by 8 % and say nothing at 60 samples do with as many more as is said."""
    earlier = latencies(1, 2000, spread=0.25)
    later = latencies(2, 4000, spread=0.25, median=0.05 * 1.08)
    open_still = compare_runs(earlier, later[:60])
    assert open_still.interval is not None
    assert open_still.ratio is not None
    reach = max(open_still.interval.high / open_still.ratio, open_still.ratio / open_still.interval.low)
    assert open_still.interval.low < 1

    found = settling(
        (2000, 60), (inefficiency(earlier, 0.5), inefficiency(later[:60], 0.5)), reach=reach, wanted=1.08
    )

    assert 0 < found.more < 3000
    settled = compare_runs(earlier, later[: 60 + 2 * found.more])
    assert settled.interval is not None
    assert settled.interval.low > 1
