"""A gate's findings about conformance: breaches, lost verdicts and capabilities, too many blocked tests."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.comparison import RunComparison
from critests.report.gates.gate_findings import GateFinding, GateFindingKind
from critests.report.gates.policy import JUDGEMENT, MUST, SHOULD, Policy
from critests.report.wording.texts import one_line, plural

_REASON: Final = 160


def conformance_findings(
    record: RunRecord, policy: Policy, comparison: RunComparison | None
) -> Iterable[GateFinding]:
    """Return the findings about the conformance of a run.

    Args:
        record: The run.
        policy: The policy.
        comparison: Comparison with the baseline as side A, or None; only what is new since then fails.
    """
    worse = None if comparison is None else {each.test for each in comparison.tests if each.worse}
    groups: dict[tuple[str, bool, bool], list[TestResult]] = {}
    old: list[TestResult] = []
    for test in record.tests:
        blocks = _blocks(test, policy)
        if worse is not None and test.id not in worse:
            old += [test] if blocks else []
        elif blocks or test.by_chance or (worse is not None and test.outcome is Outcome.WARNED):
            groups.setdefault((test.requirement or test.id, blocks, test.now_and_then), []).append(test)
    behind = {cause.requirement: len(cause.blocked) for cause in record.root_causes}
    for (subject, blocks, _), tests in groups.items():
        blocked = behind.get(tests[0].requirement_id, 0)
        yield _breach(subject, tests, blocked, fails=blocks, new=comparison is not None)
    if old:
        yield _counted(old, GateFindingKind.OLD, "broken in the baseline too")
    known = [test for test in record.tests if test.outcome is Outcome.KNOWN]
    if known:
        yield _counted(known, GateFindingKind.KNOWN, "known to fail")
    yield from _too_much_blocked(record, policy)
    if comparison is not None:
        yield from _gone(comparison, policy)


def _breach(
    subject: str, tests: Sequence[TestResult], blocked: int, *, fails: bool, new: bool
) -> GateFinding:
    first = tests[0]
    failed = first.outcome is Outcome.FAILED
    what = one_line(first.seen or first.reason or first.title, _REASON)
    more = f" ({len(tests)} tests)" if len(tests) > 1 else ""
    blocks = f"; it blocks {plural(blocked, 'test')}" if blocked else ""
    level = "" if failed else f"{_binds_as(first.level, judgement=first.judgement)} "
    name = one_line(first.name, 120)
    return GateFinding(
        kind=GateFindingKind.INTERMITTENT
        if first.now_and_then
        else GateFindingKind.BREACH
        if failed
        else GateFindingKind.WARNING,
        fails=fails,
        subject=subject,
        sentence=f"{'new: ' if new else ''}{level}{subject} {name}{more}: {what}{blocks}",
        weight=len(tests) + blocked,
    )


def _counted(tests: Sequence[TestResult], kind: GateFindingKind, words: str) -> GateFinding:
    names = ", ".join(dict.fromkeys(test.requirement or test.name for test in tests))
    sentence = f"{plural(len(tests), 'test')} {words}: {one_line(names, _REASON)}"
    return GateFinding(kind=kind, sentence=sentence, weight=len(tests))


def _binds_as(level: str, *, judgement: bool) -> str:
    """Return the entry of a policy's `levels` that covers a test."""
    return JUDGEMENT if judgement else SHOULD if level == Level.SHOULD else MUST


def _blocks(test: TestResult, policy: Policy) -> bool:
    if test.outcome is Outcome.FAILED:
        return MUST in policy.levels
    if test.by_chance:
        return False
    binds = _binds_as(test.level, judgement=test.judgement)
    return test.outcome is Outcome.WARNED and binds in policy.levels


def _too_much_blocked(record: RunRecord, policy: Policy) -> Iterable[GateFinding]:
    blocked = [test for test in record.tests if test.outcome is Outcome.BLOCKED]
    if policy.max_blocked is not None and len(blocked) > policy.max_blocked:
        reason, number = Counter(test.blocked_by or test.reason for test in blocked).most_common(1)[0]
        sentence = (
            f"{plural(len(blocked), 'test')} blocked, {policy.max_blocked} allowed; {number} of them:"
            f" {one_line(reason, _REASON)}"
        )
        yield GateFinding(
            kind=GateFindingKind.BLOCKED,
            fails=True,
            subject="blocked",
            sentence=sentence,
            weight=len(blocked),
        )


def _gone(comparison: RunComparison, policy: Policy) -> Iterable[GateFinding]:
    """Yield tests that passed in the baseline and are not judged now, grouped by cause, and lost
    capabilities.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in comparison.tests:
        if each.gone:
            binds = _binds_as(each.level, judgement=each.judgement)
            groups.setdefault((binds, each.b, each.why), []).append(each.requirement or each.name)
    for (level, outcome, cause), names in groups.items():
        subjects = one_line(", ".join(dict.fromkeys(names)), 100)
        passed = f"{plural(len(names), 'test')} that passed {'is' if len(names) == 1 else 'are'}"
        yield GateFinding(
            kind=GateFindingKind.GONE,
            fails=level in policy.levels,
            subject=names[0],
            sentence=f"{passed} {outcome} now ({subjects}): {one_line(cause, _REASON)}",
            weight=len(names),
        )
    not_run = sum(each.not_run for each in comparison.tests)
    if not_run:
        sentence = f"{plural(not_run, 'test')} of the baseline did not run and cannot be compared"
        yield GateFinding(kind=GateFindingKind.SAID, sentence=sentence)
    for fact in comparison.conformance.capabilities if comparison.conformance else []:
        if fact.a is True:
            now = "is missing" if fact.b is False else "is unknown"
            evidence = f": {one_line(fact.evidence_b, _REASON)}" if fact.evidence_b else ""
            sentence = f"{fact.name} was present in the baseline and {now} now{evidence}"
            yield GateFinding(
                kind=GateFindingKind.CAPABILITY, fails=True, subject=fact.name, sentence=sentence
            )
