"""What a removed sandbox leaves on the machine is a finding of its own requirement, whatever was tested."""

from pathlib import Path

from tests.criserver import CriServer, serve
from tests.plugin.command import ran_in, validate

SCALE = "0.1"
"""The grace period is scaled too."""


def test_leftovers_are_a_result_of_the_requirement_that_demands_their_removal(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"leaves-a-process"})) as endpoint:
        ended = validate(endpoint, tmp_path, f"--select SBX-23 --deadline-scale {SCALE}")

    assert ended.returncode == 0, ended.stderr
    judged = {test["requirement"]: test for test in ran_in(tmp_path)}
    assert judged["SBX-23"]["outcome"] == "passed"
    left = judged["SBX-27"]
    assert left["name"] == "leftovers[SBX-27-process sh]"
    assert left["outcome"] == "warned"
    assert left["why"]["code"] == "leftover"
    assert left["why"]["where"] == judged["SBX-23"]["name"]
    assert "read line shim" in left["why"]["more"][0]
    assert left["reason"].startswith(
        "process sh left after the removal of objects of test_remove_pod_sandbox"
    )


def test_without_leftovers_there_is_no_such_result(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        validate(endpoint, tmp_path, f"--select SBX-23 --deadline-scale {SCALE}")

    assert {test["requirement"] for test in ran_in(tmp_path)} == {"SBX-23"}
