"""Pure functions on samples: what they say, how surely, and when they say nothing.

`quantiles` describe one series, `autocorrelation` how much its samples are worth, `stationarity` where its
warm-up ends, `stopping` when there are enough of them. `comparison` weighs two sides of an operation (by
`shifts`), `corrections` are for many of them, `change_points` read the history of many runs, `trend` finds
leaks, `knee` where concurrency stops paying, `growth` what one more thing costs. `verdict` has the words.

All but the last use numpy and scipy, which the extra `bench` brings and conformance does without. A module
that serves both says `from critests import statistics`: its modules are imported when they are used.

Samples are in whatever unit the caller uses; results are in the same unit or are ratios. What needs
randomness takes a seed (`change_points`) or brings its own (`growth`): everything else is computed exactly.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from critests.statistics import autocorrelation, change_points, comparison, corrections, quantiles
else:

    def __getattr__(name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return importlib.import_module(f"{__name__}.{name}")


__all__ = ["autocorrelation", "change_points", "comparison", "corrections", "quantiles"]
