"""Results for responses that break a rule, whichever test they came to light in.

Such a result belongs to the requirement of the rule, not to the test that made the call; the test keeps its
own result.
"""

import contextlib
import dataclasses
from collections.abc import Sequence

from google.protobuf.message import Message

from critests import catalogue
from critests.api.since import ALWAYS, Minor, since_field
from critests.client.call_recording import Call
from critests.record.files import shortened
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.responses.response_judge import ResponseJudge
from critests.responses.rules import Response, Violation
from critests.run.findings import finding

NAME = "every_response"
CONDITION_CALLS = "calls of the conditions"
"""What stands in place of a test's name where the client of a condition received the response."""
OLDEST = 20
"""CRI v1 exists since Kubernetes 1.20."""
VALUE_LIMIT = 300
"""Characters of a value in a result; the evidence has the whole call."""


def judge_call(judge: ResponseJudge, call: Call) -> None:
    """Pass a recorded call to the judge; a call whose request is raw bytes has no known meaning."""
    if not isinstance(call.request, Message):
        return  # type: ignore[unreachable]  # a test may send bytes that are no message
    ended = call.started + call.seconds
    if call.response is None:
        judge.failed(call.rpc, call.endpoint, call.request, call.code, call.started, ended)
    elif isinstance(call.response, Message):
        judge.succeeded(Response(call.rpc, call.endpoint, call.request, call.response, call.started, ended))


def results_of(violations: Sequence[Violation], during: TestResult, minor: int | None) -> list[TestResult]:
    """Return a failed result for each aspect and field that the responses during a test violated.

    Args:
        violations: of its calls.
        during: the result of the test; its evidence and repeat command are theirs too.
        minor: the newest Kubernetes minor whose API the runtime is known to support; None if unknown.
    """
    first: dict[str, Violation] = {}
    for violation in violations:
        first.setdefault(f"{NAME}[{violation.aspect}-{violation.field}]", violation)
    return [_result(name, violation, during, minor) for name, violation in first.items()]


def results_of_conditions(
    violations: Sequence[Violation], results: Sequence[TestResult], minor: int | None
) -> list[TestResult]:
    """Return a failed result for each aspect and field that responses to the clients of conditions violated,
    and none of the run's results is about.

    Args:
        violations: of their calls.
        results: of the whole run.
        minor: see `results_of`.
    """
    if not results:
        return []
    during = dataclasses.replace(results[-1], name=CONDITION_CALLS, evidence="", repeat_command="")
    known = {each.id for each in results}
    return [each for each in results_of(violations, during, minor) if each.id not in known]


def _result(name: str, violation: Violation, during: TestResult, minor: int | None) -> TestResult:
    difference = violation.difference
    about = f" of {difference.about[:13]}" if difference.about else ""
    why = Reason(
        code=ReasonCode.RESPONSE,
        subject=violation.field,
        where=f"{violation.rpc}{about}",
        expected=_short(difference.expected),
        seen=_short(difference.observed),
        words=during.name,
    )
    result = finding(name, violation.aspect, why, during)
    return dataclasses.replace(result, phase_of_failure="call", unproven_since=_unproven(violation, minor))


def _unproven(violation: Violation, minor: int | None) -> str:
    """Return the release that added the aspect or the field, if the runtime is not known to support it."""
    if minor is None:
        return ""
    releases = [catalogue.aspect(violation.aspect)[1].since]
    with contextlib.suppress(LookupError):
        releases.append(since_field(".".join(violation.field.split(".")[:2])))
    newest = max((Minor.parse(release) for release in releases if release), default=ALWAYS)
    return str(newest) if newest.minor > max(minor, OLDEST) else ""


def _short(value: object) -> str:
    return shortened(value if isinstance(value, str) else repr(value), VALUE_LIMIT)
