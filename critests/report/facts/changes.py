"""What is different between two runs, for formats that show what is new first.

Whether a difference in speed is real is the business of `critests compare`, which looks at the samples. Here
an operation is shown as changed when the 95 % confidence intervals of the two medians do not even touch.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Final

from critests.catalogue.words import Outcome
from critests.record.operations import OperationResult
from critests.record.results import TestResult
from critests.record.run import RunRecord
from critests.report.facts.operations import median

BAD: Final = frozenset({Outcome.FAILED, Outcome.WARNED, Outcome.ERROR})
GOOD: Final = frozenset({Outcome.PASSED})
NEITHER: Final = frozenset({Outcome.UNSUPPORTED, Outcome.BLOCKED})


@dataclass(frozen=True)
class TestChange:
    """One test whose outcome is another now.

    Attributes:
        before: Its result in the baseline, or None where it is new.
        now: Its result, or None where it is gone.
    """

    __test__ = False  # the name is no invitation for pytest

    before: TestResult | None
    now: TestResult | None

    @property
    def result(self) -> TestResult:
        """The newer of the two."""
        found = self.now or self.before
        assert found is not None
        return found


@dataclass(frozen=True)
class OperationChange:
    """One operation whose medians differ beyond their intervals.

    Attributes:
        before: In the baseline.
        now: In this run.
        ratio: The median now as a multiple of the one before.
        better: Whether the change is for the better, None where neither direction is.
    """

    before: OperationResult
    now: OperationResult
    ratio: float
    better: bool | None


@dataclass(frozen=True)
class Changes:
    """All differences, each list in the order of the run.

    Attributes:
        broken: Bad now and not before: worse than it was, or new and bad.
        lost: Passed before and cannot be judged now, or is not there any more.
        fixed: Bad before, or a known failure, and passed now; not what is known to fail now and then.
        other: Any other change of outcome.
        unselected: Judged before and deselected by the user now: this run says nothing about them.
        capabilities: Name, before, now, of capabilities that came or went; lost ones first.
        operations: Operations that changed, those that became worse first.
        compared: Number of operations that both runs have.
    """

    broken: list[TestChange] = field(default_factory=list)
    lost: list[TestChange] = field(default_factory=list)
    fixed: list[TestChange] = field(default_factory=list)
    other: list[TestChange] = field(default_factory=list)
    unselected: list[TestChange] = field(default_factory=list)
    capabilities: list[tuple[str, bool | None, bool | None]] = field(default_factory=list)
    operations: list[OperationChange] = field(default_factory=list)
    compared: int = 0


def changes(baseline: RunRecord, record: RunRecord) -> Changes:
    """Return what is different in `record`."""
    found = Changes()
    before = {test.id: test for test in baseline.tests}
    now = {test.id: test for test in record.tests}
    for identity in [*now, *(identity for identity in before if identity not in now)]:
        change = TestChange(before.get(identity), now.get(identity))
        _sort_in(found, change)
    operations, compared = _operations(baseline, record)
    return dataclasses.replace(
        found, capabilities=_capabilities(baseline, record), operations=operations, compared=compared
    )


def _sort_in(found: Changes, change: TestChange) -> None:
    before = change.before.outcome if change.before else None
    now = change.now.outcome if change.now else None
    if before == now:
        return
    if now in BAD:
        # a warning that was a failure is no news of something broken
        worse = before not in BAD or (before is Outcome.WARNED and now is not Outcome.WARNED)
        (found.broken if worse else found.other).append(change)
    elif now is Outcome.DISABLED:
        found.unselected.append(change)
    elif before in GOOD and (now is None or now in NEITHER):
        found.lost.append(change)
    elif (before in BAD or before is Outcome.KNOWN) and now in GOOD and not change.result.expectation:
        found.fixed.append(change)
    elif before is not None and now is not None:
        found.other.append(change)


def _capabilities(baseline: RunRecord, record: RunRecord) -> list[tuple[str, bool | None, bool | None]]:
    before = {fact.name: fact.present for fact in baseline.capabilities}
    changed = [
        (fact.name, before[fact.name], fact.present)
        for fact in record.capabilities
        if fact.name in before and before[fact.name] != fact.present
    ]
    return sorted(changed, key=lambda each: each[1] is not True)


def _operations(baseline: RunRecord, record: RunRecord) -> tuple[list[OperationChange], int]:
    before = {
        (*operation.key, operation.unit, operation.side): operation for operation in baseline.operations
    }
    found, compared = [], 0
    for now in record.operations:
        then = before.get((*now.key, now.unit, now.side))
        if then is None:
            continue
        old, new = median(then), median(now)
        if old is None or new is None or old.name != new.name or old.value <= 0:
            continue
        if old.low is None or old.high is None or new.low is None or new.high is None:
            continue
        compared += 1
        if new.low > old.high or new.high < old.low:
            slower = new.value > old.value
            better = None if not now.better else slower is (now.better == "higher")
            found.append(OperationChange(then, now, new.value / old.value, better))
    return sorted(found, key=lambda change: (change.better is True, -abs(change.ratio - 1))), compared
