from collections.abc import Callable
from types import SimpleNamespace

from critests.benchmark.measuring.replayed_clock import ReplayedClock, replay, replayed_clock


def test_the_clock_passes_one_duration_between_two_readings() -> None:
    clock = ReplayedClock()
    clock.load([0.5, 0.25])
    begin, end = clock(), clock()
    again, last = clock(), clock()
    assert (end - begin, again - end, last - again) == (0.5, 0.0, 0.25)


def test_a_clock_that_is_read_too_often_stands_still() -> None:
    clock = ReplayedClock()
    clock.load([])
    assert clock() == clock()


def test_the_fixture_is_driven_through_every_sample() -> None:
    taken: list[float] = []

    def pedantic(function: Callable[[], None], *, rounds: int, iterations: int) -> None:
        assert iterations == 1
        for _ in range(rounds):
            begin = replayed_clock()
            function()
            taken.append(replayed_clock() - begin)

    benchmark = SimpleNamespace(extra_info={}, pedantic=pedantic)
    replay(benchmark, [0.5, 0.25, 0.125], {"operation": "Version"})
    assert taken == [0.5, 0.25, 0.125]
    assert benchmark.extra_info == {"operation": "Version"}
