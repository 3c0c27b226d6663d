"""The sentence that says what changed between an earlier and a later run of a runtime."""

from critests.report.comparison.model import Operation, RunComparison
from critests.report.wording.texts import plural
from critests.statistics.verdict import Verdict


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
    lost = [fact.name for fact in facts if fact.a is True]
    numbers = (
        ("test", "worse", sum(each.worse for each in tests)),
        ("test", "no longer judged", sum(each.gone for each in tests)),
        ("operation", "slower or heavier", sum(each.verdict == Verdict.SLOWER for each in operations)),
        ("operation", "failing more often", sum(each.errors_verdict == "more" for each in operations)),
        ("test", "fixed", sum(each.fixed for each in tests)),
        ("operation", "faster or lighter", sum(each.verdict == Verdict.FASTER for each in operations)),
    )
    found = [f"{plural(number, noun)} {words}" for noun, words, number in numbers if number]
    return [*found, *(f"{name} lost" for name in lost)]
