"""The form of growth is that of the curve from which values were made, and nothing is claimed of noise."""

import random
from collections.abc import Callable

import pytest

from critests.statistics.growth import Form, Growth, GrowthLevel, fit_growth

NUMBERS = (1, 10, 50, 100, 200)


def grown(
    curve: Callable[[float], float],
    *,
    noise: float = 0.01,
    numbers: tuple[int, ...] = NUMBERS,
    seed: int | None = None,
) -> Growth:
    """Fit values of a curve, each known to a share of it; with a seed, off by as much at random."""
    source = random.Random(seed)  # noqa: S311 - repeatable, not secret
    levels = []
    for number in numbers:
        value = curve(number)
        off = source.gauss(0, noise) if seed is not None else 0.0
        levels.append(GrowthLevel(number, value * (1 + off), noise * value))
    return fit_growth(levels)


@pytest.mark.parametrize(
    ("curve", "form"),
    [
        (lambda _n: 0.004, Form.CONSTANT),
        (lambda n: 0.004 + 0.0000005 * n, Form.CONSTANT),
        (lambda n: 0.002 + 0.0001 * n, Form.LINEAR),
        (lambda n: 0.0001 * n, Form.LINEAR),
        (lambda n: 0.002 + 0.000001 * n**2, Form.WORSE),
        (lambda n: 0.002 + 0.00001 * n**1.5, Form.WORSE),
        (lambda n: 0.002 + 0.001 * n**0.5, Form.LESS),
    ],
)
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_the_form_is_found(curve: Callable[[float], float], form: Form, seed: int | None) -> None:
    assert grown(curve, seed=seed).form is form


def test_the_cost_of_one_more_is_the_slope() -> None:
    found = grown(lambda n: 5e6 + 3e5 * n, seed=5)

    assert found.slope == pytest.approx(3e5, rel=0.05)
    assert found.slope in found.slope_interval
    assert 3e5 in found.slope_interval
    assert found.line(0) == pytest.approx(5e6, rel=0.1)
    assert found.rise == pytest.approx(3e5 * 199 / 5.3e6, rel=0.1)


def test_superlinear_growth_has_a_marginal_cost_above_the_slope() -> None:
    found = grown(lambda n: 0.002 + 0.000001 * n**2)

    assert found.exponent == pytest.approx(2.0, abs=0.11)
    assert found.marginal == pytest.approx(0.0004, rel=0.1)
    assert found.marginal > found.slope


def test_exact_counts_have_an_exact_slope() -> None:
    found = fit_growth([GrowthLevel(number, 12 + 3 * number, 0.0) for number in NUMBERS])

    assert found.form is Form.LINEAR
    assert found.slope == pytest.approx(3.0)
    assert found.exponent == 1.0


def test_three_numbers_suffice_without_noise() -> None:
    assert grown(lambda n: 0.001 + 0.0002 * n, numbers=(1, 10, 50)).form in {Form.LINEAR, Form.GROWS}
    assert grown(lambda _n: 0.001, numbers=(1, 10, 50)).form is Form.CONSTANT


def test_noise_is_not_called_constant() -> None:
    levels = [GrowthLevel(number, 0.01, 0.008) for number in NUMBERS]

    assert fit_growth(levels).form is Form.UNKNOWN


def test_a_value_that_falls_does_not_grow() -> None:
    assert grown(lambda n: 0.02 - 0.00005 * n).form is Form.CONSTANT


def test_zeros_are_constant() -> None:
    found = fit_growth([GrowthLevel(number, 0.0, 0.0) for number in NUMBERS])

    assert found.form is Form.CONSTANT
    assert found.slope == 0


def test_a_constant_is_rarely_called_growing() -> None:
    """With 1 % of noise at each number, none of thirty constants becomes a curve."""
    forms = [grown(lambda _n: 0.004, seed=seed).form for seed in range(30)]

    assert set(forms) == {Form.CONSTANT}


def test_a_line_is_rarely_called_worse() -> None:
    """The margin is for that: of forty noisy lines at most two are called worse or less."""
    forms = [grown(lambda n: 0.002 + 0.0001 * n, noise=0.03, seed=seed).form for seed in range(40)]

    assert forms.count(Form.WORSE) + forms.count(Form.LESS) <= 2
    assert forms.count(Form.LINEAR) >= 24


def test_a_line_among_several_curves_that_fit_is_not_called_linear() -> None:
    """Each value is only known to a fifth: a root fits as well as a line."""
    found = grown(lambda n: 0.002 + 0.0001 * n, noise=0.2)

    assert found.slope_interval.low > 0
    assert found.exponent_interval.low < 0.65
    assert found.exponent_interval.high > 0.85
    assert found.form is Form.GROWS


def test_the_fit_is_deterministic() -> None:
    assert grown(lambda n: 0.001 * n, seed=7) == grown(lambda n: 0.001 * n, seed=7)


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        ([GrowthLevel(1, 1, 0), GrowthLevel(2, 2, 0)], "3 different numbers"),
        ([GrowthLevel(1, 1, 0), GrowthLevel(1, 2, 0), GrowthLevel(2, 2, 0)], "each once"),
        ([GrowthLevel(-1, 1, 0), GrowthLevel(1, 2, 0), GrowthLevel(2, 2, 0)], "at least 0"),
        ([GrowthLevel(1, -1, 0), GrowthLevel(3, 2, 0), GrowthLevel(2, 2, 0)], "at least 0"),
    ],
)
def test_invalid_points_are_rejected(levels: list[GrowthLevel], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        fit_growth(levels)
