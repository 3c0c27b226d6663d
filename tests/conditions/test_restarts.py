"""Where the daemon is restarted."""

from critests.conditions.restarts import RestartDraws


def place(test: str, seed: int, calls: int = 100) -> list[int]:
    draws = RestartDraws(seed)
    draws.test_begins(test)
    return [call for call in range(calls) if draws.is_due()]


def test_a_test_has_at_most_one_restart_and_never_before_its_first_call() -> None:
    places = [place("test", seed) for seed in range(50)]

    assert all(len(each) == 1 for each in places)
    assert all(each[0] > 0 for each in places)


def test_a_seed_has_one_place_and_another_seed_another() -> None:
    assert place("test", 1) == place("test", 1)
    assert len({place("test", seed)[0] for seed in range(20)}) > 3


def test_there_is_no_restart_outside_a_test() -> None:
    draws = RestartDraws(1)
    assert not any(draws.is_due() for _ in range(100))

    draws.test_begins("test")
    draws.over()

    assert not any(draws.is_due() for _ in range(100))
