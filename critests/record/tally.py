"""Verdicts of requirements, and counts of outcomes."""

from collections import Counter
from collections.abc import Mapping, Sequence

from critests.catalogue.words import Level, Outcome, worst
from critests.record.blocking import VERDICTS
from critests.record.result_records import RequirementVerdict, TestResult
from critests.record.run_record import Counts


def verdicts(tests: Sequence[TestResult]) -> dict[str, RequirementVerdict]:
    """Return the verdict of every requirement that a test names: the worst of its tests."""
    of_requirement: dict[str, list[TestResult]] = {}
    for test in tests:
        if test.requirement_id:
            of_requirement.setdefault(test.requirement_id, []).append(test)
    return {requirement: _verdict(of_requirement[requirement]) for requirement in sorted(of_requirement)}


def musts_judged(tests: Sequence[TestResult]) -> int:
    """Return how many aspects of level MUST, that are not our judgement, have a verdict."""
    return len(
        {
            test.requirement
            for test in tests
            if test.requirement
            and test.level is Level.MUST
            and not test.judgement
            and test.outcome in VERDICTS
        }
    )


def count(tests: Sequence[TestResult], requirements: Mapping[str, RequirementVerdict]) -> Counts:
    """Count outcomes of tests, in total and per area, and of requirements; zero counts are left out."""
    areas: dict[str, Counter[str]] = {}
    for test in tests:
        areas.setdefault(test.area or "other", Counter())[test.outcome.value] += 1
    return Counts(
        outcomes=dict(Counter(test.outcome.value for test in tests)),
        areas={area: dict(numbers) for area, numbers in areas.items()},
        requirements=dict(Counter(verdict.outcome.value for verdict in requirements.values())),
    )


def _verdict(tests: Sequence[TestResult]) -> RequirementVerdict:
    aspects: dict[str, list[Outcome]] = {}
    forms: dict[str, list[str]] = {}
    for test in tests:
        aspects.setdefault(test.requirement or test.requirement_id, []).append(test.outcome)
        if test.form and test.form not in forms.setdefault(test.requirement or test.requirement_id, []):
            forms[test.requirement or test.requirement_id].append(test.form)
    return RequirementVerdict(
        outcome=worst([test.outcome for test in tests]),
        aspects={aspect: worst(outcomes) for aspect, outcomes in aspects.items()},
        tests=[test.id for test in tests],
        forms={aspect: " / ".join(found) for aspect, found in forms.items()},
    )
