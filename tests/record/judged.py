"""Results that tests of the judgement make, and what became of them."""

import dataclasses
import re
from typing import Any

from critests.catalogue.words import Outcome
from critests.record.judgement import JudgeContext, Judgement, judge
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.report.wording.endings import exit_sentence

JUDGES = {"RunPodSandbox": "SBX-01", "CreateContainer": "CTR-01", "RemoveContainer": "CTR-28/removed"}


def result(name: str, requirement: str, outcome: Outcome = Outcome.PASSED, **more: object) -> TestResult:
    fields: dict[str, Any] = more
    return TestResult(
        id=f"a.py::{name}",
        name=name,
        requirement=requirement,
        area="containers",
        outcome=outcome,
        **fields,
    )


def judged(*tests: TestResult, **more: object) -> Judgement:
    return judge(tests, JudgeContext(judge_of=JUDGES.get, facts_of=lambda _: None, **more))  # type: ignore[arg-type]  # real fields only


def end_of(judgement: Judgement) -> str:
    return exit_sentence(judgement.ending)


def outcomes(judgement: Judgement) -> dict[str, Outcome]:
    return {test.name: test.outcome for test in judgement.tests}


def refused(name: str, requirement: str, reason: str, **more: object) -> TestResult:
    return result(
        name,
        requirement,
        Outcome.FAILED,
        raw_rpc="RemoveContainer",
        answer="UNKNOWN",
        reason=f"RemoveContainer failed with UNKNOWN: {reason}",
        why=Reason(code=ReasonCode.ANSWER, subject="RemoveContainer", seen="UNKNOWN", words=reason),
        **more,
    )


def saw(name: str, requirement: str, field: str, seen: str, after: str = "StopContainer") -> TestResult:
    why = Reason(code=ReasonCode.VALUE, subject=field, expected=name, seen=seen)
    return result(name, requirement, Outcome.FAILED, why=why, after=after)


def nonsense(test: TestResult) -> TestResult:
    """Return a result with another word for each that a person reads: equal ones stay equal."""
    said = {name: strange(getattr(test, name)) for name in ("reason", "seen", "detail", "title", "known_as")}
    return dataclasses.replace(test, why=nonsense_of(test.why), **said)  # type: ignore[arg-type]  # all of these are text


def nonsense_of(why: Reason) -> Reason:
    said = {name: strange(getattr(why, name)) for name in ("words", "where", "other")}
    more = [strange(line) for line in why.more]
    return dataclasses.replace(why, more=more, parts=[nonsense_of(part) for part in why.parts], **said)  # type: ignore[arg-type]  # all of these are text


def strange(text: str) -> str:
    # words in quotes and with digits vary from one answer to the next
    return re.sub(r"(?<![\w\"'])[A-Za-z]+(?![\w\"'])", lambda word: f"z{word[0][::-1]}q", text)
