"""How slow the machine is, by two actions that every runtime does all the time. That sets the scale of the
deadlines of a run without --deadline-scale.

Deadlines are long enough for a loaded machine of ordinary speed; an emulated processor needs longer.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

PROGRAM_SECONDS: Final = 0.002
"""The start of a program on a machine whose deadlines are long enough: 0.6 ms, and 2 to 4 ms under load."""
SYNC_SECONDS: Final = 0.02
"""The same for a synced write of 4 KiB: 0.2 to 5 ms on a solid-state disk, 10 to 30 ms on a rotating one."""
LEAST, MOST = 2.5, 30.0
"""Smaller ratios come from load and count as 1; emulation in software is 15 to 30 times as slow."""
ROUNDS, LEAST_ROUNDS, MOST_SECONDS = 7, 3, 0.04
"""Rounds of each action; after 40 ms three are enough."""

_BLOCK: Final = b"x" * 4096


@dataclass(frozen=True)
class MachineSpeed:
    """The medians of the two actions, in seconds."""

    program_seconds: float
    sync_seconds: float

    @property
    def scale(self) -> float:
        """The scale of the deadlines: 1, or 2.5 to 30."""
        slowest = max(self.program_seconds / PROGRAM_SECONDS, self.sync_seconds / SYNC_SECONDS)
        return round(min(MOST, slowest), 1) if slowest >= LEAST else 1.0


@cache
def measure_speed() -> MachineSpeed:
    """Measure both actions, once in a process: less than 100 ms on a machine of ordinary speed. Both are 0
    where they cannot be measured.
    """
    try:
        with tempfile.TemporaryFile() as file:
            return MachineSpeed(
                program_seconds=_median(start_program),
                sync_seconds=_median(lambda: sync_block(file.fileno())),
            )
    except OSError:
        return MachineSpeed(0.0, 0.0)


def _median(action: Callable[[], None]) -> float:
    taken: list[float] = []
    action()
    while len(taken) < LEAST_ROUNDS or (len(taken) < ROUNDS and sum(taken) < MOST_SECONDS):
        begun = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begun)
    return round(statistics.median(taken), 6)


def start_program() -> None:
    """Start a program and wait for it; posix_spawn, because a plain fork is not safe with gRPC's threads."""
    os.waitpid(os.posix_spawnp("true", ["true"], {}), 0)


def sync_block(descriptor: int) -> None:
    """Write 4 KiB at the beginning of a file, and wait until they are on the disk."""
    os.pwrite(descriptor, _BLOCK, 0)
    os.fsync(descriptor)
