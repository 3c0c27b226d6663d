"""The verdict on a run in words, and the number of its MUSTs that are broken, by aspect and in a sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from critests.catalogue.words import Level, Outcome, worst
from critests.exit_codes import ExitCode
from critests.record.reasons import ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.wording.texts import plural

ENDS: Final[dict[int, tuple[str, Outcome]]] = {
    ExitCode.CONFORMS: ("Conforms", Outcome.PASSED),
    ExitCode.BROKEN: ("Does not conform", Outcome.FAILED),
    ExitCode.INTERRUPTED: ("Interrupted", Outcome.DISABLED),
    ExitCode.HARNESS_ERROR: ("Harness error", Outcome.ERROR),
    ExitCode.NOT_TESTED: ("Could not be tested", Outcome.BLOCKED),
}
"""Exit code to the verdict in two or three words, and the outcome with whose colour it is shown."""
IN_PART: Final = "In part only"
"""The verdict if nothing is broken but not the whole suite ran."""


@dataclass(frozen=True, kw_only=True)
class Musts:
    """Numbers of aspects.

    Attributes:
        judged: Aspects of level MUST with a verdict, without those of good sense.
        broken: Of these, broken ones.
        known: Of these, known failures.
        blocked: Further aspects that could not be judged.
        once: Further aspects with a failure that did not recur, which is a warning.
        unoffered: Further aspects of features that the runtime does not offer.
        others_broken: Broken aspects of optional features that the runtime offers, or of no requirement.
    """

    judged: int
    broken: int
    known: int
    blocked: int
    once: int
    unoffered: int
    others_broken: int

    @property
    def passed(self) -> int:
        """Number of aspects that were judged and are not broken."""
        return self.judged - self.broken - self.known


def musts(tests: Iterable[TestResult]) -> Musts:
    """Count the MUSTs of some tests; a known failure that passed and a missing capability break none."""
    aspects: dict[str, list[Outcome]] = {}
    others_broken: set[str] = set()
    for test in tests:
        if _is_must(test):
            aspects.setdefault(test.requirement, []).append(_observed(test))
        elif test.outcome is Outcome.FAILED and _observed(test) is Outcome.FAILED:
            others_broken.add(test.requirement or test.id)
    verdicts = [worst(outcomes) for outcomes in aspects.values()]
    broken, known = verdicts.count(Outcome.FAILED), verdicts.count(Outcome.KNOWN)
    return Musts(
        judged=broken + known + verdicts.count(Outcome.PASSED),
        broken=broken,
        known=known,
        blocked=verdicts.count(Outcome.BLOCKED),
        once=verdicts.count(Outcome.WARNED),
        unoffered=verdicts.count(Outcome.UNSUPPORTED),
        others_broken=len(others_broken),
    )


def verdict_sentence(record: RunRecord) -> str:
    """Return the numbers of a run as a sentence; of a run without a verdict, the reason."""
    found = musts(record.tests)
    parts = []
    once = sum(test.by_chance for test in record.tests)
    unexplained = record.exit_code == ExitCode.BROKEN and not found.broken
    if record.exit_code not in {ExitCode.CONFORMS, ExitCode.BROKEN} or not found.judged or unexplained:
        parts.append(record.exit_reason or "no reason was recorded")
    if found.judged and (found.broken or not parts):
        parts.append(_judged_sentence(found))
    if once:
        parts.append(f"{plural(once, 'test')} failed once and passed in all further tries")
    if found.others_broken:
        parts.append(f"{plural(found.others_broken, 'failure')} outside the MUST aspects")
    if found.judged and found.blocked:
        parts.append(f"{found.blocked} more could not be judged")
    if found.judged and found.unoffered:
        what = "covers a feature" if found.unoffered == 1 else "cover features"
        parts.append(f"{found.unoffered} more {what} that the runtime does not offer")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _judged_sentence(found: Musts) -> str:
    if found.judged == 1:
        verdict = "is broken" if found.broken else "is a known failure" if found.known else "passed"
        return f"the one MUST aspect that was judged {verdict}"
    judged = f"{plural(found.judged, 'MUST aspect')} that were judged"
    known = f", {plural(found.known, 'known failure')}" if found.known else ""
    if found.broken:
        return f"{found.broken} of the {judged} {_are(found.broken)} broken{known}"
    return f"{found.passed} of the {judged} passed{known}" if found.known else f"all {judged} passed"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _is_must(test: TestResult) -> bool:
    return bool(test.requirement) and test.level is Level.MUST and not test.judgement


def _observed(test: TestResult) -> Outcome:
    """Return the outcome for the runtime: a known failure that passed, or a missing capability, breaks
    nothing.
    """
    broke_nothing = test.why.code in {ReasonCode.UNEXPECTED_PASS, ReasonCode.CAPABILITY_MISSING}
    return Outcome.PASSED if test.outcome is Outcome.FAILED and broke_nothing else test.outcome
