"""The speed in a comment on GitHub is that of `critests compare`."""

from pathlib import Path

from critests.report.formats import load
from tests.report.comparison.sample_measured import MACHINE, samples, store
from tests.report.formats.samples import rendered


def test_a_slower_operation_is_named_with_its_interval_and_no_other(tmp_path: Path) -> None:
    old = store(tmp_path / "old", samples())
    new = store(tmp_path / "new", samples({"RunPodSandbox": 1.3}, seed=2), run_id="1795100001-bbbbbb")

    text = rendered("github", load(new, baseline=old))

    assert "**1 operation slower or heavier.**" in text
    changed = text.partition("#### Changed operations")[2].partition("#### This run")[0]
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
