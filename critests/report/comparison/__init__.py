"""The comparison of two runs, or of the two sides of one: speed, errors, conformance, capabilities.

`compare_records` compares two stored runs and `compare_sides` the sides of a live comparison; both return a
`RunComparison`. The modules that render it as JSON, Markdown, HTML or on a terminal are imported by their
users. A comparison informs; `critests.report.gates` decides what fails.
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
