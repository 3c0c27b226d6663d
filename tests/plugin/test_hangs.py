"""Runs with one hanging RPC: they end soon and report the RPC, and no test is an error of the suite."""

from pathlib import Path

import pytest

from tests.criserver import CriServer, serve
from tests.plugin.command import record_in, validate

SCALE = "0.1"
MOST_CALLS = 4
"""How often a process may call a hanging RPC: once with the whole deadline, then as occasional probes."""


@pytest.mark.parametrize(
    ("rpc", "judge", "workers"),
    [
        ("StopContainer", "STP-04", ""),
        pytest.param(
            *("CreateContainer", "CTR-01", "-n 2"),
            marks=pytest.mark.nightly("waits out a deadline in each process"),
        ),
    ],
    ids=["needed by the clean-up", "two workers"],
)
def test_a_hang_costs_one_deadline_and_is_one_root_cause(
    rpc: str, judge: str, workers: str, tmp_path: Path
) -> None:
    server = CriServer(wrong={f"hangs={rpc}"})
    with serve(server) as endpoint:
        # the small CRI server has no limits, and no such statistics
        chosen = "--profile smoke --deselect UPD-01,STA-18"
        result = validate(endpoint, tmp_path, f"{chosen} --deadline-scale {SCALE} {workers}")

    record = record_in(tmp_path)
    outcomes = {test["name"]: test["outcome"] for test in record["tests"]}
    failed = {test["requirement_id"] for test in record["tests"] if test["outcome"] == "failed"}
    (cause,) = [cause for cause in record["root_causes"] if cause["requirement"] == judge]
    assert result.returncode == 1, result.stdout + result.stderr
    assert "error" not in outcomes.values()
    assert failed == {judge}
    assert cause["rpc"] == rpc
    assert f"{rpc} did not answer within" in cause["reason"]
    assert len(cause["blocked"]) >= 3
    processes = 3 if workers else 1
    assert server.calls.count(rpc) <= MOST_CALLS * processes


def test_hang_in_a_probe_is_a_failure_of_the_requirement_of_its_rpc(tmp_path: Path) -> None:
    server = CriServer(wrong={"hangs=StartContainer"})
    with serve(server) as endpoint:
        result = validate(endpoint, tmp_path, f"--select CKP-01,CTR-13 --deadline-scale {SCALE}")

    record = record_in(tmp_path)
    failed = [test for test in record["tests"] if test["outcome"] == "failed"]
    blocked = [test for test in record["tests"] if test["requirement_id"] == "CKP-01"]
    assert [test["requirement_id"] for test in failed] == ["CTR-13"], result.stdout + result.stderr
    assert failed[0]["reason"].startswith("StartContainer did not answer within ")
    assert "checkpoint" not in failed[0]["repeat_command"]
    assert {test["outcome"] for test in blocked} == {"blocked"}
    assert "CRIU" in blocked[0]["reason"]
