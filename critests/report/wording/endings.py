"""The sentences about a whole run: the reason of its exit code, its root causes, and notes."""

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
    Level.MUST: "a broken MUST",
    Level.SHOULD: "a broken SHOULD",
    Level.OPT: "a broken optional feature that the runtime offers",
    Level.DIV: "a hang, crash or leak where runtimes may differ",
}
"""What a failed test found, by level."""


def worded(record: RunRecord, judgement: Judgement) -> RunRecord:
    """Return the record with its sentences, which are derived from the judgement only here."""
    tests = [worded_result(test) for test in record.tests]
    reasons = {test.id: test.reason for test in tests}
    causes = [
        dataclasses.replace(cause, reason=reasons.get(cause.shown_by, "")) for cause in record.root_causes
    ]
    reason = exit_sentence(judgement.ending)
    if record.kind == "benchmark" and judgement.ending.code in {ExitCode.NO_NEW_FAILURE, ExitCode.BROKEN}:
        reason = _measured(record)
    return dataclasses.replace(
        record,
        tests=tests,
        root_causes=causes,
        exit_reason=reason,
        notes=list(
            dict.fromkeys(
                [
                    *record.notes,
                    *map(said, record.remarks),
                    *notes_of(judgement.entries, record.runtime.version, causes),
                ]
            )
        ),
    )


def exit_sentence(end: ExitDecision) -> str:  # noqa: PLR0911 - one return per reason
    """Return the reason of a run's exit code."""
    gone = said(end.gone) if end.gone else ""
    match end.because:
        case ExitCause.INTERRUPTED:
            return f"interrupted after {_of(end.ran, 'test')}; the rest did not run"
        case ExitCause.HARNESS:
            tests = _of(end.errors, "test")
            own = f"the harness itself failed in {tests}, where the runtime could not be judged"
            return "; ".join(filter(None, [end.harness_error or own, _broken(end)]))
        case ExitCause.UNREACHABLE if end.shown_by is not None:
            return f"the runtime could not be tested: {sentence(end.shown_by)}"
        case ExitCause.BROKEN:
            broken = _broken(end) or "the runtime exited, which is a known failure"
            rest = f"; the rest could not be judged: {gone}" if gone else ""
            return f"{broken} ({_of(end.known, 'known failure')}){rest}"
        case ExitCause.GONE:
            return f"the runtime could not be tested: {gone}"
        case ExitCause.NOTHING_RAN:
            what = "scenario" if end.measuring else "test of a MUST"
            if end.shown_by is None:
                return f"no {what} was selected or could run"
            return f"no {what} could run; most common reason: {sentence(end.shown_by)}"
        case ExitCause.TIME_LIMIT:
            return f"the time limit left out {_of(end.musts_not_begun, 'test')} of MUSTs, and none was judged"
        case ExitCause.STRICT:
            return f"no MUST is broken, but --strict counts {_of(end.warned, 'warning')}"
    return f"no new failure ({_caveats(end)})"


def _caveats(end: ExitDecision) -> str:
    """Count known failures and warnings of a run without a new failure."""
    caveats = f"{_of(end.known, 'known failure')}, {_of(end.warned, 'warning')}"
    if not end.by_chance:
        return caveats
    return f"{caveats}, {end.by_chance} of them for a failure that did not recur"


def _broken(end: ExitDecision) -> str:
    """Count the broken requirements, and their distinct findings; empty if none is broken."""
    broken = ", ".join(
        f"{_of(end.broken[level], 'test')} found {breach}"
        for level, breach in BREACH.items()
        if end.broken.get(level)
    )
    if end.findings < sum(end.broken.values()):
        broken = f"{broken}, which are {_of(end.findings, 'distinct finding')}"
    if end.now_and_then:
        broken = f"{broken}, {end.now_and_then} of them intermittently"
    surprise = f"{_of(end.surprises, 'known failure')} passed, so the list of known failures is wrong"
    lacking = "a capability that --require names is missing"
    if end.missing > 1:
        lacking = f"{end.missing} capabilities that --require names are missing"
    return "; ".join(filter(None, [broken, surprise * bool(end.surprises), lacking * bool(end.missing)]))


def _measured(record: RunRecord) -> str:
    """Count the scenarios of a benchmark; they are tests that judge no requirement."""
    outcomes = record.counts.outcomes
    done, failed = outcomes.get(Outcome.PASSED.value, 0), outcomes.get(Outcome.FAILED.value, 0)
    skipped = outcomes.get(Outcome.BLOCKED.value, 0) + outcomes.get(Outcome.UNSUPPORTED.value, 0)
    rest = [
        f"{failed} failed because of the runtime" if failed else "",
        f"{skipped} cannot run here" if skipped else "",
    ]
    return "; ".join([f"{done} scenario{'s were' if done != 1 else ' was'} measured", *filter(None, rest)])


def notes_of(entries: AppliedExpectations, version: str, causes: Sequence[RootCause] = ()) -> list[str]:
    """Return notes on expired and outdated known failures, and on tests that contradict each other."""
    source = entries.source
    notes = [
        f"{source}:{entry.line}: the entry for {entry.requirement} ({entry.test}) expired on {entry.expires}"
        " and does not apply"
        for entry in entries.expired
    ]
    notes += [
        f"{source}:{entry.line}: no longer needed from {version}: {entry.requirement} ({entry.test}) passed;"
        f" earlier runs showed it to be {entry.outcome}{_where(entry)}"
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
    """Say in which versions runs have shown a known failure."""
    if not entry.proven.conditions:
        return ", which depends on more than the version"
    return f" only in {entry.proven}"


def _contradiction(cause: RootCause) -> str:
    tests = f"{len(cause.blocked)} tests" if len(cause.blocked) > 1 else "one test"
    return (
        f"{cause.requirement} passed its own test, but {cause.rpc or 'its step'} failed in the set-up of"
        f" {tests}: {cause.reason}"
    )


def _of(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
