"""Judges raw results: blocked followers, warnings, known failures, verdicts and the exit code.

Pure functions on results, which can be applied again to judged results (see `critests.record.merge`).
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from critests.catalogue.words import Level, Outcome
from critests.record.blocking import (
    RequirementFacts,
    add_setup_verdicts,
    facts_from_catalogue,
    followers,
    own_blocker,
)
from critests.record.causes import group_duplicate_failures, root_causes
from critests.record.exits import ExitDecision, ending
from critests.record.expectations import AppliedExpectations, Expectations
from critests.record.reasons import Reason, ReasonCode
from critests.record.refused_setups import attribute_refused_setups
from critests.record.result_records import RequirementVerdict, RootCause, TestResult
from critests.record.run_record import CapabilityFact, Counts
from critests.record.tally import count, verdicts


@dataclass(frozen=True, kw_only=True)
class JudgeContext:
    """What a judgement needs in addition to the results.

    Attributes:
        judge_of: RPC to the requirement or aspect that judges it (`SBX-02`, `RT-25/accept`), or None; for
            example the `get` of a mapping.
        facts_of: Requirement or aspect to its facts in the catalogue, None if it is unknown.
        version: The version that the runtime reports, for the expectations.
        expectations: Known failures of this runtime.
        required: Names of capabilities that must be present.
        capabilities: Probed capabilities.
        strict: Warnings count for the exit code.
        interrupted: The user stopped the run.
        harness_error: Error in the harness itself, or empty.
        runtime_gone: Why the runtime cannot be tested any more; None if it can.
        musts_not_begun: Number of tests of a MUST that the time limit of the run left out.
    """

    judge_of: Callable[[str], str | None]
    facts_of: Callable[[str], RequirementFacts | None] = facts_from_catalogue
    version: str = ""
    expectations: Expectations = field(default_factory=Expectations)
    required: Sequence[str] = ()
    capabilities: Sequence[CapabilityFact] = ()
    strict: bool = False
    interrupted: bool = False
    harness_error: str = ""
    runtime_gone: Reason | None = None
    musts_not_begun: int = 0


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The judged results of a run; its fields are fields of the run record.

    Attributes:
        tests: Final results; those without a test function are last.
        root_causes: Broken requirements with followers, most followers first.
        requirements: Requirement id to its verdict.
        counts: Number of each outcome.
        ending: Exit code of the command and its cause.
        entries: Result of applying the known failures.
    """

    tests: list[TestResult]
    root_causes: list[RootCause]
    requirements: dict[str, RequirementVerdict]
    counts: Counts
    ending: ExitDecision
    entries: AppliedExpectations

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return int(self.ending.code)


def judge_alone(result: TestResult, context: JudgeContext | None) -> TestResult:
    """Return one result judged alone, as far as that is possible before the end of the run.

    Args:
        result: Raw.
        context: The rest of the run; None if it is not known yet: the result stays raw.
    """
    return judge([result], context).tests[0] if context is not None else result


def judge(tests: Sequence[TestResult], context: JudgeContext) -> Judgement:
    """Turn raw results into final ones.

    A raw result is `failed` at any level, with `raw_rpc` if an uncaught error of that RPC failed it. It is
    `blocked` only if its own set-up failed, with the RPC in `setup_rpc` or the judging requirement in
    `reported_blocker`, or if the runtime was gone, with neither. The judgement sets `blocked_by`.

    Args:
        tests: Raw results.
        context: The rest of the run.
    """
    judge_of, facts_of = context.judge_of, context.facts_of
    observed = [_completed(test) for test in tests if not test.stands_for]
    follow = followers(observed, judge_of, facts_of)
    results = [
        _decided(test, follow.get(index) or own_blocker(test, judge_of))
        for index, test in enumerate(observed)
    ]
    results = attribute_refused_setups(results, facts_of)
    results += [by_level(test) for test in add_setup_verdicts(results, judge_of, facts_of)]
    applied = context.expectations.apply(results, context.version)
    results = applied.tests + _missing_capabilities(context, {test.id for test in results})
    results = group_duplicate_failures(results, judge_of)
    causes = root_causes(results)
    requirements = verdicts(results)
    end = ending(
        results,
        strict=context.strict,
        interrupted=context.interrupted,
        harness_error=context.harness_error,
        runtime_gone=context.runtime_gone,
        musts_not_begun=context.musts_not_begun,
    )
    return Judgement(
        tests=results,
        root_causes=causes,
        requirements=requirements,
        counts=count(results, requirements),
        ending=end,
        entries=applied,
    )


def _completed(test: TestResult) -> TestResult:
    """Fill in the requirement and the group that follow from the aspect's name."""
    requirement_id = test.requirement_id or test.requirement.partition("/")[0]
    group = test.group or requirement_id.rpartition("-")[0]
    return dataclasses.replace(test, requirement_id=requirement_id, group=group)


def _decided(test: TestResult, blocked_by: str) -> TestResult:
    """Return a result as blocked by a requirement, or with the outcome for its level."""
    if not blocked_by:
        return by_level(test)
    return dataclasses.replace(test, outcome=Outcome.BLOCKED, blocked_by=blocked_by)


def by_level(test: TestResult) -> TestResult:
    """Return a failure with the outcome for the level and age of its aspect."""
    if test.outcome is not Outcome.FAILED:
        return test
    if test.unproven_since:
        return dataclasses.replace(test, outcome=Outcome.UNSUPPORTED)
    if test.level is Level.SHOULD or test.judgement or test.by_chance:
        return dataclasses.replace(test, outcome=Outcome.WARNED)
    return test


def _missing_capabilities(context: JudgeContext, present: set[str]) -> list[TestResult]:
    """Return a failed result for each required capability that is missing."""
    facts = {fact.name: fact for fact in context.capabilities}
    missing = []
    for name in dict.fromkeys(context.required):
        fact = facts.get(name)
        identity = f"<required capability: {name}>"
        if (fact is None or fact.present is not True) and identity not in present:
            missing.append(
                TestResult(
                    id=identity,
                    name="required_capability_" + "_".join(name.split()),
                    outcome=Outcome.FAILED,
                    why=Reason(
                        code=ReasonCode.CAPABILITY_MISSING,
                        subject=name,
                        seen=repr(fact.present) if fact else "",
                        words=fact.evidence if fact else "",
                    ),
                    synthesized=True,
                )
            )
    return missing
