"""Results for responses that break a rule, whichever test they came to light in.

Such a result belongs to the requirement of the rule, not to the test that made the call; the test keeps its
own result.
"""

import dataclasses
from collections.abc import Sequence

from google.protobuf.message import Message

from critests import catalogue
from critests.catalogue.words import Outcome
from critests.client.call_recording import Call
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.responses.response_judge import ResponseJudge
from critests.responses.rules import Response, Violation
from critests.run.run_settings import Settings

NAME = "every_response"
VALUE_LIMIT = 300
"""Characters of a value in a result; the evidence has the whole call."""


def judge_call(judge: ResponseJudge, call: Call) -> None:
    """Pass a recorded call to the judge; a call whose request is raw bytes has no known meaning."""
    if not isinstance(call.request, Message):
        return  # type: ignore[unreachable]  # a test may send bytes that are no message
    if call.response is None:
        judge.failed(call.rpc, call.endpoint, call.request, call.code, call.started)
    elif isinstance(call.response, Message):
        ended = call.started + call.seconds
        judge.succeeded(Response(call.rpc, call.endpoint, call.request, call.response, call.started, ended))


def results_of(violations: Sequence[Violation], during: TestResult, settings: Settings) -> list[TestResult]:
    """Return a failed result for each aspect and field that the responses during a test violated.

    Args:
        violations: of its calls.
        during: the result of the test; its evidence and repeat command are theirs too.
        settings: the user's options.
    """
    first: dict[str, Violation] = {}
    for violation in violations:
        first.setdefault(f"{NAME}[{violation.aspect}-{violation.field}]", violation)
    return [_result(name, violation, during, settings) for name, violation in first.items()]


def _result(name: str, violation: Violation, during: TestResult, settings: Settings) -> TestResult:
    requirement, aspect = catalogue.aspect(violation.aspect)
    difference = violation.difference
    about = f" of {difference.about[:13]}" if difference.about else ""
    return dataclasses.replace(
        during,
        id=f"<{name}>",
        name=name,
        params={},
        requirement=violation.aspect,
        requirement_id=requirement.id,
        area=requirement.area.value,
        group=requirement.group,
        level=aspect.level_at(settings.api_minor) or aspect.level,
        judgement=aspect.judgement,
        title=requirement.statement,
        outcome=Outcome.FAILED,
        why=Reason(
            code=ReasonCode.RESPONSE,
            subject=violation.field,
            where=f"{violation.rpc}{about}",
            expected=_short(difference.expected),
            seen=_short(difference.observed),
            words=during.name,
        ),
        detail="",
        reported_blocker="",
        blocked_by="",
        setup_rpc="",
        raw_rpc="",
        answer="",
        after="",
        hung=False,
        form="",
        slow=False,
        phase_of_failure="call",
        unproven_since="",
        seconds=0.0,
        setup_seconds=0.0,
        teardown_seconds=0.0,
    )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= VALUE_LIMIT else f"{text[:VALUE_LIMIT]}…"
