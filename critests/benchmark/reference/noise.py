"""The noise of the machine: repeated work of fixed size before a run, and the CPU time stolen by other guests
during it.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from critests.record.operations import NoiseProbe
from critests.run.machine_speed import start_program, sync_block
from critests.statistics.quantiles import quantile

SECONDS: Final = 0.5
"""How long each kind of work is repeated: 1.5 s for the three."""

_SPINS: Final = 20_000
_ROUNDS: Final = 400
_P99_NEEDS: Final = 100  # with fewer rounds, no sample is expected beyond p99
_STEAL: Final = 7
"""Column of stolen time in the line `cpu` of /proc/stat, proc(5). The guest times after it are also part of
earlier columns.
"""


def noise_probes(directory: Path | None = None, *, seconds: float = SECONDS) -> list[NoiseProbe]:
    """Repeat work of fixed size: on a machine without noise, the duration of each kind hardly varies.

    Args:
        directory: where a small file is written and synced, preferably on the runtime's disk; the temporary
            directory by default.
        seconds: longest time of each kind; there are at most 400 rounds of each.

    Returns:
        `spin` (a loop in Python of about a millisecond), `fsync` (4 KiB written and synced) and `fork` (a
        child that exits at once).

    Raises:
        OSError: the directory cannot be written to.
    """
    with tempfile.TemporaryFile(dir=directory) as file:
        kinds = {"spin": _spin, "fsync": lambda: sync_block(file.fileno()), "fork": start_program}
        return [_probe(name, work, seconds) for name, work in kinds.items()]


class StealMeter:
    """The share of CPU time that the hypervisor gave to other guests since the meter was created.

    Args:
        stat: the kernel's counters, proc(5).
    """

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._before = self._read()

    def share(self) -> float | None:
        """Return stolen time over all CPU time since then, 0 to 1; None if the kernel does not count it or no
        time has passed.
        """
        now = self._read()
        if self._before is None or now is None or now[1] <= self._before[1]:
            return None
        return (now[0] - self._before[0]) / (now[1] - self._before[1])

    def _read(self) -> tuple[int, int] | None:
        """Return stolen and total time in ticks."""
        try:
            fields = self._stat.read_text(encoding="ascii").split("\n", 1)[0].split()
        except OSError:
            return None
        numbers = [int(field) for field in fields[1:]]
        if fields[:1] != ["cpu"] or len(numbers) <= _STEAL:
            return None
        return numbers[_STEAL], sum(numbers[: _STEAL + 1])


def _probe(name: str, work: Callable[[], None], seconds: float) -> NoiseProbe:
    taken: list[float] = []
    work()
    end = time.perf_counter() + seconds
    while not taken or (len(taken) < _ROUNDS and time.perf_counter() < end):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    p99 = quantile(taken, 0.99) if len(taken) >= _P99_NEEDS else max(taken)
    return NoiseProbe(name=name, median_seconds=statistics.median(taken), p99_seconds=p99, count=len(taken))


def _spin() -> None:
    number = 0
    for step in range(_SPINS):
        number += step
