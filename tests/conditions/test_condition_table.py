"""Which runs can have which conditions."""

import pytest

from critests.conditions import condition_table
from critests.conditions.condition_table import CONDITIONS, RunCondition, refuse_processes
from critests.exit_codes import UsageError
from critests.run.run_settings import Settings


def read(**given: object) -> Settings:
    return Settings.read({f"cri_{name}": value for name, value in given.items()}.get)


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> str:
    """A condition that needs control of the runtime, and one process."""
    condition = RunCondition("acts", "acts between calls", starts_runtime=True, one_process=True)
    monkeypatch.setattr(condition_table, "CONDITIONS", {**CONDITIONS, condition.name: condition})
    return condition.name


def test_a_private_runtime_can_have_every_condition(restarts: str) -> None:
    assert read(node="containerd", condition=[f"churn, {restarts}"]).condition == ("churn", restarts)


def test_an_unknown_condition_is_rejected_with_a_list_of_those_that_exist() -> None:
    with pytest.raises(UsageError, match=r"--condition rain: there is no such condition; .*churn, questions"):
        read(node="containerd", condition=["rain"])


def test_another_runtime_has_conditions_only_if_the_user_allows_disruption() -> None:
    with pytest.raises(UsageError, match="with --disruptive, churn, questions, events"):
        read(condition=["churn"])

    assert read(condition=["churn"], disruptive=True).condition == ("churn",)


def test_a_condition_that_controls_the_runtime_needs_one_that_the_suite_starts(restarts: str) -> None:
    with pytest.raises(UsageError, match="is for a runtime that --node starts"):
        read(condition=[restarts], disruptive=True)


def test_a_run_that_changes_nothing_has_no_conditions() -> None:
    with pytest.raises(UsageError, match="--read-only"):
        read(node="containerd", condition=["churn"], read_only=True)


def test_a_condition_that_acts_between_calls_is_not_for_several_processes(restarts: str) -> None:
    refuse_processes(["churn"])

    with pytest.raises(UsageError, match="without -n"):
        refuse_processes(["churn", restarts])
