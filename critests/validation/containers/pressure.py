"""What cgroup v2 says of pressure, and the same in the units of the API."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from critests.api import api_pb2 as cri

_LINE = re.compile(r"(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)")
NANOSECONDS = 1000
"""Of a microsecond, in which the kernel counts."""


@dataclass(frozen=True)
class Pressure:
    """One line of a file such as cpu.pressure.

    Attributes:
        averages: percent, of the last 10, 60 and 300 seconds.
        microseconds: of waiting since the start.
    """

    averages: tuple[float, float, float]
    microseconds: int

    @property
    def nanoseconds(self) -> int:
        """The same, in the unit of the API."""
        return self.microseconds * NANOSECONDS


def parse(text: str) -> dict[str, Pressure]:
    """Return the lines of such a file by their names, `some` and `full`."""
    found = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {
        match[1]: Pressure((float(match[2]), float(match[3]), float(match[4])), int(match[5]))
        for match in found
        if match
    }


def wrong_with(told: cri.PsiData, before: Pressure, after: Pressure) -> Iterator[str]:
    """Say what of the API's figures cannot be what the kernel counted between two looks.

    Args:
        told: by the API.
        before: what the kernel said before the figures were taken.
        after: what it said when they had been told.
    """
    least, most = before.nanoseconds, after.nanoseconds
    if not least <= told.Total <= most:
        yield f"{told.Total} ns in all, and the kernel had {least} before and {most} after"
    averages = {"10": told.Avg10, "60": told.Avg60, "300": told.Avg300}
    for seconds, average in averages.items():
        if not 0 <= average <= 100:
            yield f"{average} is no percentage, of the last {seconds} seconds"
