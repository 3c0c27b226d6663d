"""A runtime of which one RPC hangs: the run ends soon, says which, and no test is an error of the harness."""

from pathlib import Path

import pytest

from tests.criserver import CriServer, serve
from tests.plugin.command import critests, record_in

SCALE = "0.1"
LOOKS = 4
"""How often an RPC that hangs may be called: once in full, and then now and then."""


@pytest.mark.parametrize(
    ("rpc", "judge", "workers"),
    [
        ("StartContainer", "CTR-13", ()),
        ("StopContainer", "STP-04", ()),
        ("CreateContainer", "CTR-01", ("-n", "2")),
    ],
    ids=["needed by most", "needed by the clean-up", "two workers"],
)
def test_a_hang_costs_one_deadline_and_is_one_root_cause(
    rpc: str, judge: str, workers: tuple[str, ...], tmp_path: Path
) -> None:
    server = CriServer(wrong={f"hangs={rpc}"})
    with serve(server) as endpoint:
        ended = critests(
            *("run", "--runtime-endpoint", endpoint, "--results", str(tmp_path), "--allow-kubelet"),
            *("--profile", "smoke", "--deadline-scale", SCALE, *workers),
            *("--deselect", "UPD-01,STA-18"),  # our server limits nothing, and counts nothing
        )

    record = record_in(tmp_path)
    outcomes = {test["name"]: test["outcome"] for test in record["tests"]}
    failed = {test["requirement_id"] for test in record["tests"] if test["outcome"] == "failed"}
    (cause,) = [cause for cause in record["root_causes"] if cause["requirement"] == judge]
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "error" not in outcomes.values()
    assert failed == {judge}
    assert cause["rpc"] == rpc
    assert f"{rpc} did not answer within" in cause["reason"]
    assert len(cause["blocked"]) >= 3
    processes = 3 if workers else 1
    assert server.calls.count(rpc) <= LOOKS * processes
