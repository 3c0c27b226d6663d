"""A gate's findings about conformance: breaches, lost verdicts and capabilities, too many blocked tests."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.comparison import RunComparison
from critests.report.facts.explanations import consequences, observed_of, promise_of
from critests.report.gates.gate_findings import GateFinding, GateFindingKind
from critests.report.gates.policy import JUDGEMENT, MUST, SHOULD, Policy
from critests.report.wording.message_shortening import shortened_message
from critests.report.wording.texts import one_line, plural

_REASON: Final = 240
"""Characters of a promise, and of what was observed."""


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
    every = [test for (_, blocks, _), tests in groups.items() if blocks for test in tests]
    reported = {test.requirement_id for test in every if not _repeats_another(test)}
    following = Counter(test.cause for test in every if _repeats_another(test) and test.cause in reported)
    blocked = Counter(test.blocked_by for test in record.tests if test.outcome is Outcome.BLOCKED)
    named: set[str] = set()
    for (subject, blocks, _), tests in groups.items():
        own = [test for test in tests if not (_repeats_another(test) and test.cause in reported)]
        root = tests[0].requirement_id
        if not own:
            continue
        first = root not in named
        named.add(root)
        yield _breach(
            subject,
            own,
            following[root] if first else 0,
            blocked[root] if first and root else 0,
            fails=blocks,
            new=comparison is not None,
        )
    if old:
        yield _counted(old, GateFindingKind.OLD, "broken in the baseline too")
    known = [test for test in record.tests if test.outcome is Outcome.KNOWN]
    if known:
        yield _counted(known, GateFindingKind.KNOWN, "known to fail")
    yield from _too_much_blocked(record, policy)
    if comparison is not None:
        followers = {test.id for test in record.tests if test.blocked_by and test.blocked_by in reported}
        yield from _gone(comparison, policy, followers)
        yield from _lost_capabilities(comparison, broken=bool(reported))


def _repeats_another(test: TestResult) -> bool:
    """Whether a failure only repeats that of another requirement."""
    return bool(test.cause) and test.cause != test.requirement_id


def _breach(
    subject: str, tests: Sequence[TestResult], following: int, blocked: int, *, fails: bool, new: bool
) -> GateFinding:
    """Return a finding: the promise, what was observed, and how many other tests follow from it."""
    first = tests[0]
    failed = first.outcome is Outcome.FAILED
    more = f" ({len(tests)} tests)" if len(tests) > 1 else ""
    promise, observed = one_line(promise_of(first) or first.name, _REASON), observed_of(first, _REASON)
    because = consequences(following, blocked)
    level = "" if failed else f"{_binds_as(first.level, judgement=first.judgement)} "
    return GateFinding(
        kind=GateFindingKind.INTERMITTENT
        if first.now_and_then
        else GateFindingKind.BREACH
        if failed
        else GateFindingKind.WARNING,
        fails=fails,
        subject=subject,
        sentence=f"{'new: ' if new else ''}{level}{subject} {promise}",
        details=[
            *([f"{observed}{more}"] if observed else []),
            *([f"because of it, {because}"] if because else []),
        ],
        weight=len(tests) + following + blocked,
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


def _gone(comparison: RunComparison, policy: Policy, followers: set[str]) -> Iterable[GateFinding]:
    """Yield tests that passed in the baseline and are not judged now, grouped by cause; tests that a reported
    finding blocks are counted there.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in comparison.tests:
        if each.gone and each.test not in followers:
            binds = _binds_as(each.level, judgement=each.judgement)
            groups.setdefault((binds, each.b, each.why), []).append(each.requirement or each.name)
    for (level, outcome, cause), names in groups.items():
        subjects = one_line(", ".join(dict.fromkeys(names)), 100)
        passed = f"{plural(len(names), 'test')} that passed {'is' if len(names) == 1 else 'are'}"
        yield GateFinding(
            kind=GateFindingKind.GONE,
            fails=level in policy.levels,
            subject=names[0],
            sentence=f"{passed} {outcome} now ({subjects}): {shortened_message(cause, _REASON)}",
            weight=len(names),
        )
    not_run = sum(each.not_run for each in comparison.tests)
    if not_run:
        sentence = f"{plural(not_run, 'test')} of the baseline did not run and cannot be compared"
        yield GateFinding(kind=GateFindingKind.SAID, sentence=sentence)


def _lost_capabilities(comparison: RunComparison, *, broken: bool) -> Iterable[GateFinding]:
    """Yield the capabilities of the baseline that are missing or unknown now. A probe that fails where
    something is `broken` finds out nothing more about the runtime, so that does not fail the gate again.
    """
    for fact in comparison.conformance.capabilities if comparison.conformance else []:
        if fact.a is True:
            now = "is missing" if fact.b is False else "is unknown"
            evidence = f": {shortened_message(fact.evidence_b, _REASON)}" if fact.evidence_b else ""
            yield GateFinding(
                kind=GateFindingKind.CAPABILITY,
                fails=fact.b is False or not broken,
                subject=fact.name,
                sentence=f"{fact.name} was present in the baseline and {now} now{evidence}",
            )
