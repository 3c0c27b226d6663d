"""The speed in a comment on GitHub is that of `critests compare`."""

import dataclasses
from pathlib import Path

from critests.catalogue.words import Outcome
from critests.report.comparison import StoredRun
from critests.report.formats import load
from critests.report.formats.github import FINDINGS, render
from critests.report.formats.source import Source
from tests.report.comparison.sample_measured import MACHINE, samples, store
from tests.report.formats.samples import rendered
from tests.report.sample_run import sample_run


def test_a_slower_operation_is_named_with_its_interval_and_no_other(tmp_path: Path) -> None:
    old = store(tmp_path / "old", samples())
    new = store(tmp_path / "new", samples({"RunPodSandbox": 1.3}, seed=2), run_id="1795100001-bbbbbb")

    text = rendered("github", load(new, baseline=old))

    assert "**1 operation slower or heavier.**" in text
    changed = text.partition("#### Changed operations")[2]
    (row,) = [line for line in changed.splitlines() if line.startswith("| `")]
    assert row.startswith("| `B-06 RunPodSandbox`")
    assert row.endswith("| slower |")
    assert " to " in row


def test_no_option_is_named_that_the_command_does_not_have(tmp_path: Path) -> None:
    old = store(tmp_path / "old", samples(), machine=MACHINE | {"kernel": "7.0"})
    new = store(tmp_path / "new", samples(), run_id="1795100001-bbbbbb")

    text = rendered("github", load(new, baseline=old))

    assert "the machines differ (kernel)" in text
    assert "unlike-machines" not in text.replace("\\", "")


def test_a_comment_of_hundreds_of_failures_has_at_most_40_lines_and_no_row_per_test(tmp_path: Path) -> None:
    run = sample_run(tmp_path)
    broken = next(test for test in run.tests if test.outcome is Outcome.FAILED)
    tests = [
        dataclasses.replace(
            broken,
            id=f"a.py::test_{number}",
            requirement=f"X-{number % 90}",
            requirement_id=f"X-{number % 90}",
            cause="",
            title=f"Promise {number % 90} MUST hold.",
        )
        for number in range(400)
    ]
    record = dataclasses.replace(run, tests=[*run.tests, *tests], root_causes=[])
    before = dataclasses.replace(run, run_id="1794999999-aaaaaa", started=run.started - 60)

    for baseline in (None, StoredRun(before)):
        lines = render(Source(record=record, baseline=baseline)).splitlines()
        assert len(lines) <= 40
        assert sum(line.startswith("✕ ") for line in lines) == FINDINGS
        assert lines[3].startswith("✕ ")
    assert any("Promise 0 MUST hold." in line for line in lines)
