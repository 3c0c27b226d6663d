"""The findings of a gate about speed: regressions, bounds, failed calls. Only significant ones fail."""

from collections.abc import Iterable

from critests import statistics
from critests.record.operations import Key
from critests.report.comparison.model import Operation, OperationSide, Speed
from critests.report.comparison.speed_diff import Measured, side_of
from critests.report.comparison.wording import (
    amount,
    error_words,
    interval,
    operation_label,
    percent,
    quantile_name,
    ratio,
    verdict_word,
)
from critests.report.gates.gate_findings import GateFinding, GateFindingKind
from critests.report.gates.policy import Bound, Policy
from critests.report.wording.texts import one_line, plural
from critests.statistics.verdict import Verdict
from critests.toml_file import TomlMalformed


def regression_findings(speed: Speed, policy: Policy) -> Iterable[GateFinding]:
    """Return the findings of the comparison with the baseline, which is side A."""
    noisy: dict[str, list[str]] = {}
    for operation in speed.operations:
        label = _label(operation.key)
        if operation.errors_verdict == "more":
            sentence = f"{label} fails more often: {_errors(operation.b)}; baseline: {_errors(operation.a)}"
            yield GateFinding(
                kind=GateFindingKind.ERRORS,
                fails=True,
                subject=label,
                sentence=sentence,
                weight=operation.b.error_rate,
            )
        if operation.verdict == Verdict.SLOWER:
            yield _slower(operation, label, policy.regression_of(operation.key))
        elif operation.verdict in {Verdict.TOO_FEW, Verdict.TOO_NOISY}:
            noisy.setdefault(operation.reason, []).append(label)
    for reason, labels in noisy.items():
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        sentence = (
            f"cannot be compared: {one_line(', '.join(labels[:3]), 160)}{more}: {one_line(reason, 160)}"
        )
        yield GateFinding(
            kind=GateFindingKind.NOISY,
            fails=policy.noisy_fails,
            subject=labels[0],
            sentence=sentence,
            weight=len(labels),
        )
    for each in speed.only_a:
        label = _label(each.key)
        yield _unmeasured(label, f"{label} is in the baseline and was not measured", policy)


def bound_findings(
    operations: dict[Key, Measured], policy: Policy, significance: float
) -> Iterable[GateFinding]:
    """Return the findings of the operations of a run without a baseline.

    Args:
        operations: Operations of the run.
        policy: The policy.
        significance: Significance level of a failure.

    Raises:
        TomlMalformed: a bound does not suit the unit of its operation.
    """
    for key, measured in operations.items():
        yield from _failed_calls(key, side_of(measured, policy.quantile), policy, significance)
        for bound in policy.bounds_of(key):
            yield from _bound(key, measured, bound, policy, significance)
    for bound in policy.bounds:
        if operations and not any(bound.covers(key) for key in operations):
            sentence = f"no operation of the run is {bound.operation} ({policy.source}:{bound.line})"
            yield _unmeasured(bound.operation, sentence, policy)
    if policy.bounds and not operations:
        number = plural(len(policy.bounds), "bound")
        yield _unmeasured(
            "bounds", f"the run measured nothing: {number} of {policy.source} not judged", policy
        )


def _slower(operation: Operation, label: str, allowed: float) -> GateFinding:
    worse = operation.worse
    proven = worse is not None and worse[1] > 1 + allowed
    values = f"{amount(operation.a.value, operation.unit)} to {amount(operation.b.value, operation.unit)}"
    ends = interval(operation.low, operation.high)
    beyond = f"{'' if proven else 'not significantly '}more than the {percent(allowed)} allowed"
    sentence = (
        f"{label} {verdict_word(operation.verdict, operation.unit)}: {quantile_name(operation.quantile)}"
        f" {values}, ratio {ratio(operation.ratio)} ({ends}), {beyond}"
    )
    return GateFinding(
        kind=GateFindingKind.SLOWER if proven else GateFindingKind.NOISY,
        fails=proven,
        subject=label,
        sentence=sentence,
        weight=worse[0] if worse else 1.0,
    )


def _unmeasured(subject: str, sentence: str, policy: Policy) -> GateFinding:
    return GateFinding(
        kind=GateFindingKind.UNMEASURED, fails=policy.unmeasured_fails, subject=subject, sentence=sentence
    )


def _failed_calls(
    key: Key, side: OperationSide, policy: Policy, significance: float
) -> Iterable[GateFinding]:
    allowed, label = policy.error_rate_of(key), _label(key)
    kind, fails, sentence = GateFindingKind.SAID, False, f"{label} {_errors(side)}"
    if not side.failed:
        return
    if side.failed == side.calls:
        kind, fails, sentence = GateFindingKind.ERRORS, True, f"{label} never succeeded: {_errors(side)}"
    elif allowed is not None and side.error_rate > allowed:
        fails = statistics.corrections.at_least(side.failed, side.calls, allowed) <= significance
        kind = GateFindingKind.ERRORS if fails else GateFindingKind.NOISY
        sentence += f"; {percent(allowed)} allowed{'' if fails else ', excess not significant'}"
    yield GateFinding(kind=kind, fails=fails, subject=label, sentence=sentence, weight=side.error_rate)


def _bound(
    key: Key, measured: Measured, bound: Bound, policy: Policy, significance: float
) -> Iterable[GateFinding]:
    if bound.at_most is None and bound.at_least is None:
        return
    if measured.unit != bound.unit:
        msg = (
            f"{policy.source}:{bound.line}: the bound is in {bound.unit} and {key[0]} {key[1]} is measured in"
            f" {measured.unit}"
        )
        raise TomlMalformed(msg)
    at, label = bound.quantile or policy.quantile, _label(key)
    side = side_of(measured, at, confidence=1 - significance)
    if side.value is None or side.low is None or side.high is None:
        needed = statistics.quantiles.samples_needed(at, confidence=1 - significance)
        few = f"{plural(side.count, 'sample')}, {needed} needed"
        sentence = f"{label} {quantile_name(at)} cannot be compared with its bound: {few}"
        yield GateFinding(
            kind=GateFindingKind.NOISY, fails=policy.noisy_fails, subject=label, sentence=sentence
        )
        return
    ends = f"{amount(side.low, bound.unit)} to {amount(side.high, bound.unit)}"
    value = f"{label} {quantile_name(at)} {amount(side.value, bound.unit)} ({ends})"
    most, least = bound.at_most, bound.at_least
    beyond = []
    if most is not None and side.value > most:
        beyond.append(("at most", most, side.low > most))
    if least is not None and side.value < least:
        beyond.append(("at least", least, side.high < least))
    for words, limit, proven in beyond:
        not_proven = "" if proven else ", excess not significant"
        yield GateFinding(
            kind=GateFindingKind.BOUND if proven else GateFindingKind.NOISY,
            fails=proven or policy.noisy_fails,
            subject=label,
            sentence=f"{value}, {words} {amount(limit, bound.unit)} allowed{not_proven}",
        )


def _label(key: Key) -> str:
    return one_line(operation_label(key[0], key[1], dict(key[2])), 160)


def _errors(side: OperationSide) -> str:
    return one_line(error_words(side.failed, side.calls, side.errors), 200)
