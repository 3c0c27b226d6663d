"""The Allure results: what belongs to a history and to a category. What they say is in the golden file."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from critests.catalogue.words import Outcome
from critests.record.result_records import TestResult
from critests.report.formats import FORMATS, Source
from critests.report.formats.allure import CATEGORIES
from tests.report.formats import samples
from tests.report.sample_run import sample_run, write_evidence

STATUSES = {"passed", "failed", "broken", "skipped"}


def results(source: Source, folder: Path) -> dict[str, Any]:
    FORMATS["allure"].write(source, folder)
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*-result.json")]
    return {result["name"]: result for result in found}


def labels(result: dict[str, Any]) -> dict[str, str]:
    return {label["name"]: label["value"] for label in result["labels"]}


def test_the_history_survives_an_update_of_the_runtime(tmp_path: Path) -> None:
    now = samples.validation(tmp_path)
    runtime = dataclasses.replace(now.record.runtime, version="2.9.9")
    later = dataclasses.replace(
        now, record=dataclasses.replace(now.record, runtime=runtime, run_id="1796000000-abcdef")
    )

    first, second = results(now, tmp_path / "a"), results(later, tmp_path / "b")

    assert {name: result["historyId"] for name, result in first.items()} == {
        name: result["historyId"] for name, result in second.items()
    }
    assert not {result["uuid"] for result in first.values()} & {result["uuid"] for result in second.values()}
    for result in second.values():
        (version,) = [item for item in result["parameters"] if item["name"] == "runtime version"]
        assert version["excluded"] is True
        assert labels(result)["runtime"] == "containerd"


def test_no_two_results_look_like_retries_of_one_test(tmp_path: Path) -> None:
    found = list(results(Source(record=sample_run(tmp_path)), tmp_path / "out").values())
    shown = [
        (
            result["testCaseId"],
            *((item["name"], item["value"]) for item in result["parameters"] if not item.get("excluded")),
        )
        for result in found
    ]

    assert len(set(shown)) == len(found)
    assert len({result["historyId"] for result in found}) == len(found)


def test_a_test_on_two_handlers_is_two_tests(tmp_path: Path) -> None:
    base = samples.validation(tmp_path)
    twins = [
        TestResult(
            id=f"a.py::test_twin[{handler}]",
            name=f"test_twin[{handler}]",
            handler=handler,
            outcome=Outcome.PASSED,
        )
        for handler in ("runc", "crun")
    ]
    source = dataclasses.replace(base, record=samples.with_tests(base.record, twins))

    found = results(source, tmp_path / "out")

    assert len({result["historyId"] for result in found.values()}) == 2


def test_calls_are_steps_and_evidence_is_attached(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    run = tmp_path / "1795000000"
    run.mkdir()
    write_evidence(record, run)
    result = results(Source(record=record, folder=run), tmp_path / "out")[
        "test_stp_02_a_process_that_handles[case 2]"
    ]

    assert [step["name"] for step in result["steps"]] == [
        "RunPodSandbox",
        "CreateContainer",
        "StartContainer",
        "ContainerStatus",
        "StopContainer: INTERNAL",
    ]
    assert [step["status"] for step in result["steps"]] == ["passed"] * 4 + ["broken"]
    attached = [*result["attachments"], *(item for step in result["steps"] for item in step["attachments"])]
    assert {item["name"] for item in attached} == {"Container log", "Runtime log", "request and response"}
    for item in attached:
        assert item["type"] == "text/plain"
        assert (tmp_path / "out" / item["source"]).is_file()


def test_every_result_is_finished_and_in_one_category_at_most_by_its_first_match(tmp_path: Path) -> None:
    for result in results(samples.validation(tmp_path), tmp_path / "out").values():
        assert result["status"] in STATUSES
        assert result["stage"] == "finished"
        assert result["stop"] >= result["start"] > 0
        if result["status"] != "passed":
            assert category(result), result["name"]


def category(result: dict[str, Any]) -> str:
    trace = result.get("statusDetails", {}).get("trace", "")
    for each in CATEGORIES:
        pattern = each.get("traceRegex", r"[\s\S]*")
        assert isinstance(pattern, str)
        if result["status"] in each["matchedStatuses"] and re.fullmatch(pattern, trace):
            return str(each["name"])
    return ""
