"""Results for what the objects of a test left on the machine. Like those for responses, they belong to the
requirement that demands the removal, and the test keeps its own result.
"""

from collections.abc import Sequence

from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.run.findings import finding
from critests.run.leftover_watch import Leftovers

NAME = "leftovers"
MOST_SHOWN = 20
"""Things in one result: some tests create hundreds of containers."""


def results_of(left: Sequence[Leftovers], after: TestResult) -> list[TestResult]:
    """Return a failed result for each aspect and kind of thing that was left after a test."""
    return [
        finding(f"{NAME}[{each.aspect}-{each.what}]", each.aspect, _why(each, after), after) for each in left
    ]


def _why(left: Leftovers, after: TestResult) -> Reason:
    return Reason(
        code=ReasonCode.LEFTOVER,
        subject=left.what,
        where=after.name,
        seen=f"{left.seconds:.3g}",
        unit="s",
        more=list(left.things[:MOST_SHOWN]),
    )
