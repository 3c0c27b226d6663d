"""The verdict on a run in words: how many MUSTs the runtime meets, and which it breaks, known failures among
them. Whether anything is new is said by the exit code and by the gate.
"""

import re
from dataclasses import dataclass
from typing import Final

from critests import catalogue
from critests.catalogue.words import Level, Outcome, worst
from critests.exit_codes import ExitCode
from critests.record.reasons import ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_record import ApiLevel, RunRecord
from critests.report.facts.display_order import failures
from critests.report.wording.partial_run import partial
from critests.report.wording.texts import one_line, plural

ENDS: Final[dict[int, tuple[str, Outcome]]] = {
    ExitCode.NO_NEW_FAILURE: ("Conforms", Outcome.PASSED),
    ExitCode.BROKEN: ("Failed", Outcome.FAILED),
    ExitCode.INTERRUPTED: ("Interrupted", Outcome.DISABLED),
    ExitCode.HARNESS_ERROR: ("Harness error", Outcome.ERROR),
    ExitCode.NOT_TESTED: ("Could not be tested", Outcome.BLOCKED),
}
"""Exit code to the verdict in two or three words, and the outcome with whose colour it is shown."""
IN_PART: Final = "In part only"
"""The verdict if nothing is broken but not the whole suite ran."""
_MINOR: Final = re.compile(r"1\.(\d{1,4})")
NAMED: Final = 20
"""Broken aspects that the sentence names."""


@dataclass(frozen=True, kw_only=True)
class Musts:
    """The aspects of level MUST by their verdict, without those of good sense.

    Attributes:
        met: Number of aspects that were judged and are not broken.
        broken: The broken aspects, known failures among them, new failures first.
        known: How many of these are known failures.
        blocked: Number of further aspects that could not be judged.
        once: Number of further aspects with a failure that did not recur, which is a warning.
        unoffered: Number of further aspects of features that the runtime does not offer.
        newer: How many of these are newer than the API level of the runtime.
        others_broken: Number of broken aspects of optional features that the runtime offers, or of no
            requirement.
    """

    met: int
    broken: list[str]
    known: int
    blocked: int
    once: int
    unoffered: int
    newer: int
    others_broken: int

    @property
    def judged(self) -> int:
        """Number of aspects with a verdict."""
        return self.met + len(self.broken)

    @property
    def unjudged(self) -> int:
        """Number of aspects that should have a verdict and have none."""
        return self.blocked + self.once


def musts(record: RunRecord) -> Musts:
    """Count the MUSTs of a run; a known failure that passed and a missing capability break none."""
    aspects: dict[str, list[Outcome]] = {}
    newer: set[str] = set()
    others_broken: set[str] = set()
    for test in record.tests:
        if _is_must(test):
            aspects.setdefault(test.requirement, []).append(_observed(test))
            newer |= {test.requirement} if newer_than_api(test, record.api_level) else set()
        elif test.outcome is Outcome.FAILED and _observed(test) is Outcome.FAILED:
            others_broken.add(test.requirement or test.id)
    verdicts: dict[Outcome, list[str]] = {outcome: [] for outcome in Outcome}
    for aspect, outcomes in aspects.items():
        verdicts[worst(outcomes)].append(aspect)
    order = [test.requirement for test in failures(record)]
    unoffered = verdicts[Outcome.UNSUPPORTED]
    return Musts(
        met=len(verdicts[Outcome.PASSED]),
        broken=sorted(verdicts[Outcome.FAILED], key=order.index) + verdicts[Outcome.KNOWN],
        known=len(verdicts[Outcome.KNOWN]),
        blocked=len(verdicts[Outcome.BLOCKED]),
        once=len(verdicts[Outcome.WARNED]),
        unoffered=len(unoffered),
        newer=len(newer.intersection(unoffered)),
        others_broken=len(others_broken),
    )


def newer_than_api(test: TestResult, level: ApiLevel) -> bool:
    """Return whether a test is of a part of the API that is newer than what the runtime supports: such a
    feature is not expected of it.
    """
    found, known = (
        catalogue.load().aspects.get(test.requirement),
        _MINOR.fullmatch(level.declared or level.proven),
    )
    since = found[1].since_minor if found else None
    return bool(test.unproven_since) or (known is not None and since is not None and since > int(known[1]))


def verdict_word(record: RunRecord) -> tuple[str, Outcome]:
    """Return the verdict on a run in a few words, and the outcome with whose colour it is shown.

    A run conforms only if no MUST is broken, not even a known failure, and every MUST of the whole suite was
    judged.
    """
    found = musts(record)
    if record.exit_code not in {ExitCode.NO_NEW_FAILURE, ExitCode.BROKEN}:
        return ENDS.get(record.exit_code, (f"Exit code {record.exit_code}", Outcome.DISABLED))
    if found.broken:
        new = len(found.broken) > found.known or record.exit_code == ExitCode.BROKEN
        return f"{plural(len(found.broken), 'MUST')} broken", Outcome.FAILED if new else Outcome.KNOWN
    if record.exit_code == ExitCode.BROKEN:
        return ENDS[ExitCode.BROKEN]
    if partial(record):
        return IN_PART, Outcome.UNSUPPORTED
    if found.unjudged:
        return f"No MUST broken, {found.unjudged} not judged", Outcome.UNSUPPORTED
    return ENDS[ExitCode.NO_NEW_FAILURE]


def verdict_sentence(record: RunRecord, *, named: bool = True) -> str:
    """Return how many MUSTs a runtime meets, as a sentence; of a run without a verdict, the reason.

    Args:
        record: The run.
        named: Whether the sentence has the ids of the broken ones.
    """
    found = musts(record)
    parts = []
    once = sum(test.by_chance for test in record.tests)
    unexplained = record.exit_code == ExitCode.BROKEN and len(found.broken) == found.known
    if record.exit_code not in {ExitCode.NO_NEW_FAILURE, ExitCode.BROKEN} or not found.judged or unexplained:
        parts.append(record.exit_reason or "no reason was recorded")
    if found.judged:
        parts.append(met_sentence(found, named=named))
    if once:
        parts.append(f"{plural(once, 'test')} failed once and passed in all further tries")
    if found.others_broken:
        parts.append(f"{plural(found.others_broken, 'failure')} outside the MUSTs")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def met_sentence(found: Musts, *, named: bool = True) -> str:
    """Return `449 of 461 MUSTs met, 12 broken: CTR-05, … (known failures)`, and what is not counted in it."""
    names = ", ".join(one_line(aspect, 60) for aspect in found.broken[:NAMED])
    more = f" and {len(found.broken) - NAMED} more" if len(found.broken) > NAMED else ""
    ids = f": {names}{more}" if named else ""
    listed = found.known if found.known < len(found.broken) else ""
    known = f" ({f'{listed} of them known failures' if listed else 'known failures'})" if found.known else ""
    broken = f", {len(found.broken)} broken{ids}{known}" if found.broken else ""
    older = found.unoffered - found.newer
    rest = [
        f"{found.newer} newer than the API of this runtime" if found.newer else "",
        f"{older} of optional features that it does not offer" if older else "",
        f"{found.blocked} that could not be judged" if found.blocked else "",
    ]
    left_out = ", ".join(filter(None, rest))
    return f"{found.met} of {plural(found.judged, 'MUST')} met{broken}" + (
        f"; not counted: {left_out}" if left_out else ""
    )


def _is_must(test: TestResult) -> bool:
    return bool(test.requirement) and test.level is Level.MUST and not test.judgement


def _observed(test: TestResult) -> Outcome:
    """Return the outcome for the runtime: a known failure that passed, or a missing capability, breaks
    nothing.
    """
    broke_nothing = test.why.code in {ReasonCode.UNEXPECTED_PASS, ReasonCode.CAPABILITY_MISSING}
    return Outcome.PASSED if test.outcome is Outcome.FAILED and broke_nothing else test.outcome
