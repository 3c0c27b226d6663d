"""Changes of level in what one runtime measured over its runs."""

from collections.abc import Sequence
from typing import Final

from critests.statistics import ChangePoint, change_points

JUDGED_RUNS: Final = 120
"""Newest runs in which changes of level are looked for run by run."""
SHORTEST: Final = 5
"""Runs of the shortest level: one odd night is not a change."""
SEED: Final = 20_261_120


def levels(medians: Sequence[float]) -> list[ChangePoint]:
    """Return the changes of level among the medians of runs, both the oldest first."""
    return change_points(medians, seed=SEED, shortest=SHORTEST)
