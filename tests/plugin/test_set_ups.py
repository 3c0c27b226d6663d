"""A failed set-up blocks tests by the requirement that judges it, and is one failure."""

from pathlib import Path

import pytest

from tests.criserver import CriServer, serve
from tests.plugin.command import ran_in, record_in, validate


@pytest.mark.nightly("waits out deadlines")
@pytest.mark.parametrize(
    ("way", "judge", "selected"),
    [("log-elsewhere", "LOG-01", "STP"), ("never-exits", "CTR-21", "EXS-02,EXS-03,CTA")],
)
def test_condition_that_set_ups_await_in_vain_is_one_root_cause(
    way: str, judge: str, selected: str, tmp_path: Path
) -> None:
    with serve(CriServer(wrong={way})) as endpoint:
        result = validate(endpoint, tmp_path, f"--select {judge},{selected} --deadline-scale 0.2")

    record = record_in(tmp_path)
    (cause,) = [cause for cause in record["root_causes"] if cause["requirement"] == judge]
    timeouts = [
        test["name"]
        for test in record["tests"]
        if test["outcome"] in {"failed", "error"} and "in the log" in test["reason"]
    ]
    assert result.returncode == 1, result.stdout + result.stderr
    assert cause["outcome"] == "failed"
    assert cause["blocked"]
    assert timeouts == []
    assert "error" not in {test["outcome"] for test in record["tests"]}


def test_missing_log_is_one_failure_and_no_error(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"log-elsewhere"})) as endpoint:
        validate(endpoint, tmp_path, "--select LOG-01,LOG-02,LOG-05,LOG-19 --deadline-scale 0.2")

    judged = ran_in(tmp_path)
    assert {test["outcome"] for test in judged} <= {"failed", "warned", "blocked", "passed"}
    # this server also reports another log_path than the requested one
    failed = {test["requirement_id"] for test in judged if test["outcome"] == "failed"}
    assert failed == {"LOG-01", "CTA-10"}
    assert {test["requirement_id"] for test in judged if test["blocked_by"] == "LOG-01"} >= {
        "LOG-02",
        "LOG-05",
        "LOG-19",
    }
