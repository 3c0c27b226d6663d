"""The sentences of a comparison below its headline: conformance, method, reasons of verdicts."""

from critests.report.comparison.differences import VerdictChange
from critests.report.comparison.model import Operation, RunComparison, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.wording import amount, percent, quantile_name, verdict_word
from critests.report.wording.texts import plural
from critests.statistics.verdict import Verdict


def conformance_sentence(comparison: RunComparison) -> str:
    """Return the numbers of requirements that differ; empty if conformance was not compared."""
    conformance = comparison.conformance
    if conformance is None:
        return ""
    names = names_of(comparison.a, comparison.b)
    numbers = {group: len(members) for group, members in conformance.grouped().items()}
    only_a, only_b = numbers.get(VerdictChange.ONLY_A_KEEPS, 0), numbers.get(VerdictChange.ONLY_B_KEEPS, 0)
    parts = [
        f"{names.a} passes {plural(only_a, 'requirement')} that {names.b} fails",
        f"{names.b} passes {only_b} that {names.a} fails",
    ]
    for words, groups in _REST:
        number = sum(numbers.get(group, 0) for group in groups)
        if number:
            parts.append(f"{number} {words}")
    return f"{', '.join(parts)}; {conformance.same} have the same verdicts."


def method_sentence(comparison: RunComparison) -> str:
    """Return how speed was compared."""
    settings = comparison.settings
    names = names_of(comparison.a, comparison.b)
    how = "measured in interleaved random blocks" if comparison.live else "measured in two separate runs"
    share = settings.statistics(settings.quantile, live=comparison.live).smallest_effect
    noise = f"noise level {percent(share)}, for durations at least {amount(settings.time_floor, 's')}"
    return (
        f"Ratio of the {quantile_name(settings.quantile)}, {names.b} over {names.a}, with its"
        f" {percent(1 - settings.significance)} confidence interval; {how}; {noise}; corrected for multiple"
        f" comparisons: the probability of any false alarm is at most {percent(settings.significance)}."
    )


def too_noisy(speed: Speed) -> list[tuple[str, list[str]]]:
    """Return why operations are too noisy: each reason with its operations, most common first."""
    reasons: dict[str, list[str]] = {}
    for operation in speed.operations:
        if operation.verdict == Verdict.TOO_NOISY:
            reasons.setdefault(operation.reason, []).append(operation.name)
    return sorted(reasons.items(), key=lambda item: -len(item[1]))


def verdict_text(operation: Operation, comparison: RunComparison) -> str:
    """Return the verdict in words that explain why it is not `faster` or `slower` although the interval
    excludes 1.
    """
    if operation.verdict == Verdict.NO_EVIDENCE:
        if operation.p <= comparison.settings.significance:
            return "below the noise level"
        if operation.interval_excludes_1:
            return "not significant after correction"
    return verdict_word(operation.verdict, operation.unit)


def why(operation: Operation, names: Names) -> str:
    """Return remarks on a verdict, or an empty text."""
    parts = []
    if not operation.better:
        parts.append(operation.reason)
    if operation.a.client_bound or operation.b.client_bound:
        parts.append("dominated by the client's own cost")
    if operation.errors_verdict:
        parts.append(f"{names.b if operation.errors_verdict == 'more' else names.a} fails more often")
    return "; ".join(part for part in parts if part)


_REST = (
    ("offered on one side only", (VerdictChange.ONLY_A_OFFERS, VerdictChange.ONLY_B_OFFERS)),
    ("judged on one side only", (VerdictChange.NOT_ON_A, VerdictChange.NOT_ON_B)),
    ("broken or not offered in different ways", (VerdictChange.OTHERWISE,)),
)
