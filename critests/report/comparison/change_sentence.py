"""What a comparison of an earlier and a later run of one runtime says in one sentence: what changed."""

from critests.report.comparison.model import Operation, RunComparison
from critests.report.wording.texts import plural
from critests.statistics.verdict import Verdict


def changed_operations(comparison: RunComparison) -> list[Operation]:
    """Return the operations that are slower or faster, or fail more or less often, in the comparison's
    order.
    """
    operations = comparison.speed.operations if comparison.speed else []
    return [
        each for each in operations if each.verdict in {Verdict.SLOWER, Verdict.FASTER} or each.errors_verdict
    ]


def changed(comparison: RunComparison) -> bool:
    """Whether the sentence names anything."""
    return bool(_parts(comparison))


def changes_sentence(comparison: RunComparison) -> str:
    """Say it: `2 tests worse, 1 test not judged any more, 1 operation faster or lighter`."""
    return f"{', '.join(_parts(comparison)) or 'Nothing changed'}."


def _parts(comparison: RunComparison) -> list[str]:
    tests, operations = comparison.tests, changed_operations(comparison)
    facts = comparison.conformance.capabilities if comparison.conformance else []
    lost = [fact.name for fact in facts if fact.a is True]
    numbers = (
        ("test", "worse", sum(each.worse for each in tests)),
        ("test", "not judged any more", sum(each.gone for each in tests)),
        ("operation", "slower or heavier", sum(each.verdict == Verdict.SLOWER for each in operations)),
        ("operation", "failing more often", sum(each.errors_verdict == "more" for each in operations)),
        ("test", "fixed", sum(each.fixed for each in tests)),
        ("operation", "faster or lighter", sum(each.verdict == Verdict.FASTER for each in operations)),
    )
    found = [f"{plural(number, noun)} {words}" for noun, words, number in numbers if number]
    return [*found, *(f"{name} lost" for name in lost)]
