"""The numbers of a series, as the run record holds them."""

from critests.record.samples import Series
from critests.record.summaries import summarised


def series(*values: float) -> Series:
    made = Series(scenario="B-01", operation="Version")
    for number, value in enumerate(values):
        made.add(value, float(number))
    return made


def test_no_quantile_that_the_samples_do_not_support() -> None:
    assert summarised(series(1.0, 2.0)).quantiles == {}
    assert set(summarised(series(*[1.0 + number / 100 for number in range(60)])).quantiles) >= {"0.5"}
    assert "0.99" not in summarised(series(*[1.0 + number / 100 for number in range(60)])).quantiles


def test_a_series_without_a_success() -> None:
    failed = series()
    failed.add(1.0, 0.0, code="UNKNOWN")
    result = summarised(failed)
    assert (result.count, result.errors, result.mean) == (0, {"UNKNOWN": 1}, None)
