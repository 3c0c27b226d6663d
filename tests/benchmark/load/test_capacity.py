import pytest

from critests.benchmark.load.capacity import PRECISION, Decision, Search, decide


@pytest.mark.parametrize(
    ("count", "above", "decision"),
    [
        (0, 0, Decision.UNDECIDED),
        (458, 0, Decision.UNDECIDED),
        (459, 0, Decision.HELD),
        (40, 3, Decision.EXCEEDED),
        (40, 1, Decision.UNDECIDED),
        (999, 5, Decision.UNDECIDED),
        (1000, 10, Decision.HELD),
        (1000, 11, Decision.EXCEEDED),
    ],
)
def test_a_step_is_decided_when_chance_is_excluded_or_by_a_thousand(
    count: int, above: int, decision: Decision
) -> None:
    assert decide(count, above) is decision


@pytest.mark.parametrize("true", [0.3, 1.0, 7.4, 130.0])
def test_the_search_brackets_the_true_capacity(true: float) -> None:
    search = Search(1.0)
    while not search.over:
        search.add(Decision.HELD if search.rate <= true else Decision.EXCEEDED)
    assert search.exceeded is not None
    assert search.held <= true < search.exceeded <= search.held * (1 + PRECISION)


def test_the_search_ends_where_nothing_holds() -> None:
    search = Search(1.0)
    while not search.over:
        search.add(Decision.EXCEEDED)
    assert not search.held
    assert "no rate" in search.sentence(0.5)


def test_the_search_does_not_go_on_to_rates_with_fewer_samples_still() -> None:
    search = Search(8.0)
    search.add(Decision.UNDECIDED)
    assert search.over
    assert not search.held


def test_above_a_rate_that_held_undecided_counts_as_exceeded() -> None:
    search = Search(8.0)
    search.add(Decision.HELD)
    search.add(Decision.UNDECIDED)
    assert not search.over
    assert (search.held, search.exceeded) == (8, 16)
    assert 8 < search.rate < 16
