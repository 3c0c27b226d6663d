import pytest

from critests.benchmark.load.capacity import PRECISION, Search, StepResult, decide


@pytest.mark.parametrize(
    ("count", "above", "decision"),
    [
        (0, 0, StepResult.UNDECIDED),
        (458, 0, StepResult.UNDECIDED),
        (459, 0, StepResult.HELD),
        (40, 3, StepResult.EXCEEDED),
        (40, 1, StepResult.UNDECIDED),
        (999, 5, StepResult.UNDECIDED),
        (1000, 10, StepResult.HELD),
        (1000, 11, StepResult.EXCEEDED),
    ],
)
def test_a_step_is_decided_by_significance_or_by_a_thousand_samples(
    count: int, above: int, decision: StepResult
) -> None:
    assert decide(count, above) is decision


@pytest.mark.parametrize("true", [0.3, 1.0, 7.4, 130.0])
def test_the_search_brackets_the_true_capacity(true: float) -> None:
    search = Search(1.0)
    while not search.finished:
        search.add(StepResult.HELD if search.rate <= true else StepResult.EXCEEDED)
    assert search.exceeded is not None
    assert search.held <= true < search.exceeded <= search.held * (1 + PRECISION)


def test_the_search_ends_if_no_rate_holds() -> None:
    search = Search(1.0)
    while not search.finished:
        search.add(StepResult.EXCEEDED)
    assert not search.held
    assert "not shown to stay" in search.sentence(0.5)


def test_the_search_ends_if_a_lower_rate_would_have_fewer_samples() -> None:
    search = Search(8.0)
    search.add(StepResult.UNDECIDED)
    assert search.finished
    assert not search.held


def test_undecided_above_a_rate_that_held_counts_as_exceeded() -> None:
    search = Search(8.0)
    search.add(StepResult.HELD)
    search.add(StepResult.UNDECIDED)
    assert not search.finished
    assert (search.held, search.exceeded) == (8, 16)
    assert 8 < search.rate < 16
