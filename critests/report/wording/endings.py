"""The sentences of a whole run: why it ends as it does, its root causes, and what its reader should know."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.exit_codes import ExitCode
from critests.record.exits import ExitCause, ExitDecision
from critests.record.expectations import AppliedExpectations, KnownFailure
from critests.record.judgement import Judgement
from critests.record.result_records import RootCause
from critests.record.run_record import RunRecord
from critests.report.wording.reason_sentences import said, sentence, worded_result

BREACH: Final = {
    Level.MUST: "a MUST broken",
    Level.SHOULD: "a SHOULD broken",
    Level.OPT: "an optional feature broken that the runtime offers",
    Level.DIV: "a hang, crash or leak where runtimes may differ",
}
"""What a failed test found, by the level of what it tests."""


def worded(record: RunRecord, judgement: Judgement) -> RunRecord:
    """Return a record with the sentences that its readers get: made here once, of the judgement."""
    tests = [worded_result(test) for test in record.tests]
    reasons = {test.id: test.reason for test in tests}
    causes = [
        dataclasses.replace(cause, reason=reasons.get(cause.shown_by, "")) for cause in record.root_causes
    ]
    reason = exit_sentence(judgement.ending)
    if record.kind == "benchmark" and judgement.ending.code in {ExitCode.CONFORMS, ExitCode.BROKEN}:
        reason = _measured(record)
    return dataclasses.replace(
        record,
        tests=tests,
        root_causes=causes,
        exit_reason=reason,
        notes=list(
            dict.fromkeys([*record.notes, *notes_of(judgement.entries, record.runtime.version, causes)])
        ),
    )


def exit_sentence(end: ExitDecision) -> str:  # noqa: PLR0911 - one for each way to end
    """Say why a run ends with its exit code."""
    gone = said(end.gone) if end.gone else ""
    match end.because:
        case ExitCause.INTERRUPTED:
            return f"interrupted after {_of(end.ran, 'test')}; nothing is said about the rest"
        case ExitCause.HARNESS:
            tests = _of(end.errors, "test")
            own = f"the harness itself failed in {tests}; nothing is said about the runtime there"
            return "; ".join(filter(None, [end.harness_error or own, _broken(end)]))
        case ExitCause.UNREACHABLE if end.shown_by is not None:
            return f"the runtime could not be tested: {sentence(end.shown_by)}"
        case ExitCause.BROKEN:
            found = _broken(end) or "the runtime ended in a way that is known"
            rest = f"; the rest could not be judged: {gone}" if gone else ""
            return f"{found} ({_of(end.known, 'known failure')}){rest}"
        case ExitCause.GONE:
            return f"the runtime could not be tested: {gone}"
        case ExitCause.NOTHING_RAN:
            what = "scenario" if end.measuring else "test of a MUST"
            if end.shown_by is None:
                return f"no {what} was selected or could run"
            return f"no {what} could run; the commonest reason: {sentence(end.shown_by)}"
        case ExitCause.STRICT:
            return f"no MUST is broken, but --strict counts {_of(end.warned, 'warning')}"
    others = _others(end)
    if end.known_binding:
        are = "is" if end.known_binding == 1 else "are"
        return f"no MUST is broken but for {end.known_binding} that {are} known to be ({others})"
    return f"every MUST that could be tested is kept ({others})"


def _others(end: ExitDecision) -> str:
    """Say what there is beside what is kept."""
    others = f"{_of(end.known, 'known failure')}, {_of(end.warned, 'warning')}"
    if not end.by_chance:
        return others
    return f"{others}, {end.by_chance} of them for a failure that did not come again"


def _broken(end: ExitDecision) -> str:
    """Say what is broken, and how many findings that comes down to; empty where nothing is."""
    found = ", ".join(
        f"{_of(end.broken[level], 'test')} found {breach}"
        for level, breach in BREACH.items()
        if end.broken.get(level)
    )
    if end.findings < sum(end.broken.values()):
        found = f"{found}, which comes down to {_of(end.findings, 'finding')}"
    if end.now_and_then:
        found = f"{found}, {end.now_and_then} of them in some of their tries only"
    surprise = f"{_of(end.surprises, 'known failure')} passed, so that the list of them is wrong"
    lacking = "a capability that --require names is missing"
    if end.missing > 1:
        lacking = f"{end.missing} capabilities that --require names are missing"
    return "; ".join(filter(None, [found, surprise * bool(end.surprises), lacking * bool(end.missing)]))


def _measured(record: RunRecord) -> str:
    """Say what a benchmark measured; its scenarios are tests, but promises are not what they judge."""
    outcomes = record.counts.outcomes
    done, failed = outcomes.get(Outcome.PASSED.value, 0), outcomes.get(Outcome.FAILED.value, 0)
    kept_out = outcomes.get(Outcome.BLOCKED.value, 0) + outcomes.get(Outcome.UNSUPPORTED.value, 0)
    rest = [
        f"{failed} could not be, because the runtime failed" if failed else "",
        f"{kept_out} cannot be here" if kept_out else "",
    ]
    return "; ".join([f"{done} scenario{'s were' if done != 1 else ' was'} measured", *filter(None, rest)])


def notes_of(entries: AppliedExpectations, version: str, causes: Sequence[RootCause] = ()) -> list[str]:
    """Say what became of known failures in a version, and where tests contradict each other."""
    source = entries.source
    notes = [
        f"{source}:{entry.line}: the entry for {entry.requirement} ({entry.test}) expired on {entry.expires}"
        " and does not apply"
        for entry in entries.expired
    ]
    notes += [
        f"{source}:{entry.line}: no longer needed from {version}: {entry.requirement} ({entry.test}) passed;"
        f" runs have shown it to be {entry.outcome}{_where(entry)}"
        for entry in entries.obsolete
    ]
    notes += [
        f"{test.requirement} ({test.name})"
        f" {'passed' if test.outcome is Outcome.PASSED else 'failed'} this time; {worded_result(test).reason}"
        for test in entries.tests
        if test.intermittent
    ]
    return notes + [_contradiction(cause) for cause in causes if cause.outcome is Outcome.PASSED]


def _where(entry: KnownFailure) -> str:
    """Say where runs have shown a known failure."""
    if not entry.proven.conditions:
        return ", which hangs on more than that version"
    return f" only in {entry.proven}"


def _contradiction(cause: RootCause) -> str:
    tests = f"{len(cause.blocked)} tests" if len(cause.blocked) > 1 else "one test"
    return (
        f"{cause.requirement} passed its own test, yet {cause.rpc or 'its step'} failed in the set-up of"
        f" {tests}: {cause.reason}"
    )


def _of(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
