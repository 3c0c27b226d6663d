"""Upgrades records of earlier versions, which have reasons only as sentences. No other module reads those."""

import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Final

from critests.catalogue.words import Level, Outcome
from critests.exit_codes import ExitCode
from critests.record.blocking import VERDICTS
from critests.record.reasons import ReasonCode

_VALUE: Final = re.compile(r"(?P<subject>.+): expected (?P<expected>.+), seen (?P<seen>.+)", re.DOTALL)
_FIELD: Final = re.compile(r"\.(\w+)(?:\(\))?(?:\[-?\d+\])?\Z")
_PLAIN: Final = {"nothing": "[]", "the same time": "0"}
"""Words for empty values, as Python literals."""
_ANSWER: Final = re.compile(r"(?P<rpc>\w+) failed (?:in the set-up: |with )(?P<code>[A-Z_]+): (?P<words>.*)")
_ENDED: Final = re.compile(
    r"the daemon \((?P<where>.+?)\) ended (?:during the test|before the first test)"
    r"(?: at (?:a malformed )?(?P<rpc>\w+))?(?:, with the words: (?P<words>.*))?"
)
_NO_HANG: Final = re.compile(r"did not answer within [\d.]+ s")
_BEGINNINGS: Final = {
    "unexpected pass": ReasonCode.UNEXPECTED_PASS,
    "the runtime does not reach the suite's registry": ReasonCode.REGISTRY_UNREACHABLE,
    "the runtime stopped answering": ReasonCode.RUNTIME_SILENT,
    "the daemon (": ReasonCode.RUNTIME_ENDED,
    "the daemon ended": ReasonCode.RUNTIME_ENDED,
    "waited ": ReasonCode.CONDITION,
    "expected ": ReasonCode.VALUE,
    "DID NOT RAISE": ReasonCode.NOT_REFUSED,
}
_OF_OUTCOME: Final = {
    "failed": ReasonCode.SAID,
    "warned": ReasonCode.SAID,
    "known": ReasonCode.SAID,
    "error": ReasonCode.HARNESS,
    "blocked": ReasonCode.NOT_HERE,
    "unsupported": ReasonCode.NOT_OFFERED,
    "disabled": ReasonCode.DESELECTED,
}
_NOW_AND_THEN: Final = "known to fail now and then"
_SET_UP, _CAPABILITY = "<judged in set-up of ", "<required capability: "


def upgrade(record: MutableMapping[str, Any]) -> None:
    """Add to the tests of a record, as plain JSON, the fields that earlier versions lack. A current record is
    unchanged; malformed data are left to the reader.
    """
    stored = record.get("tests")
    tests = [test for test in stored if isinstance(test, dict)] if isinstance(stored, list) else []
    code, reason = record.get("exit_code"), record.get("exit_reason", "")
    if code == ExitCode.HARNESS_ERROR:
        record.setdefault("harness_error", reason)
    if code == ExitCode.NOT_TESTED and _any_must_judged(tests):
        record.setdefault("runtime_gone", reason)
    gone = record.get("runtime_gone")
    if isinstance(gone, str):
        record["runtime_gone"] = _reason(ReasonCode.RUNTIME_ENDED, words=gone) if gone else None
    for test in tests:
        if "why" not in test and isinstance(test.get("reason", ""), str):
            _upgrade(test)


def _any_must_judged(tests: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a test of a MUST, or any test if there is none, has a verdict."""
    begun = [test for test in tests if test.get("outcome") != Outcome.DISABLED]
    binding = [test for test in begun if test.get("level", Level.MUST) == Level.MUST] or begun
    return any(test.get("outcome") in VERDICTS for test in binding)


def _upgrade(test: MutableMapping[str, Any]) -> None:
    identity, reason = str(test.get("id", "")), test.get("reason", "")
    test["intermittent"] = reason.startswith(_NOW_AND_THEN)
    if identity.startswith(_SET_UP):
        test["stands_for"] = identity.removeprefix(_SET_UP).removesuffix(">")
    if identity.startswith(_CAPABILITY):
        name = identity.removeprefix(_CAPABILITY).removesuffix(">")
        test["why"] = {"code": ReasonCode.CAPABILITY_MISSING.value, "subject": name}
    elif reason:
        test["why"] = _why(test, reason)


def _why(test: MutableMapping[str, Any], reason: str) -> dict[str, str]:
    """Return the reason in a sentence as data."""
    outcome, answer = str(test.get("outcome", "")), str(test.get("answer", ""))
    rpc = str(test.get("raw_rpc") or test.get("setup_rpc") or "")
    if ended := _ENDED.match(reason):
        return _reason(ReasonCode.RUNTIME_ENDED, ended["rpc"], words=ended["words"]) | {
            "where": ended["where"]
        }
    if test.get("hung") or (rpc and _NO_HANG.search(reason)):
        return _reason(ReasonCode.HANG, rpc, seen=answer)
    if rpc and answer:
        code = ReasonCode.NOT_IMPLEMENTED if answer == "UNIMPLEMENTED" else ReasonCode.ANSWER
        found = _ANSWER.match(reason)
        return _reason(code, rpc, seen=answer, words=found["words"] if found else reason)
    begun = next((code for start, code in _BEGINNINGS.items() if reason.startswith(start)), None)
    value = _VALUE.fullmatch(reason) if begun in {None, ReasonCode.VALUE} and outcome != "blocked" else None
    if value:
        field = _FIELD.search(value["subject"])
        seen = _PLAIN.get(value["seen"], value["seen"])
        return _reason(ReasonCode.VALUE, field[1] if field else "", value["expected"], seen)
    return _reason(begun or _OF_OUTCOME.get(outcome, ReasonCode.NONE), words=reason)


def _reason(
    code: ReasonCode, subject: str | None = "", expected: str = "", seen: str = "", words: str | None = ""
) -> dict[str, str]:
    return {
        "code": code.value,
        "subject": subject or "",
        "expected": expected,
        "seen": seen,
        "words": words or "",
    }
