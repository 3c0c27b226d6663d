"""The scalability law recovers the coefficients it was made from."""

import random

import pytest

from critests.statistics.knee import Scalability, fit_scalability

LEVELS = (1, 2, 4, 8, 16, 32, 64)


def made(contention: float, coherency: float) -> dict[float, float]:
    law = Scalability(25.0, contention, coherency, 1.0, None)
    return {level: law.throughput(level) for level in LEVELS}


@pytest.mark.parametrize(("contention", "coherency"), [(0.05, 0.002), (0.2, 0.0001), (0.0, 0.01)])
def test_the_law_is_recovered(contention: float, coherency: float) -> None:
    found = fit_scalability(made(contention, coherency))

    assert (found.rate, found.contention, found.coherency) == pytest.approx(
        (25.0, contention, coherency), abs=1e-6
    )
    assert found.determination == pytest.approx(1.0)


def test_the_law_is_recovered_under_noise() -> None:
    source = random.Random(1)  # noqa: S311 - repeatable, not secret
    points = [
        (level, value * source.lognormvariate(0, 0.03))
        for level, value in made(0.05, 0.002).items()
        for _ in range(3)
    ]

    found = fit_scalability(points)

    assert found.determination > 0.95
    assert found.knee is not None
    assert 4 < found.knee < 22  # where the curve is highest


def test_saturation_without_a_fall_has_a_knee() -> None:
    found = fit_scalability(made(0.25, 0.0))

    assert found.knee is not None
    assert 3 < found.knee < 20


def test_a_line_has_no_knee() -> None:
    found = fit_scalability({level: 10.0 * level for level in LEVELS})

    assert (found.contention, found.coherency) == pytest.approx((0, 0), abs=1e-9)
    assert found.knee is None


def test_a_falling_curve_has_no_knee() -> None:
    found = fit_scalability({level: 10.0 / level for level in LEVELS})

    assert found.knee is None


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ({1: 1.0, 2: 2.0, 4: 3.0}, "4 concurrencies"),
        ({0: 1.0, 1: 1.0, 2: 2.0, 4: 3.0}, "at least 1"),
        ({1: 0.0, 2: 1.0, 3: 1.0, 4: 1.0}, "above 0"),
    ],
)
def test_invalid_points_are_rejected(points: dict[float, float], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        fit_scalability(points)
