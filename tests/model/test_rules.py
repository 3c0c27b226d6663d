"""Properties of the whole model."""

import ast
import re
from pathlib import Path

import pytest

import critests.model
from critests import catalogue
from critests.model.step_check import RULES
from critests.model.steps import (
    DAEMON_RESTARTS,
    NO_EVENTS,
    PROCESS_ENDS,
    Step,
    runnable,
)

MODULES = sorted(Path(critests.model.__file__).parent.glob("*.py"))
CITED = sorted(
    {
        node.value
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[A-Z]{2,3}\d?-\d{2}(/[a-z-]+)?", node.value)
    }
)


@pytest.mark.parametrize("cited", CITED)
def test_every_rule_cites_a_must_or_should_aspect(cited: str) -> None:
    _, aspect = catalogue.aspect(cited)

    assert aspect.level in {"MUST", "SHOULD"}


def test_every_rule_is_about_an_rpc() -> None:
    assert set(RULES) - {PROCESS_ENDS, DAEMON_RESTARTS, NO_EVENTS} <= set(catalogue.all_rpcs())


def test_a_step_without_the_object_that_it_needs_is_left_out() -> None:
    run = Step("RunPodSandbox", makes="sandbox-1", name="pod")
    create = Step("CreateContainer", makes="container-2", inside="sandbox-1", name="app")
    start = Step("StartContainer", on="container-2")

    assert runnable([(run,), (create,), (start,)]) == [(run,), (create,), (start,)]
    assert runnable([(create,), (start,)]) == []
    assert runnable([(run, create), (start,)]) == [(run,)]


def test_the_text_of_a_step_has_the_fields_that_are_set() -> None:
    run, stop = Step("RunPodSandbox", makes="sandbox-1", name="pod-1"), Step("StopPodSandbox", on="sandbox-1")

    assert [str(step) for step in (run, stop)] == [
        "sandbox-1 = RunPodSandbox(name=pod-1)",
        "StopPodSandbox(sandbox-1)",
    ]
