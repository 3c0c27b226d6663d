"""Numbers with units for people: `137 ms`, `2.44 /s`, `9.8 MB`. Records store seconds, bytes and plain
numbers.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from critests.record.units import BYTES, BYTES_PER_SECOND, COUNT, PER_SECOND, SECONDS

STEPS: Final = {
    SECONDS: ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s")),
    PER_SECOND: ((1.0, "/s"),),
    BYTES: ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")),
    BYTES_PER_SECOND: ((1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")),
    COUNT: ((1.0, ""),),
}
"""Stored unit to its display units, smallest first: size in the stored unit, and name."""

_READ: Final = {
    **{name: (size, unit) for unit, steps in STEPS.items() for size, name in steps},
    **{
        f"{name}B{each}": (2.0**power, f"B{each}")
        for power, name in ((10, "Ki"), (20, "Mi"), (30, "Gi"))
        for each in ("", "/s")
    },
    "ns": (1e-9, "s"),
    "us": (1e-6, "s"),
    "min": (60.0, "s"),
}
"""Units that users may write, to their size and the stored unit."""


@dataclass(frozen=True)
class Reading:
    """The display unit of an axis or a row.

    Attributes:
        factor: Size of the display unit, in the stored unit.
        suffix: Name of the display unit, or empty.
    """

    factor: float
    suffix: str

    def number(self, value: float) -> str:
        """Return the number without its unit, with about three significant digits."""
        return digits(value / self.factor)

    def text(self, value: float) -> str:
        """Return the number with its unit."""
        return f"{self.number(value)} {self.suffix}".rstrip()


def reading(unit: str, size: float) -> Reading:
    """Return the display unit for values of about a size.

    Args:
        unit: The stored unit, as in `Series.unit`; an unknown one is shown unchanged.
        size: A typical value, in that unit.
    """
    steps = STEPS.get(unit, ((1.0, unit),))
    # a value that rounds up to the next unit is shown in it: 999.7 ms as 1.00 s
    fitting = [step for step in steps if abs(size) >= step[0] * 0.9995 or (size == 0 and step[0] == 1)] or [
        steps[0]
    ]
    return Reading(*fitting[-1])


def quantity(value: float, unit: str) -> str:
    """Return a value with the display unit that suits it."""
    return reading(unit, value).text(value)


def digits(value: float) -> str:
    """Return a number with about three significant digits: `0.042`, `1.25`, `13.7`, `137`, `1,370`."""
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    if size >= 0.9995:
        return f"{value:.2f}"
    return f"{value:.3f}".rstrip("0").rstrip(".") if size >= 0.0095 else f"{value:.2g}"


def share(value: float) -> str:
    """Return a share in percent: `0.4 %`, `12 %`; a small one is `< 0.1 %`, not 0."""
    percent = value * 100
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def percentile(at: str) -> str:
    """Return the name of a quantile: `p50` for 0.5, `p99.9` for 0.999."""
    return f"p{round(float(at) * 100, 6):g}"


def read_share(text: str) -> float:
    """Read a share: `10%` or `0.1`.

    Raises:
        ValueError: the text is not a share.
    """
    number, sign = _split(text)
    if number is None or sign not in {"", "%"}:
        msg = f"{text!r} is not a share: expected e.g. 10% or 0.1"
        raise ValueError(msg)
    return number / 100 if sign else number


def read_amount(text: str) -> tuple[float, str]:
    """Read a value with a unit, `250 ms`, `64 MiB`, `20/s`, `3`, and convert it to the stored unit.

    Raises:
        ValueError: the text is not such a value.
    """
    number, name = _split(text)
    if number is None or name not in _READ:
        msg = f"{text!r} is not a value with a unit: expected e.g. 250 ms, 1.5 s, 64 MiB, 20 /s or 3"
        raise ValueError(msg)
    size, unit = _READ[name]
    return number * size, unit


def _split(text: str) -> tuple[float | None, str]:
    """Return the non-negative number at the start of a text, and the rest."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(\S*)\s*", text)
    return (float(match[1]), match[2]) if match else (None, text)
