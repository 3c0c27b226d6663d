"""How a run ended, in words; what became of its MUSTs, counted by aspect and said in one sentence."""

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
"""Exit code to the verdict in two or three words, and the outcome whose colour it has."""
IN_PART: Final = "In part only"
"""The verdict where nothing is broken and not the whole suite was run."""


@dataclass(frozen=True, kw_only=True)
class Musts:
    """Numbers of aspects.

    Attributes:
        judged: Aspects of level MUST, that are not our judgement, with a verdict.
        broken: Those of them that are broken.
        known: Those of them that are broken and listed in the runtime's expectations.
        blocked: Further ones that could not be judged.
        unoffered: Further ones that are of features which the runtime does not offer.
        beside: Broken aspects of optional features that the runtime offers, or of no requirement.
    """

    judged: int
    broken: int
    known: int
    blocked: int
    unoffered: int
    beside: int

    @property
    def kept(self) -> int:
        """Number of aspects that were judged and are kept."""
        return self.judged - self.broken - self.known


def musts(tests: Iterable[TestResult]) -> Musts:
    """Count the MUSTs of some tests of a run; a known failure that passed, and a capability that is missing,
    are none.
    """
    aspects: dict[str, list[Outcome]] = {}
    beside: set[str] = set()
    for test in tests:
        if _is_must(test):
            aspects.setdefault(test.requirement, []).append(_seen(test))
        elif test.outcome is Outcome.FAILED and _seen(test) is Outcome.FAILED:
            beside.add(test.requirement or test.id)
    verdicts = [worst(outcomes) for outcomes in aspects.values()]
    broken, known = verdicts.count(Outcome.FAILED), verdicts.count(Outcome.KNOWN)
    return Musts(
        judged=broken + known + verdicts.count(Outcome.PASSED),
        broken=broken,
        known=known,
        blocked=verdicts.count(Outcome.BLOCKED),
        unoffered=verdicts.count(Outcome.UNSUPPORTED),
        beside=len(beside),
    )


def verdict_sentence(record: RunRecord) -> str:
    """Say with numbers what a run found, with a capital letter and a full stop; for one that came to no
    verdict, say why.
    """
    found = musts(record.tests)
    parts = []
    once = sum(test.by_chance for test in record.tests)
    unexplained = record.exit_code == ExitCode.BROKEN and not found.broken
    if record.exit_code not in {ExitCode.CONFORMS, ExitCode.BROKEN} or not found.judged or unexplained:
        parts.append(record.exit_reason or "no reason was recorded")
    if found.judged and (found.broken or not parts):
        parts.append(_of_the_judged(found))
    if once:
        parts.append(f"{plural(once, 'test')} failed once and in none of the tries after")
    if found.beside:
        parts.append(f"{plural(found.beside, 'promise')} beside the MUSTs {_are(found.beside)} broken")
    if found.judged and found.blocked:
        parts.append(f"{found.blocked} more could not be judged")
    if found.judged and found.unoffered:
        what = "is of a feature" if found.unoffered == 1 else "are of features"
        parts.append(f"{found.unoffered} {what} that it does not offer")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _of_the_judged(found: Musts) -> str:
    if found.judged == 1:
        said = "broken" if found.broken else "known to be broken" if found.known else "kept"
        return f"the one MUST aspect that was judged is {said}"
    judged = f"{plural(found.judged, 'MUST aspect')} that were judged"
    known = f", {found.known} more {_are(found.known)} known to be" if found.known else ""
    if found.broken:
        return f"{found.broken} of the {judged} {_are(found.broken)} broken{known}"
    if found.known:
        return (
            f"{found.kept} of the {judged} {_are(found.kept)} kept,"
            f" {found.known} {_are(found.known)} known to be broken"
        )
    return f"every one of the {judged} is kept"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _is_must(test: TestResult) -> bool:
    return bool(test.requirement) and test.level is Level.MUST and not test.judgement


def _seen(test: TestResult) -> Outcome:
    """Return what the runtime did: a known failure that passed was kept, a missing capability broke none."""
    broke_nothing = test.why.code in {ReasonCode.UNEXPECTED_PASS, ReasonCode.CAPABILITY_MISSING}
    return Outcome.PASSED if test.outcome is Outcome.FAILED and broke_nothing else test.outcome
