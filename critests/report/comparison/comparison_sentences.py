"""The sentences of a comparison below its table: method, reasons of verdicts."""

from critests.report.comparison.model import Operation, RunComparison, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.wording import amount, percent, quantile_name, verdict_word
from critests.statistics.verdict import Verdict


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


def undecided(speed: Speed) -> list[tuple[str, list[str]]]:
    """Return why operations have no verdict: each reason with its operations, most common first."""
    reasons: dict[str, list[str]] = {}
    for operation in speed.operations:
        if operation.verdict in {Verdict.TOO_FEW, Verdict.TOO_NOISY}:
            reasons.setdefault(f"{operation.verdict}: {operation.reason}", []).append(operation.name)
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
