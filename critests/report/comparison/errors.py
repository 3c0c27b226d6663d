"""Do the calls of one side fail more often? Fisher's exact test, with failures taken as independent of each
other.
"""

import math
from collections.abc import Hashable, Mapping

from critests.statistics import holm

_TIES = 1e-9
"""Tables whose probability differs by less than this share count as equally likely."""


def fisher(failed_a: int, calls_a: int, failed_b: int, calls_b: int) -> float:
    """Return the two-sided p-value of equal failure rates; 1 where there is nothing to compare.

    Source: R. A. Fisher, "Statistical Methods for Research Workers", section 21.02; two-sided as the sum of
    all tables that are at most as likely as the one seen.
    """
    failed = failed_a + failed_b
    if not failed or not calls_a or not calls_b or failed == calls_a + calls_b:
        return 1.0
    tables = range(max(0, failed - calls_b), min(failed, calls_a) + 1)
    whole = _log_choose(calls_a + calls_b, failed)
    logs = {x: _log_choose(calls_a, x) + _log_choose(calls_b, failed - x) - whole for x in tables}
    limit = logs[failed_a] + _TIES
    return min(1.0, math.fsum(math.exp(value) for value in logs.values() if value <= limit))


def corrected(p_values: Mapping[Hashable, float]) -> dict[Hashable, float]:
    """Return the p-values as they are after Holm's correction."""
    names = {str(index): key for index, key in enumerate(p_values)}
    done = holm({name: p_values[key] for name, key in names.items()})
    return {key: done[name] for name, key in names.items()}


def _log_choose(total: int, chosen: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)
