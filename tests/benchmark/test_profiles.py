"""The scenarios, their selection, and the time of each."""

import ast
from pathlib import Path
from typing import Any

import pytest

import critests.benchmark.scenarios
from critests.benchmark.scenario_profiles import (
    COMPARE,
    COMPARE_SECONDS,
    PROFILES,
    SCENARIOS,
    in_profile,
    seconds_each,
)
from critests.benchmark.scenario_selection import chosen, profile_of
from critests.exit_codes import UsageError
from critests.record.comparison_questions import QUESTIONS
from critests.run.run_settings import Settings

FOLDER = Path(critests.benchmark.scenarios.__file__).parent


def settings(**given: object) -> Settings:
    return Settings.read({f"cri_{name}": value for name, value in given.items()}.get)


def marked() -> dict[str, list[str]]:
    """Return the tests of each scenario from the source code."""
    found: dict[str, list[str]] = {}
    for file in sorted(FOLDER.glob("test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            for mark in getattr(node, "decorator_list", []):
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "scenario":
                    found.setdefault(ast.literal_eval(mark.args[0]), []).append(getattr(node, "name", ""))
    return found


def test_every_scenario_has_one_test_as_its_samples_have_one_file() -> None:
    assert {name: len(tests) for name, tests in marked().items()} == dict.fromkeys(SCENARIOS, 1)


def test_profiles_have_the_documented_length() -> None:
    lengths = {
        profile: sum(scenario.seconds_in(profile) for scenario in in_profile(profile)) for profile in PROFILES
    }
    assert lengths["smoke"] <= 80
    assert 600 <= lengths["standard"] <= 1000
    assert lengths["full"] >= 3600


def test_a_profile_holds_those_of_the_shorter_one() -> None:
    smoke, standard, full = ({scenario.id for scenario in in_profile(profile)} for profile in PROFILES)
    assert smoke < standard < full == set(SCENARIOS)


def test_the_profile_of_comparisons_measures_what_answers_the_questions() -> None:
    assert {scenario.id for scenario in in_profile(COMPARE)} == {each.scenario for each in QUESTIONS}
    assert sum(SCENARIOS[name].seconds_in(COMPARE) for name in COMPARE_SECONDS) <= 360
    assert SCENARIOS["B-18"].profile_in(COMPARE) == "smoke"


def test_a_budget_is_shared_out_in_proportion() -> None:
    shares = seconds_each(["B-01", "B-11"], "smoke", 28)
    assert sum(shares.values()) == pytest.approx(28)
    assert (
        shares["B-11"] / shares["B-01"]
        == SCENARIOS["B-11"].seconds["smoke"] / SCENARIOS["B-01"].seconds["smoke"]
    )
    assert seconds_each([], "smoke", 28) == {}


def test_a_scenario_outside_its_profile_borrows_a_time() -> None:
    assert SCENARIOS["B-34"].seconds_in("smoke") == SCENARIOS["B-34"].seconds["full"]


def test_the_choice_is_in_the_order_of_the_scenarios() -> None:
    assert chosen(settings(select=["b-11,B-01"])) == ["B-01", "B-11"]
    assert "B-06" not in chosen(settings(profile="smoke", deselect=["B-06"]))
    assert chosen(settings(profile="smoke")) == [scenario.id for scenario in in_profile("smoke")]
    assert profile_of(settings()) == "standard"


@pytest.mark.parametrize(
    ("given", "word"),
    [({"select": ["B-99"]}, "B-99"), ({"deselect": ["SBX"]}, "SBX"), ({"profile": "must"}, "must")],
)
def test_an_unknown_name_is_reported(given: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        chosen(settings(**given))
