"""The sentence that says why a test did not pass, derived from its reason, for all reports and for pytest's
own display.
"""

import dataclasses
import re
from collections.abc import Callable
from typing import Final

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode, number_in, seconds_between
from critests.record.result_records import TestResult
from critests.report.wording.plain_values import plain_value

EXPECTED: Final = {
    "==": "",
    "!=": "anything but ",
    "<": "less than ",
    "<=": "at most ",
    ">": "more than ",
    ">=": "at least ",
    "in": "one of ",
    "not in": "none of ",
    "is": "",
    "is not": "anything but ",
    "contains": "to contain ",
    "contains not": "not to contain ",
}
"""How an expected value is introduced, by the operator of the comparison."""
IN_TIME: Final = {
    "==": "the same time as ",
    "!=": "another time than ",
    "<": "before ",
    "<=": "not after ",
    ">": "after ",
    ">=": "not before ",
}
"""The same for a point in time."""
SIDES: Final = {
    "Left contains": "observed value contains",
    "Right contains": "expected value contains",
    "Extra items in the left set:": "only in the observed set:",
    "Extra items in the right set:": "only in the expected set:",
}
"""pytest's words for the sides of a comparison, and those for a reader who has not read the test."""
_SIDES: Final = re.compile("|".join(SIDES))
_LIMITED: Final = frozenset({"B", "µs"})
"""Units of limits; no value means that there is no limit."""
_STATUS_CODE: Final = re.compile(r"<?StatusCode\.([A-Z_]+)(?:: \(\d+, '[^']*'\)>)?")
_NEXT_FIELD: Final = re.compile(r"\\n *(?=[a-z_]+(?:: | \{))")
_LAST_FIELD: Final = re.compile(r"\\n *(?=[}\].,]|$)")
"""The end of the last field in the representation of a CRI message."""
_IN_A_SET_UP: Final = frozenset(
    {ReasonCode.ANSWER, ReasonCode.NOT_IMPLEMENTED, ReasonCode.LOG_UNREADABLE, ReasonCode.CONDITION}
)
_REGISTRIES_CONF: Final = "/etc/containers/registries.conf.d/50-critests.conf"
_BREACHES: Final = frozenset({Outcome.FAILED, Outcome.WARNED, Outcome.KNOWN})


def worded_result(test: TestResult) -> TestResult:
    """Return a result with its sentences and its text; those of a stored result are preserved."""
    if test.reason or (test.why.code is ReasonCode.NONE and not test.known_as):
        return test
    breach = test.outcome in _BREACHES and test.why.code is not ReasonCode.NONE
    seen = f"{_tries(test)}{text_of(test.why)}" if breach else ""
    return dataclasses.replace(test, reason=sentence(test), seen=seen, title=test.title or _title(test))


def _title(test: TestResult) -> str:
    """Return the promise of a result that is not of a test function and whose requirement is unknown."""
    if test.why.code is ReasonCode.CAPABILITY_MISSING:
        return f"The runtime must offer what --require declares: {test.why.subject}."
    step = test.raw_rpc or test.requirement
    return f"{step} works, as the set-up of other tests needs it." if test.stands_for else ""


def sentence(test: TestResult) -> str:
    """Return why a test did not pass, in one sentence; empty if it passed."""
    why = test.why
    if test.intermittent:
        return f"known to fail intermittently: {test.known_as}"
    text = said(why)
    if why.code is ReasonCode.HARNESS and why.subject:
        text = f"{why.subject} in the harness during {test.phase_of_failure}: {text}"
    elif test.outcome is Outcome.ERROR and test.phase_of_failure == "teardown":
        text = f"clean-up: {text}"
    elif why.code is ReasonCode.NOT_IMPLEMENTED and test.outcome is not Outcome.UNSUPPORTED:
        text = f"{text}, but is mandatory ({why.words or 'no message'})"
    elif why.code is ReasonCode.RUNTIME_ENDED and test.outcome in _BREACHES:
        text = _ended(test)
    if why.code in _IN_A_SET_UP and (
        test.stands_for or (test.outcome is Outcome.BLOCKED and not test.raw_rpc)
    ):
        text = f"{text}, in the set-up"
    if test.unproven_since and test.outcome is Outcome.UNSUPPORTED:
        text = f"{unproven(test)}; {text}"
    text = f"{_tries(test)}{text}"
    return text or test.known_as


def observed(test: TestResult) -> str:
    """Return what a test observed, in one line: fields by their names instead of the test's expressions, and
    the number of tries only if some of them passed.
    """
    tries, mixed = _tries(test), test.now_and_then or test.plain_tries
    if test.why.code is not ReasonCode.VALUE or not (test.why.expected or test.why.seen):
        seen = "" if test.why.code is ReasonCode.RUNTIME_ENDED else test.seen.partition("\n")[0]
        text = seen or test.reason
        return text if mixed else text.removeprefix(tries)
    return f"{tries if mixed else ''}{said(test.why)}"


def _tries(test: TestResult) -> str:
    """Say how often a repeated test failed; empty if it ran once."""
    if not test.tries:
        return ""
    if not test.plain_tries:
        return f"failed in {test.failures} of {test.tries} tries: "
    only = ", so only under it" if test.only_under_condition else ""
    return (
        f"failed in {test.failures} of {test.tries} tries under the condition and in {test.plain_failures} of"
        f" {test.plain_tries} without it{only}: "
    )


def unproven(test: TestResult) -> str:
    """Say why the level of an aspect is not binding."""
    return f"unproven level: nothing shows that the runtime knows Kubernetes {test.unproven_since}"


def _ended(test: TestResult) -> str:
    """Say when the runtime exited, and during which call."""
    why = test.why
    if why.more:
        return f"{_runtime_ended(why)} while these ran: {', '.join(why.more)}"
    when = "before the first test" if test.synthesized else "during the test"
    at = f" at {why.subject}" if why.subject else ""
    last = f"; its last words: {why.words}" if why.words else ""
    return f"{_runtime_ended(why)} {when}{at}{last}"


def _runtime_ended(why: Reason) -> str:
    if why.other:
        return f"{why.where}, which the daemon ({why.other}) works with, exited"
    return f"the daemon ({why.where}) exited" if why.where else why.words or "the daemon exited"


def said(why: Reason) -> str:
    """Return a reason in one line."""
    if why.parts:
        whole = dataclasses.replace(why, parts=[])
        between = "; or else " if why.relation == "or" else "; "
        return between.join(map(said, why.parts if why.code is ReasonCode.VALUE else [whole, *why.parts]))
    return _plain(_SAYING.get(why.code, _words)(why))


def text_of(why: Reason) -> str:
    """Return a reason with its details, in as many lines as needed."""
    more = [] if why.code is ReasonCode.RUNTIME_ENDED else why.more
    return "\n".join([said(why), *(_plain(_SIDES.sub(lambda found: SIDES[found[0]], line)) for line in more)])


def _value(why: Reason) -> str:
    """Return the expected and the observed value, and the name of the field instead of the test's expression
    if it has one.
    """
    name = why.subject or why.where
    if not why.where:
        seen = f"observed {_shown(why.seen, why.unit)}" if why.seen else "which is not the case"
        return f"expected {why.expected}, {seen}"
    if why.relation == "elements":
        differences = (("missing", why.expected), ("unexpected", why.seen))
        texts = [f"{word} {_shown(values, why.unit)}" for word, values in differences if values]
        return f"{name}: {', '.join(texts)}"
    seconds = seconds_between(why.seen, why.expected)
    if seconds is not None and why.relation in IN_TIME:
        apart = (
            f"{abs(seconds):.6g} s {'after' if seconds > 0 else 'before'} it" if seconds else "the same time"
        )
        return f"{name}: expected {IN_TIME[why.relation]}{why.other}, observed {apart}"
    expected, seen = (_shown(value, why.unit) for value in (why.expected, why.seen))
    if why.relation == "set":
        return f"{name}: expected a value, observed {seen}"
    between = ";" if ", " in expected else ","
    return f"{name}: expected {EXPECTED.get(why.relation, '')}{expected}{between} observed {seen}"


def _shown(value: str, unit: str) -> str:
    """Return a number rounded, with its unit; another value in plain words."""
    if unit in _LIMITED and " and " in value:
        return " and ".join(_shown(each, unit) for each in value.split(" and "))
    number = number_in(value)
    if number is None:
        if unit in _LIMITED and value == "None":
            return "no limit"
        return plain_value(_STATUS_CODE.sub(r"\1", value))
    if not unit and number % 1 == 0:
        return str(number)
    return f"{number:,} {unit}" if isinstance(number, int) else f"{number:.4g} {unit}".rstrip()


def _plain(text: str) -> str:
    """Remove Python's own syntax from a representation."""
    return _LAST_FIELD.sub("", _NEXT_FIELD.sub(", ", _STATUS_CODE.sub(r"\1", text))).strip()


def _response(why: Reason) -> str:
    expected, seen = (_shown(value, why.unit) for value in (why.expected, why.seen))
    call = f"in the response of {why.where} during {why.words}"
    return f"{why.subject} {call}: expected {expected}, observed {seen}"


def _words(why: Reason) -> str:
    return why.words


def _answer(why: Reason) -> str:
    of = f" of {why.where}" if why.where else ""
    code = f" with {why.seen}" if why.seen else ""
    return f"{why.subject}{of} failed{code}: {why.words or 'no message'}"


def _hang(why: Reason) -> str:
    return why.words or f"{why.subject} did not answer within {why.expected} {why.unit}"


def _leftover(why: Reason) -> str:
    return f"{why.subject} left after the removal of objects of {why.where}, for {why.seen} {why.unit}"


def _unexpected_pass(why: Reason) -> str:
    what = f"unexpected pass: {why.subject} expects it to be {why.expected}"
    return f"{what}; limit the entry to earlier versions, or remove it"


def _silent(why: Reason) -> str:
    within = f" within {why.expected} {why.unit}" if why.expected else ""
    return f"the runtime stopped responding ({why.where}: {why.subject} got no response{within})"


def _unreachable(why: Reason) -> str:
    return (
        f"the runtime does not reach the suite's registry at {why.where} ({why.words or why.seen}). Runtimes"
        f" that read {_REGISTRIES_CONF.rsplit('/', 2)[0]} (CRI-O) need in {_REGISTRIES_CONF}: [[registry]]"
        f' location = "{why.where}" insecure = true, and a reload; containerd takes loopback registries'
        " over plain HTTP unless its hosts.toml says otherwise. Or mirror the images (`critests images"
        " build`) and give --image-prefix"
    )


def _not_removed(why: Reason) -> str:
    what = f"{why.subject} {why.where}".strip() or "an object of a test"
    return ": ".join(filter(None, [f"{what} could not be removed", why.seen, why.words]))


def _missing(why: Reason) -> str:
    words = why.words or ("" if why.seen else "no probe knows it")
    evidence = f" ({words})" if words else ""
    return f"{why.subject} is required by --require and was not found{evidence}"


_CONDITION_RULES: Final = {
    "own runtime": "the test uses a runtime that it starts itself, where the condition does not hold",
    "time": "the test measures time",
    "session": "the test keeps a connection open, which ends with the daemon",
    "monitor": "the shim or monitor of its container was killed before it failed",
    "ended": "the daemon was killed during StartContainer, and the container has ended since",
}
"""The sentence of each `critests.run.condition_rules.ConditionRule` without words of its own."""


def _not_under_condition(why: Reason) -> str:
    if why.seen:
        return f"not tested under {why.subject}: a step failed or took long by plan ({why.seen})"
    return f"not tested under {why.subject}: {why.words or _CONDITION_RULES.get(why.where, why.where)}"


_SAYING: Final[dict[ReasonCode, Callable[[Reason], str]]] = {
    ReasonCode.VALUE: _value,
    ReasonCode.ANSWER: _answer,
    ReasonCode.RESPONSE: _response,
    ReasonCode.NOT_IMPLEMENTED: lambda why: f"{why.subject} is not implemented",
    ReasonCode.HANG: _hang,
    ReasonCode.RUNTIME_ENDED: _runtime_ended,
    ReasonCode.RUNTIME_SILENT: _silent,
    ReasonCode.CONCURRENT_CRASH: lambda _: "the daemon exited while this test and others ran",
    ReasonCode.LEFTOVER: _leftover,
    ReasonCode.REGISTRY_UNREACHABLE: _unreachable,
    ReasonCode.NO_IMAGES: lambda _: "the test needs an image, and this run serves none (--read-only)",
    ReasonCode.TOO_LONG: lambda why: (
        f"the test took more than {why.expected} {why.unit} in addition to its calls to the runtime"
    ),
    ReasonCode.NOT_REMOVED: _not_removed,
    ReasonCode.RUNS_DISAGREE: lambda why: f"the merged runs disagree about {why.subject}",
    ReasonCode.TIME_LIMIT: lambda _: "the time limit of the run cut the test",
    ReasonCode.DESELECTED: lambda _: "deselected",
    ReasonCode.UNEXPECTED_PASS: _unexpected_pass,
    ReasonCode.CAPABILITY_MISSING: _missing,
    ReasonCode.NOT_UNDER_CONDITION: _not_under_condition,
}
"""The sentence of each code; the others quote the test or the runtime."""
