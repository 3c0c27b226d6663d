"""Formats of a comparison's numbers for people."""

import math
from collections.abc import Mapping
from typing import Final

from critests.report.wording.quantities import digits, quantity
from critests.statistics.verdict import Verdict

SMALLEST_P: Final = 1e-16
"""Smaller values are rounding errors of double precision."""
_OF_TIME: Final = frozenset({"s", "1/s", "B/s"})


def amount(value: float | None, unit: str) -> str:
    """Format a value with its unit: `12.3 ms`, `1.25 s`, `64.0 MB`, `123 /s`; `·` for None."""
    return "·" if value is None or not math.isfinite(value) else quantity(value, unit)


def ratio(value: float | None) -> str:
    """Format a ratio: `1.13`; `·` for None."""
    return "·" if value is None else (f"{value:.2f}" if value < 10 else digits(value))


def interval(low: float | None, high: float | None) -> str:
    """Format the interval of a ratio: `1.09 to 1.17`; empty for None."""
    return "" if low is None or high is None else f"{ratio(low)} to {ratio(high)}"


def chance(p: float) -> str:
    """Format a p-value: `p = 0.0012`, `p < 1e-16`."""
    return f"p = {p:.2g}" if p >= SMALLEST_P else f"p < {SMALLEST_P:g}"


def percent(share: float) -> str:
    """Format a share: `12 %`, `0.5 %`, `0.03 %`."""
    value = share * 100
    if value >= 10:
        return f"{value:.1f}".removesuffix(".0") + " %"
    return f"{value:.2g} %"


def quantile_name(at: float) -> str:
    """Return `median`, or `p99`."""
    return "median" if at == 0.5 else f"p{at * 100:g}"


def operation_label(scenario: str, operation: str, dimensions: Mapping[str, str]) -> str:
    """Return `B-06 RunPodSandbox (containers 100)`."""
    dimension = dimension_text(dimensions)
    return f"{scenario} {operation}".strip() + (f" ({dimension})" if dimension else "")


def dimension_text(dimensions: Mapping[str, str]) -> str:
    """Return the dimensions as text: `containers 100, image plain`."""
    return ", ".join(f"{name} {value}" for name, value in sorted(dimensions.items()))


def verdict_word(verdict: str, unit: str) -> str:
    """Return the verdict in a word that suits the unit: memory is not `slower`, it is `worse`."""
    if unit in _OF_TIME or not unit:
        return verdict
    return {Verdict.FASTER.value: "better", Verdict.SLOWER.value: "worse"}.get(verdict, verdict)


def error_words(failed: int, calls: int, codes: Mapping[str, int]) -> str:
    """Return `none of 120 failed`, or `3 of 120 failed (2.5 %): UNAVAILABLE 3`."""
    if not calls:
        return "no calls"
    if not failed:
        return f"none of {calls:,} failed"
    named = ", ".join(
        f"{code} {number:,}" for code, number in sorted(codes.items(), key=lambda item: -item[1])
    )
    return f"{failed:,} of {calls:,} failed ({percent(failed / calls)}): {named}"
