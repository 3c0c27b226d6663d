"""A run with two workers has the record that one process makes."""

from pathlib import Path

from tests.criserver import CriServer, serve
from tests.plugin.command import critests, record_in


def test_two_workers_record_every_test_once_those_that_were_deselected_too(tmp_path: Path) -> None:
    tests = {}
    with serve(CriServer()) as endpoint:
        for workers in "12":
            critests(
                *("run", "--runtime-endpoint", endpoint, "--results", str(tmp_path / workers)),
                *("--allow-kubelet", "--select", "RT-01", "-n", workers),
            )
            tests[workers] = sorted(
                (test["id"], test["outcome"]) for test in record_in(tmp_path / workers)["tests"]
            )

    assert {outcome for _, outcome in tests["1"]} == {"passed", "disabled"}
    assert tests["2"] == tests["1"]
