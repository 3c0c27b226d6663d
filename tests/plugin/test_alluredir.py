"""The folder that allure-pytest writes during a run agrees with the record of the run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.criserver import CriServer, serve
from tests.plugin.command import critests, ran_in, record_in, validate

VERDICT = {
    "passed": "passed",
    "warned": "passed",
    "failed": "failed",
    "error": "broken",
    "known": "skipped",
    "unsupported": "skipped",
    "blocked": "skipped",
}


@pytest.fixture(
    scope="module",
    params=[
        "",
        pytest.param("-n 2", marks=pytest.mark.nightly("three processes for what one shows too")),
    ],
    ids=["alone", "two workers"],
)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Validate a server that breaks a promise; return the folder of the results and Allure's."""
    root: Path = tmp_path_factory.mktemp("run")
    with serve(CriServer(wrong=["filters-ignored"])) as endpoint:
        select = f"{request.param} --select SBX-01,SBX-02,CTA-18,RT-01"
        result = validate(endpoint, root / "results", f"{select} -- --alluredir={root / 'allure'}")
    assert result.returncode == 1, result.stdout + result.stderr
    return root / "results", root / "allure"


def results_in(folder: Path) -> dict[str, dict[str, Any]]:
    """Return Allure's results by the name of the test."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*-result.json")]
    assert len({result["name"] for result in found}) == len(found)
    return {result["name"]: result for result in found}


def test_every_result_has_its_requirement_and_outcome(run: tuple[Path, Path]) -> None:
    record = ran_in(run[0])
    allure = results_in(run[1])

    assert {test["outcome"] for test in record} >= {"passed", "failed"}
    assert {test["name"]: VERDICT[test["outcome"]] for test in record} == {
        name: result["status"] for name, result in allure.items()
    }
    for test in record:
        labels = [(label["name"], label["value"]) for label in allure[test["name"]]["labels"]]
        expected = {
            "epic": test["area"],
            "feature": test["group"],
            "story": test["requirement_id"],
            "level": test["level"],
        }
        assert {
            *expected.items(),
            ("aspect", test["requirement"]),
            ("outcome", test["outcome"]),
            ("thread", test["worker"]),
        } - {("thread", "")} <= set(labels)
        assert len(labels) == len(set(labels)), "a label occurs twice"


def test_calls_are_steps_and_evidence_is_attached(run: tuple[Path, Path]) -> None:
    record = {test["name"]: test for test in record_in(run[0])["tests"]}

    for name, result in results_in(run[1]).items():
        steps = result.get("steps", [])
        attached = [each for step in steps for each in step.get("attachments", [])]
        assert bool(steps) == bool(attached) == (record[name]["outcome"] == "failed")
        assert all((run[1] / each["source"]).is_file() for each in attached)
        if steps:
            # set-up and clean-up have calls too, which take seconds on a busy machine; another clock or unit
            # would be off by far more
            begin, end = result["start"] - 30_000, result["stop"] + 30_000
            assert begin <= steps[0]["start"] <= steps[-1]["stop"] <= end


def test_results_of_the_record_continue_the_history(run: tuple[Path, Path], tmp_path: Path) -> None:
    (file,) = run[0].rglob("run.json")
    exported = critests(
        "report", str(file.parent), "--format", "allure", "--output", str(tmp_path / "exported")
    )
    assert exported.returncode == 0, exported.stderr

    during, afterwards = results_in(run[1]), results_in(tmp_path / "exported")
    for name in ("historyId", "testCaseId", "fullName", "status", "parameters", "titlePath", "description"):
        assert {test: result.get(name) for test, result in during.items()} == {
            test: result.get(name) for test, result in afterwards.items()
        }
    for file_name in ("categories.json", "environment.properties", "executor.json"):
        assert (run[1] / file_name).read_bytes() == (tmp_path / "exported" / file_name).read_bytes()
