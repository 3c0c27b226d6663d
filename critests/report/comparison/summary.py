"""The sentences that say what a comparison found; every form of it begins with them."""

from collections import Counter

from critests.report.comparison.model import Group, Operation, RunComparison, Speed
from critests.report.comparison.wording import amount, percent, quantile_name
from critests.report.wording.texts import plural
from critests.statistics import Verdict


def speed_sentence(comparison: RunComparison) -> str:
    """Say what was found about speed, or why nothing was; empty where neither side has measured anything."""
    speed = comparison.speed
    if speed is None:
        return ""
    if speed.refused:
        return f"Speed is not compared: {speed.refused}."
    counts = speed.counts()
    parts = [f"{counts[verdict.value]} {verdict.value}" for verdict in _VERDICTS if counts.get(verdict.value)]
    more = [operation for operation in speed.operations if operation.errors_verdict == "more"]
    if more:
        parts.append(f"{len(more)} fail more often")
    failed = any(operation.a.failed or operation.b.failed for operation in speed.operations)
    clean = "" if failed else " No call failed on either side."
    return (
        f"Of {plural(len(speed.operations), 'operation')}, B beside A:"
        f" {', '.join(parts) or 'none judged'}.{clean}"
    )


def conformance_sentence(comparison: RunComparison) -> str:
    """Say what was found about the promises; empty where they were not compared."""
    conformance = comparison.conformance
    if conformance is None:
        return ""
    numbers = {group: len(members) for group, members in conformance.grouped().items()}
    only_a, only_b = numbers.get(Group.ONLY_A_KEEPS, 0), numbers.get(Group.ONLY_B_KEEPS, 0)
    parts = [f"A keeps {plural(only_a, 'requirement')} that B breaks", f"B keeps {only_b} that A breaks"]
    for words, groups in _REST:
        number = sum(numbers.get(group, 0) for group in groups)
        if number:
            parts.append(f"{number} {words}")
    return f"{', '.join(parts)}; {conformance.same} have the same verdicts."


def method_sentence(comparison: RunComparison) -> str:
    """Say how speed was compared."""
    settings = comparison.settings
    how = "measured in interleaved random blocks" if comparison.live else "measured in two separate runs"
    floor = settings.statistics(settings.quantile, live=comparison.live).smallest_effect
    floors = (
        f"differences below {percent(floor)}, and of durations below {amount(settings.time_floor, 's')}, are"
        " not called"
    )
    return (
        f"Ratio of the {quantile_name(settings.quantile)}, B over A, with its"
        f" {percent(1 - settings.significance)} confidence interval; {how}; {floors}; corrected for all"
        " operations together, so that the chance of any false alarm is at most"
        f" {percent(settings.significance)}."
    )


def noise(speed: Speed) -> dict[str, int]:
    """Return why operations are too noisy, each reason with the number of operations, the commonest first."""
    reasons = Counter(
        operation.reason for operation in speed.operations if operation.verdict == Verdict.TOO_NOISY
    )
    return dict(reasons.most_common())


def why(operation: Operation, *, noisy: bool = True) -> str:
    """Return what must be said beside a verdict, or nothing.

    Args:
        operation: The operation.
        noisy: Say why it is too noisy.
    """
    parts = []
    if (operation.verdict == Verdict.TOO_NOISY and noisy) or not operation.better:
        parts.append(operation.reason)
    if operation.a.client_bound or operation.b.client_bound:
        parts.append("mostly the client's own cost")
    if operation.errors_verdict:
        parts.append(f"B fails {'more' if operation.errors_verdict == 'more' else 'less'} often")
    return "; ".join(part for part in parts if part)


_VERDICTS = (Verdict.SLOWER, Verdict.FASTER, Verdict.NO_EVIDENCE, Verdict.TOO_NOISY)
_REST = (
    ("offered on one side only", (Group.ONLY_A_OFFERS, Group.ONLY_B_OFFERS)),
    ("judged on one side only", (Group.NOT_ON_A, Group.NOT_ON_B)),
    ("broken or not offered in different ways", (Group.OTHERWISE,)),
)
