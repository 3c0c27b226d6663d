"""Pressure stall information as cgroup v2 reports it, and its comparison with PsiData of the CRI."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from critests.api import api_pb2 as cri

_LINE = re.compile(r"(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)")
NANOSECONDS = 1000
"""Nanoseconds in a microsecond, the kernel's unit."""


@dataclass(frozen=True)
class Pressure:
    """One line of a file such as cpu.pressure.

    Attributes:
        averages: percent of the last 10, 60 and 300 seconds.
        microseconds: total time of waiting.
    """

    averages: tuple[float, float, float]
    microseconds: int

    @property
    def nanoseconds(self) -> int:
        """The total time in nanoseconds, the unit of PsiData."""
        return self.microseconds * NANOSECONDS


def parse(text: str) -> dict[str, Pressure]:
    """Return the lines of a pressure file by their names, `some` and `full`."""
    matches = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {
        match[1]: Pressure((float(match[2]), float(match[3]), float(match[4])), int(match[5]))
        for match in matches
        if match
    }


def psi_errors(psi: cri.PsiData, before: Pressure, after: Pressure) -> Iterator[str]:
    """Yield a message for each value of PsiData that contradicts the kernel's counters.

    Args:
        psi: reported by the runtime.
        before: the kernel's counters before the request.
        after: the kernel's counters after the response.
    """
    least, most = before.nanoseconds, after.nanoseconds
    if not least <= psi.Total <= most:
        yield f"Total is {psi.Total} ns; the kernel counted {least} ns before and {most} ns after"
    averages = {"10": psi.Avg10, "60": psi.Avg60, "300": psi.Avg300}
    for seconds, average in averages.items():
        if not 0 <= average <= 100:
            yield f"the average of {seconds} seconds, {average}, is not a percentage"
