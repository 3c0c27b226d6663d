"""How a comparison's numbers are written for people."""

import math
import re
from collections.abc import Mapping
from typing import Final

from critests.statistics import Verdict

_SCALES: Final = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "B/s": ((2.0**30, "GiB/s"), (2.0**20, "MiB/s"), (2.0**10, "KiB/s"), (1.0, "B/s")),
    "1/s": ((1.0, "/s"),),
    "1": ((1.0, ""),),
}
_OF_TIME: Final = frozenset({"s", "1/s", "B/s"})


def amount(value: float | None, unit: str) -> str:
    """Write a value with three digits that count: `12.3 ms`, `1.25 s`, `64.0 MiB`, `123 /s`; `·` for none."""
    if value is None or not math.isfinite(value):
        return "·"
    scales = _SCALES.get(unit, ((1.0, unit),))
    fitting = (scale for scale in scales if (abs(value) >= scale[0] * 0.9995 if value else scale[0] == 1.0))
    size, name = next(fitting, scales[-1])
    return f"{digits(value / size)} {name}".rstrip()


def digits(value: float) -> str:
    """Write a number with three digits that count, never in powers of ten below a million."""
    magnitude = abs(value)
    if not magnitude:
        return "0"
    places = max(0, 2 - math.floor(math.log10(float(f"{magnitude:.2e}"))))
    return f"{value:,.{min(places, 6)}f}"


def ratio(value: float | None) -> str:
    """Write a ratio: `1.13`; `·` for none."""
    return "·" if value is None else (f"{value:.2f}" if value < 10 else digits(value))


def interval(low: float | None, high: float | None) -> str:
    """Write the interval of a ratio: `1.09 to 1.17`; empty for none."""
    return "" if low is None or high is None else f"{ratio(low)} to {ratio(high)}"


def percent(share: float) -> str:
    """Write a share: `12 %`, `0.5 %`, `0.03 %`."""
    value = share * 100
    if value >= 10:
        return f"{value:.1f}".removesuffix(".0") + " %"
    return f"{value:.2g} %"


def quantile_name(at: float) -> str:
    """Return `median`, or `p99`."""
    return "median" if at == 0.5 else f"p{at * 100:g}"


def operation_label(scenario: str, operation: str, dimensions: Mapping[str, str]) -> str:
    """Return `B-06 RunPodSandbox (containers 100)`."""
    held = ", ".join(f"{name} {value}" for name, value in sorted(dimensions.items()))
    return f"{scenario} {operation}".strip() + (f" ({held})" if held else "")


def verdict_word(verdict: str, unit: str) -> str:
    """Return the verdict as it suits the unit: memory is not `slower`, it is `worse`."""
    if unit in _OF_TIME or not unit:
        return verdict
    return {Verdict.FASTER.value: "better", Verdict.SLOWER.value: "worse"}.get(verdict, verdict)


def error_words(failed: int, calls: int, codes: Mapping[str, int]) -> str:
    """Return `none of 120 failed`, or `3 of 120 failed (2.5 %): UNAVAILABLE 3`."""
    if not calls:
        return "no calls"
    if not failed:
        return f"none of {calls:,} failed"
    named = ", ".join(f"{code} {number:,}" for code, number in sorted(codes.items(), key=lambda item: -item[1]))
    return f"{failed:,} of {calls:,} failed ({percent(failed / calls)}): {named}"


def read_share(text: str) -> float:
    """Read a share: `10%` or `0.1`.

    Raises:
        ValueError: it is none.
    """
    number, sign = _split(text)
    if number is None or sign not in {"", "%"}:
        msg = f"{text!r} is no share; write 10% or 0.1"
        raise ValueError(msg)
    return number / 100 if sign else number


def read_amount(text: str) -> tuple[float, str]:
    """Read a value with its unit, `250 ms`, `64 MiB`, `20/s`, `3`, into the unit in which samples are kept.

    Raises:
        ValueError: it is none.
    """
    number, name = _split(text)
    sizes = {label: (size, unit) for unit, scales in _SCALES.items() for size, label in scales} | {"us": (1e-6, "s"), "min": (60.0, "s")}
    if number is None or name not in sizes:
        msg = f"{text!r} is no value with a unit; write 250 ms, 1.5 s, 64 MiB, 20 /s or 3"
        raise ValueError(msg)
    size, unit = sizes[name]
    return number * size, unit


def _split(text: str) -> tuple[float | None, str]:
    """Return the number that a text begins with, at least 0, and the rest."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(\S*)\s*", text)
    return (float(match[1]), match[2]) if match else (None, text)
