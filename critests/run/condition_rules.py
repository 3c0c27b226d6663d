"""Which tests do not run under a condition, because the API does not promise under it what they check."""

from enum import StrEnum, unique
from types import CodeType
from typing import Final

import pytest

from critests.conditions.condition_table import RunCondition, chosen
from critests.record.reasons import Reason, ReasonCode
from critests.run.items import metadata_of
from critests.run.marks import NOT_UNDER
from critests.run.run_settings import Settings


@unique
class ConditionRule(StrEnum):
    """Why a test is not run under a condition."""

    OWN_RUNTIME = "own runtime"
    """The test disturbs a runtime that it starts for itself, where the condition does not hold."""
    TIME = "time"
    """The test measures how long something takes."""
    SESSION = "session"
    """The test keeps a session or a stream of events open, which ends with the daemon."""
    STEP = "step"
    """A call of the test reported the failure of a step that failed or took long by the plan."""
    ENDED = "ended"
    """The daemon was killed while it started a container of the test, which has ended since."""
    MONITOR = "monitor"
    """The shim or monitor of a container of the test was killed before the test failed."""
    MARKER = "marker"
    """The test says so by a marker, with a reason."""


OPEN: Final = frozenset({"streams", "events"})
"""Fixtures of tests that keep a connection to the daemon open between two calls."""
CLOCKS: Final = frozenset({"timed", "monotonic", "perf_counter"})
"""Names in the code of a test that measures time."""


def obstacle(item: pytest.Item, settings: Settings) -> Reason | None:
    """Return why a test is not run under the conditions of the run; None if it is."""
    for condition in chosen(settings.condition):
        if why := _of_markers(item, condition) or _of_rules(item, condition):
            return why
    return None


def _of_markers(item: pytest.Item, condition: RunCondition) -> Reason | None:
    for marker in item.iter_markers(NOT_UNDER):
        if condition.name in marker.args:
            return _reason(condition, ConditionRule.MARKER, str(marker.kwargs["reason"]))
    return None


def _of_rules(item: pytest.Item, condition: RunCondition) -> Reason | None:
    if not condition.reaches_own_runtimes and metadata_of(item).disruptive:
        return _reason(condition, ConditionRule.OWN_RUNTIME)
    if condition.ends_connections and not OPEN.isdisjoint(_arguments(item)):
        return _reason(condition, ConditionRule.SESSION)
    if condition.delays_calls and _measures_time(getattr(item, "function", None)):
        return _reason(condition, ConditionRule.TIME)
    return None


def _reason(condition: RunCondition, rule: ConditionRule, words: str = "") -> Reason:
    return Reason(code=ReasonCode.NOT_UNDER_CONDITION, subject=condition.name, where=rule.value, words=words)


def _arguments(item: pytest.Item) -> tuple[str, ...]:
    """Return the fixtures that a test names itself."""
    names: tuple[str, ...] = getattr(getattr(item, "_fixtureinfo", None), "argnames", ())
    return names


def _measures_time(function: object) -> bool:
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and bool(CLOCKS.intersection(_names_in(code)))


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):  # a function inside, or a lambda
            names |= _names_in(constant)
    return names
