"""The sentences that say what a comparison found beside its headline; every form of it has them."""

from critests.report.comparison.differences import VerdictChange
from critests.report.comparison.model import Operation, RunComparison, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.wording import amount, percent, quantile_name, verdict_word
from critests.report.wording.texts import plural
from critests.statistics.verdict import Verdict


def conformance_sentence(comparison: RunComparison) -> str:
    """Say what was found about the promises; empty where they were not compared."""
    conformance = comparison.conformance
    if conformance is None:
        return ""
    names = names_of(comparison.a, comparison.b)
    numbers = {group: len(members) for group, members in conformance.grouped().items()}
    only_a, only_b = numbers.get(VerdictChange.ONLY_A_KEEPS, 0), numbers.get(VerdictChange.ONLY_B_KEEPS, 0)
    parts = [
        f"{names.a} keeps {plural(only_a, 'requirement')} that {names.b} breaks",
        f"{names.b} keeps {only_b} that {names.a} breaks",
    ]
    for words, groups in _REST:
        number = sum(numbers.get(group, 0) for group in groups)
        if number:
            parts.append(f"{number} {words}")
    return f"{', '.join(parts)}; {conformance.same} have the same verdicts."


def method_sentence(comparison: RunComparison) -> str:
    """Say how speed was compared."""
    settings = comparison.settings
    names = names_of(comparison.a, comparison.b)
    how = "measured in interleaved random blocks" if comparison.live else "measured in two separate runs"
    floor = settings.statistics(settings.quantile, live=comparison.live).smallest_effect
    floors = (
        f"differences below {percent(floor)}, and of durations below {amount(settings.time_floor, 's')}, are"
        " not called"
    )
    return (
        f"Ratio of the {quantile_name(settings.quantile)}, {names.b} over {names.a}, with its"
        f" {percent(1 - settings.significance)} confidence interval; {how}; {floors}; corrected for all"
        " operations together, so that the chance of any false alarm is at most"
        f" {percent(settings.significance)}."
    )


def too_noisy(speed: Speed) -> list[tuple[str, list[str]]]:
    """Return why operations are too noisy, each reason with the names of the operations, the commonest
    first.
    """
    reasons: dict[str, list[str]] = {}
    for operation in speed.operations:
        if operation.verdict == Verdict.TOO_NOISY:
            reasons.setdefault(operation.reason, []).append(operation.name)
    return sorted(reasons.items(), key=lambda item: -len(item[1]))


def verdict_text(operation: Operation, comparison: RunComparison) -> str:
    """Return the verdict in words that do not contradict the interval beside it: where that leaves out 1, a
    difference was seen, and why it is not called one is said.
    """
    if operation.verdict == Verdict.NO_EVIDENCE:
        if operation.p <= comparison.settings.significance:
            return "proven, but below what two daemons of one binary differ by"
        if operation.leaves_out_1:
            return "not significant after correction"
    return verdict_word(operation.verdict, operation.unit)


def why(operation: Operation, names: Names) -> str:
    """Return what must be said beside a verdict, or nothing."""
    parts = []
    if not operation.better:
        parts.append(operation.reason)
    if operation.a.client_bound or operation.b.client_bound:
        parts.append("mostly the client's own cost")
    if operation.errors_verdict:
        parts.append(f"{names.b if operation.errors_verdict == 'more' else names.a} fails more often")
    return "; ".join(part for part in parts if part)


_REST = (
    ("offered on one side only", (VerdictChange.ONLY_A_OFFERS, VerdictChange.ONLY_B_OFFERS)),
    ("judged on one side only", (VerdictChange.NOT_ON_A, VerdictChange.NOT_ON_B)),
    ("broken or not offered in different ways", (VerdictChange.OTHERWISE,)),
)
