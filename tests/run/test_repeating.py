"""The command that repeats a test chooses that test, on the same runtime, judged by the same rules."""

import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.mark.expression import Expression

from critests.cli.option_types import NameExpression
from critests.client.endpoint import Endpoint
from critests.record.run_record import RunConditions
from critests.run.collected_tests import SUITE, JudgedAspect
from critests.run.context import RunContext
from critests.run.repeating import repeat_command
from critests.run.run_settings import Settings
from tests.run.test_handover import CONTEXT

NOTHING = JudgedAspect(None, None)


# what stands in for pytest's item
def item(name: str, path: Path = SUITE / "sandboxes" / "test_state.py") -> Any:  # noqa: ANN401 - see above
    return SimpleNamespace(
        path=path, nodeid=f"{path.name}::{name}", name=name, get_closest_marker=lambda _: None
    )


# values of options by name
def repeated(
    name: str,
    context: RunContext | None = CONTEXT,
    **given: Any,  # noqa: ANN401 - see above
) -> list[str]:
    return shlex.split(repeat_command(item(name), NOTHING, Settings(**given), context))


def test_what_decides_the_verdict_is_said_again_and_what_chose_other_tests_is_not() -> None:
    words = repeated(
        "test_x",
        runtime_endpoint="/run/x.sock",
        image_endpoint="/run/y.sock",
        runtime_handler=("runc", "crun"),
        api_level="1.34",
        require=("seccomp",),
        expectations=Path("known.toml"),
        strict=True,
        deadline_scale=2.5,
        allow_kubelet=True,
        disruptive=True,
        select=("SBX",),
        profile="smoke",
        results=Path("elsewhere"),
    )

    assert words == [
        *("critests", "run", "--runtime-endpoint", "/run/x.sock", "--image-endpoint", "/run/y.sock"),
        *("--runtime-handler", "runc,crun", "--disruptive", "--allow-kubelet", "--api-level", "1.34"),
        *("--require", "seccomp", "--expectations", "known.toml", "--strict", "--deadline-scale", "2.5"),
        *("-k", "test_x"),
    ]


def test_endpoints_that_nobody_named_are_named() -> None:
    assert repeated("test_x")[2:6] == [
        *("--runtime-endpoint", "unix:///run/x.sock", "--image-endpoint", "tcp://127.0.0.1:3735")
    ]
    one = replace(CONTEXT, image_endpoint=Endpoint.parse("/run/x.sock"))
    assert repeated("test_x", one)[2:] == ["--runtime-endpoint", "unix:///run/x.sock", "-k", "test_x"]
    assert repeated("test_x", node="crio")[2:] == ["--node", "crio", "-k", "test_x"]


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("test_x[two streams]", ["test_x[one stream]", "test_x[two streams more]", "test_x"]),
        ("test_x[the image's]", ["test_x[the image]"]),
        ("test_x[not this and (not) that]", ["test_x[this and that]"]),
        ("test_x[64 KiB]", ["test_x[4 KiB]"]),
    ],
)
def test_the_parameters_of_the_test_are_chosen_too(name: str, others: list[str]) -> None:
    assert repeated(name)[-2:] == ["-k", name]
    expression = Expression.compile(NameExpression().convert(name, None, None))

    def chosen(candidate: str) -> bool:
        return expression.evaluate(lambda word, /, **_: word.lower() in candidate.lower())

    assert chosen(name)
    assert not any(chosen(other) for other in others)


def test_a_test_of_others_is_repeated_by_pytest_with_its_parameters(tmp_path: Path) -> None:
    own = item("test_x[two streams]", tmp_path / "test_own.py")
    settings = Settings(runtime_endpoint="/run/x.sock", strict=True)

    command = repeat_command(own, NOTHING, settings, None)

    assert shlex.split(command) == [
        *("pytest", "-p", "critests.plugin", "test_own.py::test_x[two streams]"),
        *("--runtime-endpoint", "/run/x.sock", "--cri-strict"),
    ]


def test_a_run_under_a_condition_is_repeated_with_it_and_with_the_seed_that_the_run_drew() -> None:
    under = replace(CONTEXT, conditions=RunConditions(names=["churn"], seed=7))

    words = repeated("test_x", under, node="crio", condition=("churn",))

    assert words[2:] == ["--node", "crio", "--condition", "churn", "--seed", "7", "-k", "test_x"]
    again = repeated("test_x", under, node="crio", condition=("churn",), seed=7)
    assert sorted(again) == sorted(words)
