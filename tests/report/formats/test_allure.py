"""The Allure results: what belongs to a history, what is a label, what is beside them."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from critests.catalogue.words import Outcome
from critests.record.results import TestResult
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


def test_no_two_results_look_like_attempts_at_one_test(tmp_path: Path) -> None:
    for source in (Source(record=sample_run(tmp_path)), samples.benchmark()):
        found = list(results(source, tmp_path / source.job).values())
        shown = [
            (
                result["testCaseId"],
                *((item["name"], item["value"]) for item in result["parameters"] if not item.get("excluded")),
            )
            for result in found
        ]
        assert len(set(shown)) == len(found)
        assert len({result["historyId"] for result in found}) == len(found)


def test_twins_of_two_handlers_are_two_tests(tmp_path: Path) -> None:
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

    assert [
        item["value"]
        for result in found.values()
        for item in result["parameters"]
        if item["name"] == "handler"
    ] != []
    assert len({result["historyId"] for result in found.values()}) == 2


def test_labels_name_area_group_requirement_and_level(tmp_path: Path) -> None:
    source = Source(record=sample_run(tmp_path), publishing=samples.PUBLISHING)
    result = results(source, tmp_path / "out")["test_sba_02_a_filter_with_a[case 1]"]

    found = labels(result)

    assert (found["area"], found["group"], found["requirement"], found["level"]) == (
        "sandboxes",
        "SBA",
        "SBA-02",
        "MUST",
    )
    assert (found["epic"], found["feature"], found["story"], found["severity"]) == (
        "sandboxes",
        "SBA",
        "SBA-02",
        "critical",
    )
    assert result["links"] == [
        {
            "type": "tms",
            "url": "https://example.org/catalogue.md#sba-sandbox-attributes-and-filters",
            "name": "SBA-02",
        }
    ]


def test_a_known_failure_links_to_its_issue(tmp_path: Path) -> None:
    result = results(samples.validation(tmp_path), tmp_path / "out")[
        "test_net_01_servers,_searches_and_options[case 0]"
    ]

    assert result["links"] == [{"type": "issue", "url": "https://example.org/issues/1", "name": "1"}]
    assert result["statusDetails"]["known"] is True


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


def test_the_same_run_gives_the_same_files(tmp_path: Path) -> None:
    source = samples.validation(tmp_path)

    first = {path.name: path.read_bytes() for path in FORMATS["allure"].write(source, tmp_path / "a")}
    second = {path.name: path.read_bytes() for path in FORMATS["allure"].write(source, tmp_path / "b")}

    assert first == second


@pytest.mark.parametrize("kind", ["validation", "benchmark"])
def test_every_result_is_finished_and_in_one_category_at_most_by_its_first_match(
    kind: str, tmp_path: Path
) -> None:
    source = samples.validation(tmp_path) if kind == "validation" else samples.benchmark()

    for result in results(source, tmp_path / "out").values():
        assert result["status"] in STATUSES
        assert result["stage"] == "finished"
        assert result["stop"] >= result["start"] > 0
        if result["status"] != "passed":
            assert category(result), result["name"]


def category(result: dict[str, Any]) -> str:
    message = result.get("statusDetails", {}).get("message", "")
    for each in CATEGORIES:
        pattern = each.get("messageRegex", ".*")
        assert isinstance(pattern, str)
        if result["status"] in each["matchedStatuses"] and re.fullmatch(pattern, message):
            return str(each["name"])
    return ""


def test_what_stands_beside_the_results(tmp_path: Path) -> None:
    FORMATS["allure"].write(samples.validation(tmp_path), tmp_path / "out")

    environment = dict(
        line.split("=", 1) for line in (tmp_path / "out" / "environment.properties").read_text().splitlines()
    )
    executor = json.loads((tmp_path / "out" / "executor.json").read_text())
    assert environment["runtime"] == "containerd"
    assert environment["kernel"] == "6.18.0"
    assert executor["buildOrder"] == 1795000000
    assert executor["buildUrl"] == "https://ci.example.org/run/7"
    assert json.loads((tmp_path / "out" / "categories.json").read_text()) == CATEGORIES
