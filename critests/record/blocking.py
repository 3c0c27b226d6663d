"""Failures that only follow from another one: a single broken step must not fail half the suite."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from critests import catalogue
from critests.catalogue.words import Level, Outcome
from critests.record.reasons import ReasonCode
from critests.record.result_records import TestResult

VERDICTS: Final = frozenset({Outcome.PASSED, Outcome.FAILED, Outcome.WARNED, Outcome.KNOWN})
"""Outcomes of a test that judged the runtime."""
BREACHES: Final = frozenset({Outcome.FAILED, Outcome.WARNED, Outcome.KNOWN})
_SETTLED: Final = BREACHES - {Outcome.FAILED}
"""Outcomes that an earlier judgement assigned."""
UNIMPLEMENTED: Final = "UNIMPLEMENTED"
LOST_CONNECTION: Final = frozenset({"UNAVAILABLE", "CANCELLED"})
"""Codes of calls whose connection was lost."""
_ENDED: Final = frozenset({ReasonCode.RUNTIME_ENDED, ReasonCode.CONCURRENT_CRASH})


@dataclass(frozen=True, kw_only=True)
class RequirementFacts:
    """The part of a requirement in the catalogue that a judgement needs.

    Attributes:
        level: Level of its (first) aspect.
        judgement: It is our engineering judgement (†).
        area: Area of the API.
        title: Its statement.
        builds_on: The requirement without which it cannot be met.
    """

    level: Level = Level.MUST
    judgement: bool = False
    area: str = ""
    title: str = ""
    builds_on: str = ""


def own_blocker(test: TestResult, judge_of: Callable[[str], str | None]) -> str:
    """Return the requirement that judges the failed set-up step of a blocked test; empty if something else is
    missing.
    """
    if test.outcome is not Outcome.BLOCKED:
        return ""
    named = test.reported_blocker or (test.setup_rpc and judge_of(test.setup_rpc)) or test.blocked_by
    return named.partition("/")[0]


def followers(
    tests: Sequence[TestResult],
    judge_of: Callable[[str], str | None],
    facts_of: Callable[[str], RequirementFacts | None],
) -> dict[int, str]:
    """Return the failures that only follow from a broken requirement, index to requirement. These are
    failures by an uncaught error of an RPC whose judging requirement is itself broken or that the runtime
    lacks, failures that name another requirement as their explanation, and failures of a requirement that
    cannot be met without the broken one.

    A follower breaks no requirement itself. If failures follow each other in a circle, the first one counts.
    """
    found = _lacking(tests, judge_of)
    judged = {name for test in tests if test.outcome in VERDICTS for name in _names(test)}
    # a requirement that only failed in set-ups is judged by the first of them (`add_setup_verdicts`)
    broken = {own_blocker(test, judge_of) for test in tests} - judged - {""}
    broken |= {name for test in tests if test.outcome in _SETTLED for name in _names(test)}
    undecided: dict[int, str] = {}
    for index, test in enumerate(tests):
        if test.outcome is not Outcome.FAILED or index in found:
            continue
        judged_by = test.reported_blocker or _explanation(test, judge_of, facts_of)
        if judged_by and judged_by.partition("/")[0] != test.requirement_id:
            undecided[index] = judged_by
        elif not test.unproven_since:
            broken |= _names(test)
    while undecided:
        decided = {index: judged_by for index, judged_by in undecided.items() if judged_by in broken}
        found.update(decided)
        still_open = {name for index in undecided if index not in decided for name in _names(tests[index])}
        stands = [
            index
            for index, judged_by in undecided.items()
            if index not in decided and judged_by not in still_open
        ]
        if not decided and not stands:
            stands = [next(iter(undecided))]
        broken |= {
            name for index in stands if not tests[index].unproven_since for name in _names(tests[index])
        }
        undecided = {
            index: judged_by
            for index, judged_by in undecided.items()
            if index not in decided and index not in stands
        }
    return {index: judged_by.partition("/")[0] for index, judged_by in found.items()}


def _explanation(
    test: TestResult,
    judge_of: Callable[[str], str | None],
    facts_of: Callable[[str], RequirementFacts | None],
) -> str:
    """Return the requirement or aspect whose failure would explain that of a test; empty if there is none."""
    if test.raw_rpc:
        return judge_of(test.raw_rpc) or ""
    facts = facts_of(test.requirement) if test.requirement else None
    return facts.builds_on if facts else ""


def _lacking(tests: Sequence[TestResult], judge_of: Callable[[str], str | None]) -> dict[int, str]:
    """Return the failures that only repeat that the runtime lacks an RPC, and the aspect that judges it.

    One failure reports it: the first test of that aspect, or else the one that `add_setup_verdicts` adds. If
    that aspect passed its own test, the runtime has the RPC, and the failures stay.
    """
    passed = {test.requirement for test in tests if test.outcome is Outcome.PASSED}
    reported: set[str] = set()
    found: dict[int, str] = {}
    for index, test in enumerate(tests):
        if test.outcome is not Outcome.FAILED or test.answer != UNIMPLEMENTED or not test.raw_rpc:
            continue
        judged_by = judge_of(test.raw_rpc)
        if not judged_by or judged_by in passed:
            continue
        if test.requirement == judged_by and test.raw_rpc not in reported and not test.unproven_since:
            reported.add(test.raw_rpc)
        else:
            found[index] = judged_by
    return found


def add_setup_verdicts(
    tests: Sequence[TestResult],
    judge_of: Callable[[str], str | None],
    facts_of: Callable[[str], RequirementFacts | None],
) -> list[TestResult]:
    """Return failures for requirements whose own tests gave no verdict, from the first set-up that failed
    with each. A set-up that hung, or that one of their own tests needed, counts even if other own tests
    passed; one that lost its connection does not where the daemon ended during the run.

    The reason is that of the first failed set-up. The repeat command is that of an own test if one is
    blocked.
    """
    # a set-up that several tests share fails once, and the daemon may run again when the next one meets it
    ended = any(test.why.code in _ENDED for test in tests)
    judged = {name for test in tests if test.outcome in VERDICTS for name in _names(test)}
    broken = {name for test in tests if test.outcome in BREACHES for name in _names(test)}
    of_its_own: dict[str, TestResult] = {}
    for test in tests:
        if test.outcome is Outcome.BLOCKED and test.blocked_by == test.requirement_id:
            of_its_own.setdefault(test.blocked_by, test)
    results = []
    for test in tests:
        rpc = test.setup_rpc or test.raw_rpc
        aspect = (rpc and judge_of(rpc)) or test.blocked_by
        requirement = aspect if aspect.partition("/")[0] == test.blocked_by else test.blocked_by
        settled = broken if test.hung or test.blocked_by in of_its_own else judged
        if test.outcome is not Outcome.BLOCKED or not requirement or requirement in settled:
            continue
        if ended and test.answer in LOST_CONNECTION:
            continue
        judged.add(requirement)
        broken.add(requirement)
        facts = facts_of(requirement) or RequirementFacts(area=test.area)
        stands_for = of_its_own.get(test.blocked_by, test)
        results.append(
            dataclasses.replace(
                stands_for,
                id=f"<judged in set-up of {stands_for.id}>",
                stands_for=stands_for.id,
                name="set_up_judges_" + requirement.replace("-", "_").replace("/", "_"),
                params={},
                requirement=requirement,
                requirement_id=test.blocked_by,
                area=facts.area,
                group=test.blocked_by.rpartition("-")[0],
                level=facts.level,
                judgement=facts.judgement,
                title=facts.title,
                outcome=Outcome.FAILED,
                why=test.why,
                reason=test.reason,
                reported_blocker="",
                blocked_by="",
                setup_rpc="",
                raw_rpc=rpc,
                answer=test.answer,
                hung=test.hung,
                form="",
                synthesized=True,
                phase_of_failure=test.phase_of_failure or "setup",
                unproven_since="",
                expectation="",
            )
        )
    return results


def facts_from_catalogue(name: str) -> RequirementFacts | None:
    """Return the facts of a requirement or an aspect in the catalogue; None if it is unknown."""
    found = catalogue.load().find(name.partition("/")[0])
    if found is None:
        return None
    aspect = next((aspect for aspect in found.aspects if aspect.id == name), found.aspects[0])
    return RequirementFacts(
        level=aspect.level,
        judgement=aspect.judgement,
        area=found.area.value,
        title=found.title,
        builds_on=aspect.builds_on,
    )


def _names(test: TestResult) -> set[str]:
    """Return the names under which a failure of this test is known: its aspect and its requirement."""
    return {test.requirement, test.requirement_id} - {""}
