"""Conformance differences of two runs: verdicts, variants where the API leaves a choice, capabilities."""

from typing import Final

from critests.catalogue.words import WORST_FIRST, Level, Outcome
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.comparison.differences import (
    UNTESTED,
    AspectDifference,
    CapabilityDifference,
    Conformance,
    FormPair,
    JudgedMusts,
    RequirementDifference,
    VerdictChange,
)
from critests.report.facts.explanations import title_of
from critests.report.wording.texts import one_line

PASSED: Final = frozenset({Outcome.PASSED.value})
BROKEN: Final = frozenset({Outcome.FAILED.value, Outcome.WARNED.value, Outcome.KNOWN.value})
ABSENT: Final = frozenset({Outcome.UNSUPPORTED.value})
JUDGED: Final = PASSED | BROKEN | ABSENT
_WHY_LIMIT: Final = 300


def compare_conformance(a: RunRecord, b: RunRecord) -> Conformance:
    """Compare the verdicts, variants, capabilities and tests of two runs."""
    differences, same = [], 0
    tests = _by_aspect(a), _by_aspect(b)
    for identity in sorted({*a.requirements, *b.requirements}):
        aspects = _aspects(identity, a, b, tests)
        left, right = _verdict(a, identity), _verdict(b, identity)
        if not aspects and left not in JUDGED and right not in JUDGED:
            continue
        if left == right and not aspects:
            same += 1
            continue
        group = group_of(left, right) if left != right else group_of(aspects[0].a, aspects[0].b)
        differences.append(
            RequirementDifference(
                requirement=identity, title=title_of(identity), group=group, a=left, b=right, aspects=aspects
            )
        )
    order = list(VerdictChange)
    ids = {test.id for test in a.tests}, {test.id for test in b.tests}
    return Conformance(
        same=same,
        differences=sorted(differences, key=lambda difference: order.index(difference.group)),
        forms=_forms(a, b),
        capabilities=_capabilities(a, b),
        tests_only_a=sorted(ids[0] - ids[1]),
        tests_only_b=sorted(ids[1] - ids[0]),
        counts_a=_counts(a),
        counts_b=_counts(b),
        musts=_musts(a, b, tests),
    )


def _musts(
    a: RunRecord, b: RunRecord, tests: tuple[dict[str, list[TestResult]], dict[str, list[TestResult]]]
) -> JudgedMusts:
    broken = {Outcome.FAILED.value, Outcome.KNOWN.value}
    verdicts: list[dict[str, str]] = []
    for side in tests:
        found: dict[str, str] = {}
        for aspect, of_aspect in side.items():
            worst = _worst([test for test in of_aspect if test.outcome.value in PASSED | broken])
            if worst is not None and worst.level is Level.MUST and not worst.judgement:
                found[aspect] = worst.outcome.value
        verdicts.append(found)
    both = sorted(verdicts[0].keys() & verdicts[1].keys())
    return JudgedMusts(
        judged=len(both),
        total=max(a.scope.musts, b.scope.musts),
        broken_a=[aspect for aspect in both if verdicts[0][aspect] in broken],
        broken_b=[aspect for aspect in both if verdicts[1][aspect] in broken],
    )


def _worst(tests: list[TestResult]) -> TestResult | None:
    """Return the test with the worst outcome, which decides the verdict of an aspect."""
    return min(tests, key=lambda test: WORST_FIRST.index(test.outcome), default=None)


def _verdict(record: RunRecord, identity: str) -> str:
    found = record.requirements.get(identity)
    return found.outcome.value if found else UNTESTED


def _aspects(
    identity: str,
    a: RunRecord,
    b: RunRecord,
    tests: tuple[dict[str, list[TestResult]], dict[str, list[TestResult]]],
) -> list[AspectDifference]:
    """Return the aspects that differ, in the order of `VerdictChange`."""
    left = a.requirements[identity].aspects if identity in a.requirements else {}
    right = b.requirements[identity].aspects if identity in b.requirements else {}
    found = []
    for name in sorted({*left, *right}):
        outcomes = left.get(name), right.get(name)
        words = tuple(outcome.value if outcome else UNTESTED for outcome in outcomes)
        if words[0] == words[1] or not JUDGED & {*words}:
            continue
        sides = _worst(tests[0].get(name, [])), _worst(tests[1].get(name, []))
        failing = sides[1] if words[0] in PASSED else sides[0]
        known = failing or sides[0] or sides[1]
        found.append(
            AspectDifference(
                aspect=name,
                level=known.level.value if known else "",
                judgement=known.judgement if known else False,
                a=words[0],
                b=words[1],
                why=one_line(failing.seen or failing.reason, _WHY_LIMIT)
                if failing and failing.outcome is not Outcome.PASSED
                else "",
            )
        )
    order = [group.value for group in VerdictChange]
    return sorted(found, key=lambda aspect: order.index(group_of(aspect.a, aspect.b).value))


def group_of(a: str, b: str) -> VerdictChange:
    """Return how two outcomes differ."""
    pairs = (
        (PASSED, BROKEN, VerdictChange.ONLY_A_KEEPS, VerdictChange.ONLY_B_KEEPS),
        (PASSED, ABSENT, VerdictChange.ONLY_A_OFFERS, VerdictChange.ONLY_B_OFFERS),
    )
    for one, other, forth, back in pairs:
        if a in one and b in other:
            return forth
        if b in one and a in other:
            return back
    if a in JUDGED and b not in JUDGED:
        return VerdictChange.NOT_ON_B
    if b in JUDGED and a not in JUDGED:
        return VerdictChange.NOT_ON_A
    return VerdictChange.OTHERWISE


def _forms(a: RunRecord, b: RunRecord) -> list[FormPair]:
    sides: list[dict[str, str]] = [{}, {}]
    for forms, record in zip(sides, (a, b), strict=True):
        for verdict in record.requirements.values():
            forms.update(verdict.forms)
    pairs = [
        FormPair(
            aspect=name,
            title=title_of(name.partition("/")[0]),
            a=sides[0].get(name, ""),
            b=sides[1].get(name, ""),
        )
        for name in sorted({*sides[0], *sides[1]})
    ]
    return sorted(pairs, key=lambda pair: (not pair.differ, not (pair.a and pair.b)))


def _capabilities(a: RunRecord, b: RunRecord) -> list[CapabilityDifference]:
    """Return the capabilities that both probed with different results; a run probes what its tests need."""
    other = {fact.name: fact for fact in b.capabilities}
    return [
        CapabilityDifference(
            name=left.name,
            a=left.present,
            b=right.present,
            evidence_a=left.evidence,
            evidence_b=right.evidence,
        )
        for left in a.capabilities
        if (right := other.get(left.name)) is not None and left.present is not right.present
    ]


def _by_aspect(record: RunRecord) -> dict[str, list[TestResult]]:
    found: dict[str, list[TestResult]] = {}
    for test in record.tests:
        found.setdefault(test.requirement, []).append(test)
    return found


def _counts(record: RunRecord) -> dict[str, int]:
    counts = {outcome.value: 0 for outcome in WORST_FIRST}
    for verdict in record.requirements.values():
        counts[verdict.outcome.value] += 1
    return {outcome: number for outcome, number in counts.items() if number}
