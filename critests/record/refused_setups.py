"""Set-ups whose call was rejected although the call works in general: the requested feature is broken."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from critests.catalogue.words import Level, Outcome
from critests.record.blocking import BREACHES, LOST_CONNECTION, VERDICTS, RequirementFacts
from critests.record.result_records import TestResult
from critests.record.varying_text import without_what_varies

_NO_REFUSAL: Final = LOST_CONNECTION | {"", "DEADLINE_EXCEEDED"}
"""Status codes that do not depend on the request."""
TESTS: Final = 2
"""Tests that must be rejected with the same message: a single rejection may be a coincidence."""


def attribute_refused_setups(
    tests: Sequence[TestResult], facts_of: Callable[[str], RequirementFacts | None]
) -> list[TestResult]:
    """Attribute rejected set-ups to the requirement that their tests are about, if the requirement that
    judges the call passed its own tests.

    A runtime that accepts a plain request and rejects each one with a device breaks the requirements of
    devices. As none of their tests gets to a verdict, the first rejected set-up gives one
    (`add_setup_verdicts`). It counts for one requirement without a verdict, preferably a MUST.

    Args:
        tests: Results; those with a failed set-up name the requirement that judges it.
        facts_of: Requirement to its facts in the catalogue, None if it is unknown.
    """
    passed = _named(tests, frozenset({Outcome.PASSED})) - _named(tests, BREACHES)
    judged = _named(tests, VERDICTS)
    groups: dict[tuple[str, ...], list[TestResult]] = {}
    for test in tests:
        if is_refused(test) and test.blocked_by in passed:
            words = without_what_varies(test.why.words)
            groups.setdefault((test.blocked_by, test.setup_rpc, test.answer, words), []).append(test)
    attributed: dict[str, str] = {}
    for refused in groups.values():
        able = [
            test for test in refused if test.requirement_id not in judged and _speaks_for_all(test, facts_of)
        ]
        if able and len({test.id.partition("[")[0] for test in refused}) >= TESTS:
            first = min(able, key=lambda test: test.level is not Level.MUST or test.judgement)
            attributed |= dict.fromkeys((test.id for test in refused), first.requirement_id)
    return [
        dataclasses.replace(test, blocked_by=attributed[test.id]) if test.id in attributed else test
        for test in tests
    ]


class SetupOutcome(Protocol):
    """The fields of `TestResult` that describe a failed set-up."""

    @property
    def outcome(self) -> Outcome: ...  # noqa: D102 - those of a result
    @property
    def setup_rpc(self) -> str: ...  # noqa: D102 - see above
    @property
    def answer(self) -> str: ...  # noqa: D102 - see above
    @property
    def hung(self) -> bool: ...  # noqa: D102 - see above


def is_refused(test: SetupOutcome) -> bool:
    """Return whether the runtime rejected a call of the set-up, presumably because of the request."""
    return (
        test.outcome is Outcome.BLOCKED
        and bool(test.setup_rpc)
        and not test.hung
        and test.answer not in _NO_REFUSAL
    )


def _speaks_for_all(test: TestResult, facts_of: Callable[[str], RequirementFacts | None]) -> bool:
    """Return whether the test's aspect has the level of its requirement, at which the set-up is judged."""
    facts = facts_of(test.requirement_id) or RequirementFacts()
    binds = test.level in {Level.MUST, Level.SHOULD}
    return binds and (facts.level, facts.judgement) == (test.level, test.judgement)


def _named(tests: Sequence[TestResult], outcomes: frozenset[Outcome]) -> set[str]:
    return {
        name for test in tests if test.outcome in outcomes for name in (test.requirement, test.requirement_id)
    }
