"""What a gate finds about speed: regressions, bounds, failed calls. Nothing fails without evidence."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from critests.report.comparison.model import Operation, OperationSide, Speed
from critests.report.comparison.speed import Key, Measured, side_of
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
from critests.report.gates.findings import Finding, Kind
from critests.report.gates.policy import Bound, Policy, Waiver
from critests.report.wording.texts import one_line, plural
from critests.statistics import Verdict, samples_needed
from critests.toml_file import TomlMalformed


@dataclass(frozen=True)
class SpeedRules:
    """The policy, for one operation at a time.

    Attributes:
        policy: The policy.
        waivers: Those that hold.
        significance: How sure a failure has to be.
    """

    policy: Policy
    waivers: Sequence[Waiver]
    significance: float

    def bounds(self, key: Key) -> list[Bound]:
        """Return the bounds that speak of an operation."""
        return [bound for bound in self.policy.bounds if bound.covers(key[0], key[1], dict(key[2]))]

    def quantile(self, key: Key) -> float:
        """Return the quantile in which an operation is compared with the baseline."""
        own = [bound for bound in self.bounds(key) if bound.max_regression is not None]
        return (own[-1].quantile if own else None) or self.policy.quantile

    def max_regression(self, key: Key) -> float:
        """Return by which share an operation may be worse than in the baseline."""
        return next(
            (b.max_regression for b in reversed(self.bounds(key)) if b.max_regression is not None),
            self.policy.max_regression,
        )

    def max_error_rate(self, key: Key) -> float | None:
        """Return the share of calls that may fail, or None."""
        return next(
            (b.max_error_rate for b in reversed(self.bounds(key)) if b.max_error_rate is not None),
            self.policy.max_error_rate,
        )

    def waived(self, key: Key) -> bool:
        """Say whether a waiver speaks of an operation."""
        return any(waiver.covers_operation(key[0], key[1], dict(key[2])) for waiver in self.waivers)

    def finding(self, key: Key, kind: Kind, sentence: str, *, fails: bool, weight: float = 1.0) -> Finding:
        """Return a finding about an operation, waived where a waiver speaks of it."""
        label = one_line(operation_label(key[0], key[1], dict(key[2])), 160)
        if fails and self.waived(key):
            return Finding(
                kind=Kind.WAIVED,
                fails=False,
                subject=label,
                sentence=f"{label} {sentence} (waived)",
                weight=weight,
            )
        return Finding(kind=kind, fails=fails, subject=label, sentence=f"{label} {sentence}", weight=weight)


def regression_findings(speed: Speed, rules: SpeedRules) -> list[Finding]:
    """Return what a comparison with the baseline says, which is side A of it."""
    found: list[Finding] = []
    for operation in speed.operations:
        found += _regression(operation, rules)
    found += _noisy(speed, rules)
    for each in speed.only_a:
        key = each.scenario, each.operation, tuple(sorted(each.dimensions.items()))
        found.append(
            rules.finding(
                key,
                Kind.UNMEASURED,
                "is in the baseline and was not measured",
                fails=rules.policy.unmeasured_fails,
            )
        )
    return found


def bound_findings(operations: dict[Key, Measured], rules: SpeedRules) -> list[Finding]:
    """Return what is to be said of the operations of a run by themselves.

    Raises:
        TomlMalformed: a bound does not suit the unit of its operation.
    """
    found: list[Finding] = []
    for key, measured in operations.items():
        found += _failed_calls(key, side_of(measured, rules.policy.quantile), rules)
        for bound in rules.bounds(key):
            found += _bound(key, measured, bound, rules)
    for bound in rules.policy.bounds:
        if operations and not any(bound.covers(key[0], key[1], dict(key[2])) for key in operations):
            sentence = f"no operation of the run is {bound.operation} ({rules.policy.source}:{bound.line})"
            found.append(
                Finding(
                    kind=Kind.UNMEASURED,
                    fails=rules.policy.unmeasured_fails,
                    subject=bound.operation,
                    sentence=sentence,
                )
            )
    if rules.policy.bounds and not operations:
        sentence = (
            f"the run measured nothing: {plural(len(rules.policy.bounds), 'bound')} of {rules.policy.source}"
            " not judged"
        )
        found.append(
            Finding(
                kind=Kind.UNMEASURED, fails=rules.policy.unmeasured_fails, subject="bounds", sentence=sentence
            )
        )
    return found


def _regression(operation: Operation, rules: SpeedRules) -> Iterable[Finding]:
    key, allowed = operation.key, rules.max_regression(operation.key)
    if operation.errors_verdict == "more":
        sentence = f"fails more often: {_errors(operation.b)}, before {_errors(operation.a)}"
        yield rules.finding(key, Kind.ERRORS, sentence, fails=True, weight=operation.b.error_rate)
    if operation.verdict == Verdict.SLOWER:
        worse = operation.worse
        proven = worse is not None and worse[1] > 1 + allowed
        values = f"{amount(operation.a.value, operation.unit)} to {amount(operation.b.value, operation.unit)}"
        said = (
            f"{verdict_word(operation.verdict, operation.unit)}: {quantile_name(operation.quantile)} {values}"
        )
        said += f", ratio {ratio(operation.ratio)} ({interval(operation.low, operation.high)})"
        more = (
            f"more than the {percent(allowed)} allowed"
            if proven
            else f"not proven to be more than the {percent(allowed)} allowed"
        )
        weight = worse[0] if worse else 1.0
        yield rules.finding(
            key, Kind.SLOWER if proven else Kind.NOISY, f"{said}, {more}", fails=proven, weight=weight
        )


def _noisy(speed: Speed, rules: SpeedRules) -> Iterable[Finding]:
    """Say what is too noisy, once for each reason."""
    groups: dict[str, list[str]] = {}
    for operation in speed.operations:
        if operation.verdict == Verdict.TOO_NOISY and not rules.waived(operation.key):
            label = operation_label(operation.scenario, operation.operation, operation.dimensions)
            groups.setdefault(operation.reason, []).append(label)
    for reason, labels in groups.items():
        names = one_line(", ".join(labels[:3]), 160) + (
            f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        )
        sentence = f"too noisy to be compared: {names}: {one_line(reason, 160)}"
        yield Finding(
            kind=Kind.NOISY,
            fails=rules.policy.noisy_fails,
            subject=one_line(labels[0], 160),
            sentence=sentence,
            weight=len(labels),
        )


def _failed_calls(key: Key, side: OperationSide, rules: SpeedRules) -> Iterable[Finding]:
    allowed = rules.max_error_rate(key)
    if side.calls and side.failed == side.calls:
        yield rules.finding(key, Kind.ERRORS, f"never succeeded: {_errors(side)}", fails=True, weight=1.0)
    elif allowed is not None and side.error_rate > allowed:
        proven = at_least(side.failed, side.calls, allowed) <= rules.significance
        more = f"{percent(allowed)} allowed{'' if proven else ', not proven to be more'}"
        yield rules.finding(
            key,
            Kind.ERRORS if proven else Kind.NOISY,
            f"{_errors(side)}; {more}",
            fails=proven,
            weight=side.error_rate,
        )
    elif side.failed:
        yield rules.finding(key, Kind.SAID, _errors(side), fails=False, weight=side.error_rate)


def _bound(key: Key, measured: Measured, bound: Bound, rules: SpeedRules) -> Iterable[Finding]:
    if bound.at_most is None and bound.at_least is None:
        return
    unit = (
        measured.series[0].unit
        if measured.series
        else measured.result.unit
        if measured.result
        else bound.unit
    )
    if unit != bound.unit:
        msg = (
            f"{rules.policy.source}:{bound.line}: the bound is in {bound.unit} and {key[0]} {key[1]} is"
            f" measured in {unit}"
        )
        raise TomlMalformed(msg)
    at = bound.quantile or rules.policy.quantile
    side = side_of(measured, at, confidence=1 - rules.significance)
    if side.value is None or side.low is None or side.high is None:
        few = (
            f"{plural(side.count, 'sample')}, {samples_needed(at, confidence=1 - rules.significance)} needed"
        )
        yield rules.finding(
            key,
            Kind.NOISY,
            f"{quantile_name(at)} cannot be held against its bound: {few}",
            fails=rules.policy.noisy_fails,
        )
        return
    said = (
        f"{quantile_name(at)} {amount(side.value, unit)} ({amount(side.low, unit)} to"
        f" {amount(side.high, unit)})"
    )
    for limit, proven, beyond, words in (
        (
            bound.at_most,
            bound.at_most is not None and side.low > bound.at_most,
            _above(side.value, bound.at_most),
            "at most",
        ),
        (
            bound.at_least,
            bound.at_least is not None and side.high < bound.at_least,
            _above(bound.at_least, side.value),
            "at least",
        ),
    ):
        if limit is not None and (proven or beyond > 1):
            sentence = (
                f"{said}, {words} {amount(limit, unit)}"
                f" allowed{'' if proven else ', not proven to be beyond it'}"
            )
            fails = proven or rules.policy.noisy_fails
            yield rules.finding(
                key, Kind.BOUND if proven else Kind.NOISY, sentence, fails=fails, weight=beyond
            )


def at_least(failed: int, calls: int, rate: float) -> float:
    """Return the chance that at least so many of so many calls fail when each fails with this rate (exact
    binomial).
    """
    if failed <= 0 or rate >= 1:
        return 1.0
    if rate <= 0:
        return 0.0
    logs = (
        math.lgamma(calls + 1)
        - math.lgamma(k + 1)
        - math.lgamma(calls - k + 1)
        + k * math.log(rate)
        + (calls - k) * math.log1p(-rate)
        for k in range(failed, calls + 1)
    )
    return min(1.0, math.fsum(math.exp(value) for value in logs))


def _above(value: float | None, bound: float | None) -> float:
    """By which factor a value is above a bound; infinite above 0."""
    if value is None or bound is None:
        return 0.0
    return value / bound if bound else (math.inf if value else 0.0)


def _errors(side: OperationSide) -> str:
    return one_line(error_words(side.failed, side.calls, side.errors), 200)
