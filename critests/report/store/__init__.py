"""All stored runs: finding, indexing, pruning and merging them.

The index is derived from the run records and may be deleted at any time.
"""

from critests.report.store.entries import Point, RunEntry, SeriesSummary
from critests.report.store.merging import merge_runs
from critests.report.store.retention import remove, surplus
from critests.report.store.run_index import Index, IndexUnusable

__all__ = [
    "Index",
    "IndexUnusable",
    "Point",
    "RunEntry",
    "SeriesSummary",
    "merge_runs",
    "remove",
    "surplus",
]
