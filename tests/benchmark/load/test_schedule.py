import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critests.benchmark.load.schedule import ArrivalProcess, intended_starts, share


def test_constant_arrivals_are_evenly_spread() -> None:
    assert list(intended_starts(4, ArrivalProcess.CONSTANT, 1.0, seed=0)) == [0, 0.25, 0.5, 0.75]


def test_poisson_arrivals_come_at_the_rate_with_exponential_gaps() -> None:
    starts = list(intended_starts(50, ArrivalProcess.POISSON, 400, seed=7))
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert len(starts) == pytest.approx(20_000, rel=0.03)
    assert statistics.pstdev(gaps) == pytest.approx(1 / 50, rel=0.05)


def test_the_schedule_is_fixed_by_its_seed() -> None:
    one, same, other = (list(intended_starts(5, ArrivalProcess.POISSON, 20, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@given(st.integers(1, 7), st.floats(0.5, 50), st.sampled_from(ArrivalProcess))
def test_workers_share_every_start_once(parts: int, rate: float, arrivals: ArrivalProcess) -> None:
    whole = list(intended_starts(rate, arrivals, 10, seed=3))
    parted = [list(share(intended_starts(rate, arrivals, 10, seed=3), part, parts)) for part in range(parts)]
    assert sorted(itertools.chain(*parted)) == whole
    assert max(map(len, parted)) - min(map(len, parted)) <= 1


def test_no_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        list(intended_starts(0, ArrivalProcess.CONSTANT, 1, seed=0))
