"""What a gate finds about promises: breaches, verdicts and capabilities that are gone, too much that was
blocked.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.record.blocking import BREACHES
from critests.record.results import TestResult
from critests.record.run import RunRecord
from critests.report.gates.findings import Finding, Kind
from critests.report.gates.policy import JUDGEMENT, MUST, SHOULD, Policy, Waiver
from critests.report.wording.texts import one_line, plural

GONE: Final = frozenset({Outcome.UNSUPPORTED, Outcome.BLOCKED})
_REASON: Final = 160


def conformance_findings(
    record: RunRecord, policy: Policy, waivers: Sequence[Waiver], baseline: RunRecord | None
) -> list[Finding]:
    """Return what is to be said about the promises of a run.

    Args:
        record: The run.
        policy: What it may do.
        waivers: Those that hold.
        baseline: An earlier run; only what is new since then fails.
    """
    found = [*_breaches(record, policy, waivers, baseline), *_too_much_blocked(record, policy)]
    if baseline is not None:
        found += [*_gone(record, policy, waivers, baseline), *_capabilities(record, waivers, baseline)]
        found += _new_warnings(record, policy, waivers, baseline)
    for waiver in waivers:
        covered = [test for test in record.tests if waiver.covers_test(test)]
        if covered and all(test.outcome is Outcome.PASSED for test in covered):
            sentence = (
                f"the waiver for {waiver.subject} ({policy.source}:{waiver.line}) covers nothing that is"
                " broken: it can go"
            )
            found.append(Finding(kind=Kind.SAID, fails=False, subject=waiver.subject, sentence=sentence))
    known = sum(test.outcome is Outcome.KNOWN for test in record.tests)
    if known:
        found.append(
            Finding(
                kind=Kind.KNOWN,
                fails=False,
                subject="",
                sentence=f"{plural(known, 'known failure')} of the expectations",
            )
        )
    return found


def binds_as(test: TestResult) -> str:
    """Return the word of a policy's `levels` that a test falls under."""
    if test.judgement:
        return JUDGEMENT
    return SHOULD if test.level is Level.SHOULD else MUST


def _breaches(
    record: RunRecord, policy: Policy, waivers: Sequence[Waiver], baseline: RunRecord | None
) -> Iterable[Finding]:
    waived: list[TestResult] = []
    old: list[TestResult] = []
    groups: dict[str, list[TestResult]] = {}
    before = {test.id: test for test in baseline.tests} if baseline else {}
    for test in record.tests:
        if not _blocks(test, policy):
            continue
        if any(waiver.covers_test(test) for waiver in waivers):
            waived.append(test)
        elif baseline is not None and _was_broken(test, before.get(test.id), baseline, policy):
            old.append(test)
        else:
            groups.setdefault(test.requirement or test.id, []).append(test)
    behind = {cause.requirement: len(cause.blocked) for cause in record.root_causes}
    new = "" if baseline is None else "new: "
    for subject, tests in groups.items():
        first, blocked = tests[0], behind.get(tests[0].requirement_id, 0)
        what = one_line(first.seen or first.reason or first.title, _REASON)
        more = f" ({len(tests)} tests)" if len(tests) > 1 else ""
        stands = f"; it stands in the way of {plural(blocked, 'test')}" if blocked else ""
        level = "" if first.outcome is Outcome.FAILED else f"{binds_as(first)} "
        yield Finding(
            kind=Kind.BREACH if first.outcome is Outcome.FAILED else Kind.WARNING,
            fails=True,
            subject=subject,
            sentence=f"{new}{level}{subject} {one_line(first.name, 120)}{more}: {what}{stands}",
            weight=len(tests) + blocked,
        )
    for kind, tests, words in (
        (Kind.WAIVED, waived, "waived"),
        (Kind.OLD, old, "broken in the baseline too"),
    ):
        if tests:
            names = ", ".join(dict.fromkeys(test.requirement or test.name for test in tests))
            sentence = f"{plural(len(tests), 'test')} {words}: {one_line(names, _REASON)}"
            yield Finding(kind=kind, fails=False, subject="", sentence=sentence, weight=len(tests))


def _blocks(test: TestResult, policy: Policy) -> bool:
    if test.outcome is Outcome.FAILED:
        return MUST in policy.levels
    return test.outcome is Outcome.WARNED and binds_as(test) in policy.levels


def _new_warnings(
    record: RunRecord, policy: Policy, waivers: Sequence[Waiver], baseline: RunRecord
) -> Iterable[Finding]:
    """What does not bind by this policy, was kept in the baseline, and is not now."""
    before = {test.id: test for test in baseline.tests}
    groups: dict[str, list[TestResult]] = {}
    for test in record.tests:
        if test.outcome is not Outcome.WARNED or _blocks(test, policy):
            continue
        old = before.get(test.id)
        broken = old.outcome in BREACHES if old else _was_broken(test, None, baseline, policy)
        if not broken and not any(waiver.covers_test(test) for waiver in waivers):
            groups.setdefault(test.requirement or test.id, []).append(test)
    for subject, tests in groups.items():
        what = one_line(tests[0].seen or tests[0].reason or tests[0].title, _REASON)
        more = f" ({len(tests)} tests)" if len(tests) > 1 else ""
        yield Finding(
            kind=Kind.WARNING,
            fails=False,
            subject=subject,
            sentence=f"new: {binds_as(tests[0])} {subject} {one_line(tests[0].name, 120)}{more}: {what}",
            weight=len(tests),
        )


def _was_broken(test: TestResult, before: TestResult | None, baseline: RunRecord, policy: Policy) -> bool:
    """Say whether the baseline has this breach; of a test that it has not, whether its aspect was broken."""
    if before is not None:
        return before.outcome is Outcome.KNOWN or (
            _blocks(before, policy) and before.outcome in {test.outcome, Outcome.FAILED}
        )
    verdict = baseline.requirements.get(test.requirement_id)
    outcome = verdict.aspects.get(test.requirement) if verdict else None
    return outcome in {Outcome.FAILED, Outcome.KNOWN} or (outcome is not None and outcome is test.outcome)


def _too_much_blocked(record: RunRecord, policy: Policy) -> Iterable[Finding]:
    blocked = [test for test in record.tests if test.outcome is Outcome.BLOCKED]
    if policy.max_blocked is not None and len(blocked) > policy.max_blocked:
        reason, number = Counter(_cause(test) for test in blocked).most_common(1)[0]
        sentence = (
            f"{plural(len(blocked), 'test')} blocked, {policy.max_blocked} allowed; {number} of them:"
            f" {one_line(reason, _REASON)}"
        )
        yield Finding(
            kind=Kind.BLOCKED, fails=True, subject="blocked", sentence=sentence, weight=len(blocked)
        )


def _gone(
    record: RunRecord, policy: Policy, waivers: Sequence[Waiver], baseline: RunRecord
) -> Iterable[Finding]:
    """What passed in the baseline and is not offered or cannot be judged now, grouped by its cause."""
    now = {test.id: test for test in record.tests}
    groups: dict[tuple[str, Outcome, str], list[str]] = {}
    not_run = 0
    for before in baseline.tests:
        if before.outcome is not Outcome.PASSED:
            continue
        test = now.get(before.id)
        if test is None or test.outcome is Outcome.DISABLED:
            not_run += 1
        elif test.outcome in GONE and not any(waiver.covers_test(test) for waiver in waivers):
            groups.setdefault((binds_as(test), test.outcome, _cause(test)), []).append(
                test.requirement or test.name
            )
    for aspect, outcome, level in _aspects_gone(record, baseline, now):
        if not any(waiver.covers_aspect(aspect) for waiver in waivers):
            groups.setdefault((level, outcome, "its tests have other names now"), []).append(aspect)
    for (level, outcome, cause), names in groups.items():
        subjects = ", ".join(dict.fromkeys(names))
        passed = (
            f"{plural(len(names), 'test')} that passed {'is' if len(names) == 1 else 'are'}"
            f" {outcome.value} now"
        )
        yield Finding(
            kind=Kind.GONE,
            fails=level in policy.levels,
            subject=names[0],
            sentence=f"{passed} ({one_line(subjects, 100)}): {one_line(cause, _REASON)}",
            weight=len(names),
        )
    if not_run:
        sentence = (
            f"{plural(not_run, 'test')} of the baseline not run: nothing is said about"
            f" {'it' if not_run == 1 else 'them'}"
        )
        yield Finding(kind=Kind.SAID, fails=False, subject="", sentence=sentence)


def _aspects_gone(
    record: RunRecord, baseline: RunRecord, now: dict[str, TestResult]
) -> Iterable[tuple[str, Outcome, str]]:
    """Yield aspects that passed, none of whose tests is there any more under its name, and that are gone."""
    renamed: dict[str, TestResult] = {}
    still: set[str] = set()
    for before in baseline.tests:
        if before.id in now:
            still.add(before.requirement)
        elif before.requirement:
            renamed.setdefault(before.requirement, before)
    for aspect, before in renamed.items():
        old, new = (
            baseline.requirements.get(before.requirement_id),
            record.requirements.get(before.requirement_id),
        )
        outcome = new.aspects.get(aspect) if new else None
        if (
            aspect not in still
            and old
            and old.aspects.get(aspect) is Outcome.PASSED
            and outcome is not None
            and outcome in GONE
        ):
            yield aspect, outcome, binds_as(before)


def _capabilities(record: RunRecord, waivers: Sequence[Waiver], baseline: RunRecord) -> Iterable[Finding]:
    """What was there and is not found now; a run looks only for what its tests need, so what it did not look
    for is not gone.
    """
    now = {fact.name: fact for fact in record.capabilities}
    waived = {waiver.capability for waiver in waivers}
    for before in baseline.capabilities:
        fact = now.get(before.name)
        if before.present is not True or fact is None or fact.present is True:
            continue
        found = "is not there" if fact.present is False else "could not be found out"
        seen = f": {one_line(fact.evidence, _REASON)}" if fact.evidence else ""
        yield Finding(
            kind=Kind.WAIVED if before.name in waived else Kind.CAPABILITY,
            fails=before.name not in waived,
            subject=before.name,
            sentence=(
                f"{before.name} was there and {found} now{seen}{' (waived)' if before.name in waived else ''}"
            ),
        )


def _cause(test: TestResult) -> str:
    if test.blocked_by:
        return f"{test.blocked_by} stood in the way"
    return test.reason or "no reason was given"
