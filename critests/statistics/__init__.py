"""Pure functions on samples: what they say, how surely, and when they say nothing. Standard library only.

`quantiles` and `summary` describe one series, `autocorrelation` how much its samples are worth,
`stationarity` where its warm-up ends, `stopping` when there are enough of them. `comparison` weighs two sides
of an operation (by `shifts` and `exceedances`, corrected by `corrections`),
`change_points` reads the history of many runs, `trend` finds leaks, `knee` where concurrency stops paying,
`growth` what one more thing costs.

Samples are in whatever unit the caller uses; results are in the same unit or are ratios. What needs
randomness takes a seed (`change_points`) or brings its own (`growth`): everything else is computed exactly.
"""

from critests.statistics.autocorrelation import inefficiency
from critests.statistics.change_points import ChangePoint, change_points
from critests.statistics.comparison import (
    Block,
    Comparison,
    Correction,
    Criteria,
    Evidence,
    Verdict,
    compare_blocks,
    compare_runs,
    verdicts,
)
from critests.statistics.corrections import benjamini_hochberg, holm
from critests.statistics.growth import Form, Growth, fit_growth
from critests.statistics.growth import Level as GrowthLevel
from critests.statistics.knee import Scalability, fit_scalability
from critests.statistics.quantiles import (
    STANDARD_QUANTILES,
    Interval,
    quantile,
    quantile_interval,
    samples_needed,
    supported_quantiles,
    supports,
)
from critests.statistics.stationarity import Steadiness, WarmUp, warm_up
from critests.statistics.stopping import Decision, Plan, Stop, collect, decide
from critests.statistics.summary import Estimate, Summary, summarise
from critests.statistics.trend import Kendall, Trend, mann_kendall, trend

__all__ = [
    "STANDARD_QUANTILES",
    "Block",
    "ChangePoint",
    "Comparison",
    "Correction",
    "Criteria",
    "Decision",
    "Estimate",
    "Evidence",
    "Form",
    "Growth",
    "GrowthLevel",
    "Interval",
    "Kendall",
    "Plan",
    "Scalability",
    "Steadiness",
    "Stop",
    "Summary",
    "Trend",
    "Verdict",
    "WarmUp",
    "benjamini_hochberg",
    "change_points",
    "collect",
    "compare_blocks",
    "compare_runs",
    "decide",
    "fit_growth",
    "fit_scalability",
    "holm",
    "inefficiency",
    "mann_kendall",
    "quantile",
    "quantile_interval",
    "samples_needed",
    "summarise",
    "supported_quantiles",
    "supports",
    "trend",
    "verdicts",
    "warm_up",
]
