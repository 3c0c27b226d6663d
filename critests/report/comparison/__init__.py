"""Two runs, or the two sides of one, beside each other: speed, errors, conformance, capabilities.

`compare_records` weighs two stored runs and `compare_sides` a live comparison; both give a `RunComparison`,
which `plain` shows, and `terminal`, `markdown` and `html`, which are imported by who shows one. A comparison
informs; what fails on it is decided by `critests.report.gates`.
"""

from critests.report.comparison.comparison_json import comparison_to_json
from critests.report.comparison.differences import CapabilityDifference
from critests.report.comparison.model import CompareSettings, Operation, RunComparison, SideFacts
from critests.report.comparison.run_comparison import NotComparable, compare_records, compare_sides
from critests.report.comparison.stored import StoredRun, read_run

__all__ = [
    "CapabilityDifference",
    "CompareSettings",
    "NotComparable",
    "Operation",
    "RunComparison",
    "SideFacts",
    "StoredRun",
    "compare_records",
    "compare_sides",
    "comparison_to_json",
    "read_run",
]
