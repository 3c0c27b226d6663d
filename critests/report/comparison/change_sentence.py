"""The sentences that say what changed between an earlier and a later run of a runtime."""

from typing import Final

from critests.record.run_record import RunRecord
from critests.report.comparison.model import Operation, RunComparison
from critests.report.facts.display_order import failures
from critests.report.facts.explanations import observed_of, promise_of
from critests.report.wording.texts import one_line, plural
from critests.statistics.verdict import Verdict

OBSERVED: Final = 240
"""Characters of a promise, and of what was observed."""


def first_finding(record: RunRecord, comparison: RunComparison) -> str:
    """Return the first finding of the later run that the earlier one does not have: the promise, its id, and
    what was observed; empty if there is none.
    """
    worse = {each.test for each in comparison.tests if each.worse}
    found = [test for test in [*failures(record), *record.tests] if test.id in worse]
    if not found:
        return ""
    promise = one_line(promise_of(found[0]) or found[0].name, OBSERVED).rstrip(".")
    subject = f" ({found[0].requirement})" if found[0].requirement else ""
    return f"{promise}{subject}: {observed_of(found[0], OBSERVED)}."


def changed_operations(comparison: RunComparison) -> list[Operation]:
    """Return the operations that are slower or faster, or fail more or less often."""
    operations = comparison.speed.operations if comparison.speed else []
    return [
        each for each in operations if each.verdict in {Verdict.SLOWER, Verdict.FASTER} or each.errors_verdict
    ]


def changed(comparison: RunComparison) -> bool:
    """Whether anything changed."""
    return bool(_parts(comparison))


def changes_sentence(comparison: RunComparison) -> str:
    """Return what changed: `2 tests worse, 1 test no longer judged, 1 operation faster or lighter`."""
    return f"{', '.join(_parts(comparison)) or 'Nothing changed'}."


def _parts(comparison: RunComparison) -> list[str]:
    tests, operations = comparison.tests, changed_operations(comparison)
    facts = comparison.conformance.capabilities if comparison.conformance else []
    lost = [f"{fact.name} {'lost' if fact.b is False else 'unknown'}" for fact in facts if fact.a is True]
    numbers = (
        ("test", "worse", sum(each.worse for each in tests)),
        ("test", "no longer judged", sum(each.gone for each in tests)),
        ("operation", "slower or heavier", sum(each.verdict == Verdict.SLOWER for each in operations)),
        ("operation", "failing more often", sum(each.errors_verdict == "more" for each in operations)),
        ("test", "fixed", sum(each.fixed for each in tests)),
        ("operation", "faster or lighter", sum(each.verdict == Verdict.FASTER for each in operations)),
    )
    found = [f"{plural(number, noun)} {words}" for noun, words, number in numbers if number]
    return [*found, *lost]
