"""Pure functions on samples: estimates, their confidence, and tests.

`quantiles` estimates quantiles of one series, `autocorrelation` its number of independent samples,
`stationarity` the end of its warm-up, and `stopping` decides when to stop sampling. `comparison` compares two
sides of an operation (with `shifts`), `corrections` adjusts p-values for many operations, `change_points`
finds changes in the history of many runs, `trend` finds leaks, `knee` fits throughput against concurrency,
and `growth` fits cost against the number of objects. `verdict` defines the results.

All but the last use numpy and scipy, which the extra `bench` installs and conformance does not need. A module
that serves both uses `from critests import statistics`, which imports the submodules on first use.

Samples are in the caller's unit; results are in the same unit or are ratios. Functions that need randomness
take a seed (`change_points`) or use a fixed one (`growth`); all others are deterministic.
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
