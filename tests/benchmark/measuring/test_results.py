from collections import Counter

import pytest

from critests.benchmark.measuring.operation_results import result_of
from critests.record.samples import Series


def series(*values: float) -> Series:
    made = Series(scenario="B-01", operation="Version")
    for number, value in enumerate(values):
        made.add(value, float(number))
    return made


def test_a_result_has_the_cost_of_the_client() -> None:
    result = result_of(series(*[0.001] * 50), client={"Version": 0.0005}, rpcs=Counter({"Version": 1}))
    assert result.client_seconds == 0.0005
    assert result.client_bound
    assert not result_of(
        series(*[0.01] * 50), client={"Version": 0.0005}, rpcs=Counter({"Version": 1})
    ).client_bound
    assert result_of(series(1.0), client={}, rpcs=Counter({"Version": 1})).client_seconds is None


def test_late_starts_are_a_share() -> None:
    loaded = Series(scenario="B-30", operation="latency from intended start")
    for late in (0.0, 0.005, 0.02, 0.5):
        loaded.add(1.0, 0.0, late=late)
    assert result_of(loaded).late_share == pytest.approx(0.5)
