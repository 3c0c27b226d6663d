"""Set-ups that were refused although the call works: what they asked for is what is broken."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from critests.catalogue.words import Level, Outcome
from critests.record.blocking import BREACHES, VERDICTS, RequirementFacts
from critests.record.result_records import TestResult
from critests.record.varying_text import without_what_varies

_NO_REFUSAL: Final = frozenset({"", "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"})
"""Answers that do not come from what was asked for."""
TESTS: Final = 2
"""One refusal may have come by chance: of so many tests, with the same words, it has not."""


def attribute_refused_setups(
    tests: Sequence[TestResult], facts_of: Callable[[str], RequirementFacts | None]
) -> list[TestResult]:
    """Let tests whose set-up was refused be blocked by what they are about, where the requirement that judges
    the call was kept by tests of its own.

    A runtime that takes a plain request and refuses every one with a device breaks what is promised of
    devices; as no test of these came so far as to say it, the first of the refused set-ups will
    (`add_setup_verdicts`). It is held against one requirement of which no test gave a verdict, a MUST before
    others.

    Args:
        tests: Results of which those whose set-up failed name the requirement that judges it.
        facts_of: Requirement to what the catalogue says of it, None where it is unknown.
    """
    kept = _named(tests, frozenset({Outcome.PASSED})) - _named(tests, BREACHES)
    judged = _named(tests, VERDICTS)
    groups: dict[tuple[str, ...], list[TestResult]] = {}
    for test in tests:
        if is_refused(test) and test.blocked_by in kept:
            words = without_what_varies(test.why.words)
            groups.setdefault((test.blocked_by, test.setup_rpc, test.answer, words), []).append(test)
    blamed: dict[str, str] = {}
    for refused in groups.values():
        able = [
            test for test in refused if test.requirement_id not in judged and _speaks_for_all(test, facts_of)
        ]
        if able and len({test.id.partition("[")[0] for test in refused}) >= TESTS:
            first = min(able, key=lambda test: test.level is not Level.MUST or test.judgement)
            blamed |= dict.fromkeys((test.id for test in refused), first.requirement_id)
    return [
        dataclasses.replace(test, blocked_by=blamed[test.id]) if test.id in blamed else test for test in tests
    ]


class SetupOutcome(Protocol):
    """What is known of how a test ended; see `TestResult`."""

    @property
    def outcome(self) -> Outcome: ...  # noqa: D102 - those of a result
    @property
    def setup_rpc(self) -> str: ...  # noqa: D102 - see above
    @property
    def answer(self) -> str: ...  # noqa: D102 - see above
    @property
    def hung(self) -> bool: ...  # noqa: D102 - see above


def is_refused(test: SetupOutcome) -> bool:
    """Say whether a call of the set-up was refused, for what it asked for as it seems."""
    return (
        test.outcome is Outcome.BLOCKED
        and bool(test.setup_rpc)
        and not test.hung
        and test.answer not in _NO_REFUSAL
    )


def _speaks_for_all(test: TestResult, facts_of: Callable[[str], RequirementFacts | None]) -> bool:
    """Say whether the test's own aspect has the level of its requirement, at which that will be judged."""
    facts = facts_of(test.requirement_id) or RequirementFacts()
    binds = test.level in {Level.MUST, Level.SHOULD}
    return binds and (facts.level, facts.judgement) == (test.level, test.judgement)


def _named(tests: Sequence[TestResult], outcomes: frozenset[Outcome]) -> set[str]:
    return {
        name for test in tests if test.outcome in outcomes for name in (test.requirement, test.requirement_id)
    }
