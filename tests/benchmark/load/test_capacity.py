import random

import pytest

from critests.benchmark.load.capacity import PRECISION, Decision, Search, decide


@pytest.mark.parametrize(
    ("count", "above", "last", "decision"),
    [
        (0, 0, False, Decision.UNDECIDED),
        (458, 0, False, Decision.UNDECIDED),
        (459, 0, False, Decision.HELD),
        (40, 3, False, Decision.EXCEEDED),
        (40, 1, False, Decision.UNDECIDED),
        (999, 5, True, Decision.UNDECIDED),
        (1000, 10, True, Decision.HELD),
        (1000, 11, True, Decision.EXCEEDED),
    ],
)
def test_a_step_is_decided_when_chance_is_excluded(
    count: int, above: int, last: bool, decision: Decision
) -> None:
    assert decide(count, above, last=last) is decision


def test_a_step_well_below_or_above_the_bound_is_seldom_misjudged() -> None:
    chance = random.Random(1)  # noqa: S311 - a simulation, not a secret
    wrong = 0
    for share, right in ((0.001, Decision.HELD), (0.05, Decision.EXCEEDED)):
        for _ in range(200):
            above, decision = 0, Decision.UNDECIDED
            for count in range(1, 1200):
                above += chance.random() < share
                if count % 20 == 0:
                    decision = decide(count, above)
                    if decision is not Decision.UNDECIDED:
                        break
            wrong += decision not in {right, Decision.UNDECIDED}
    assert wrong <= 8


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
