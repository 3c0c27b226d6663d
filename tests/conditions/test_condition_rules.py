"""Which tests are blocked under a condition, by markers and by rules."""

import dataclasses
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from critests.catalogue.words import Outcome
from critests.conditions import condition_table
from critests.conditions.condition_table import CONDITIONS
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.report.wording.reason_sentences import worded_result
from critests.run import condition_rules
from critests.run.condition_rules import obstacle
from critests.run.marks import not_under
from critests.run.run_settings import Settings

CHURN = Settings(node="containerd", condition=("churn",))


# what stands in for pytest's item
def item(function: Callable[[], object] = lambda: None, *marks: pytest.MarkDecorator) -> Any:  # noqa: ANN401 - see above
    return SimpleNamespace(
        function=function, iter_markers=lambda name: [each.mark for each in marks if each.mark.name == name]
    )


@pytest.fixture(autouse=True)
def disruptive(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    metadata = SimpleNamespace(disruptive=False)
    monkeypatch.setattr(condition_rules, "metadata_of", lambda _: metadata)
    return metadata


def test_without_a_condition_every_test_runs(disruptive: SimpleNamespace) -> None:
    disruptive.disruptive = True

    assert obstacle(item(), Settings()) is None


def test_a_test_of_its_own_runtime_does_not_run_under_a_condition_of_the_run(
    disruptive: SimpleNamespace,
) -> None:
    assert obstacle(item(), CHURN) is None

    disruptive.disruptive = True

    why = obstacle(item(), CHURN)
    assert why == Reason(code=ReasonCode.NOT_UNDER_CONDITION, subject="churn", where="own runtime")


def test_a_marker_names_the_conditions_and_the_reason() -> None:
    marked = item(lambda: None, not_under("questions", "churn", reason="others may do it"))

    why = obstacle(marked, CHURN)

    assert why is not None
    assert (why.subject, why.where, why.words) == ("churn", "marker", "others may do it")
    assert obstacle(marked, Settings(node="containerd", condition=("events",))) is None


def test_a_test_that_measures_time_does_not_run_where_calls_are_delayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = dataclasses.replace(CONDITIONS["churn"], delays_calls=True)
    monkeypatch.setitem(condition_table.CONDITIONS, "churn", slow)

    why = obstacle(item(lambda: [time.monotonic() for _ in range(2)]), CHURN)

    assert why is not None
    assert why.where == "time"
    assert obstacle(item(lambda: time.sleep(0)), CHURN) is None


@pytest.mark.parametrize("fixture", ["streams", "events"])
def test_a_test_with_an_open_connection_does_not_run_where_the_daemon_restarts(fixture: str) -> None:
    restarts = Settings(node="containerd", condition=("restarts",))
    plain = item()
    plain._fixtureinfo = SimpleNamespace(argnames=("runtime",))
    with_connection = item()
    with_connection._fixtureinfo = SimpleNamespace(argnames=("runtime", fixture))

    why = obstacle(with_connection, restarts)

    assert why is not None
    assert why.where == "session"
    assert obstacle(with_connection, CHURN) is None
    assert obstacle(plain, restarts) is None


def test_the_sentence_is_made_from_the_data() -> None:
    why = Reason(code=ReasonCode.NOT_UNDER_CONDITION, subject="churn", where="own runtime")

    result = worded_result(TestResult(id="a", name="a", outcome=Outcome.BLOCKED, why=why))

    assert result.reason == (
        "not tested under churn: the test uses a runtime that it starts itself, where the condition does not"
        " hold"
    )
