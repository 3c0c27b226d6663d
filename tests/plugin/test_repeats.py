"""New failures are repeated at the end of the run, and the verdict has their frequency."""

from pathlib import Path

import pytest

from tests.criserver import CriServer, serve
from tests.plugin.command import ran_in, record_in, validate

pytestmark = pytest.mark.nightly("repeats a test twenty times")


def test_failure_that_does_not_recur_is_a_warning_with_its_frequency(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"fails-at=ExecSync/2"})) as endpoint:
        result = validate(endpoint, tmp_path, "--select EXS-01,EXS-02", once=False)

    warned = [test for test in record_in(tmp_path)["tests"] if test["outcome"] == "warned"]
    assert result.returncode == 0, result.stdout + result.stderr
    assert [(test["failures"], test["tries"]) for test in warned] == [(1, 21)]
    assert warned[0]["reason"].startswith("failed in 1 of 21 tries: ")
    assert "trying it 20 times more (1 of 1)" in result.stdout
    assert "1 of them for a failure that did not recur" in " ".join(result.stdout.split())


def test_times_repeats_each_selected_test(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        result = validate(endpoint, tmp_path, "--select RT-01 --times 3")

    ran = [test["name"] for test in ran_in(tmp_path)]
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(ran) == 3 * len(set(ran)) > 0
