"""`critests compare` and `critests gate` on stored runs, as a user calls them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from critests.cli.bench import bench
from critests.cli.compare import compare
from critests.cli.gate import gate
from critests.record.files import write
from tests.plugin.command import called
from tests.report.comparison.sample_measured import MACHINE, samples, store
from tests.report.comparison.sample_runs import run_a, run_b


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return store(tmp_path / "old", samples())


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    return store(tmp_path / "slow", samples({"RunPodSandbox": 1.3}, seed=2), run_id="1795100001-bbbbbb")


def numbered(tmp_path: Path, number: int, **options: Any) -> Path:  # noqa: ANN401 - those of samples
    """Store a run where `critests bench` does, with what is slower in it."""
    return store(
        tmp_path / "containerd" / "2.1.9" / str(number),
        samples(options.pop("factors", None), **options),
        run_id=f"{number}-aaaaaa",
        started=float(number),
    )


def compared(*arguments: object) -> Result:
    return CliRunner().invoke(compare, [str(argument) for argument in arguments])


def gated(*arguments: object) -> Result:
    return CliRunner().invoke(gate, [str(argument) for argument in arguments])


def said(result: Result) -> str:
    return " ".join(result.output.split())


def test_a_comparison_exits_with_0_whatever_its_result(old: Path, slow: Path, tmp_path: Path) -> None:
    forms = [tmp_path / name for name in ("c.json", "c.md", "c.html")]

    result = compared(old, slow, "--json", forms[0], "--markdown", forms[1], "--html", forms[2])

    assert result.exit_code == 0
    assert "not measured" in said(result)
    assert json.loads(forms[0].read_text())["counts"]["verdicts"]["slower"] == 1
    assert forms[1].read_text().startswith("## containerd")
    assert forms[2].read_text().lstrip().startswith("<!doctype html>")


def test_the_gate_fails_what_the_comparison_reports(old: Path, slow: Path, tmp_path: Path) -> None:
    result = gated(slow, "--baseline", old, "--json", tmp_path / "g.json", "--junit", tmp_path / "g.xml")

    assert result.exit_code == 1
    assert result.output.splitlines()[0] == "gate fails: 1 slower operation (exit 1)"
    assert json.loads((tmp_path / "g.json").read_text())["exit_code"] == 1
    assert "<failure" in (tmp_path / "g.xml").read_text()
    assert gated(slow, "--baseline", old, "--max-regression", "50%").exit_code == 0
    assert gated(slow).exit_code == 0


def test_a_file_that_cannot_be_written_is_not_a_verdict(old: Path, slow: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    for ended in (
        compared(old, slow, "--json", tmp_path / "file" / "c.json"),
        gated(slow, "--json", tmp_path / "file" / "g.json"),
    ):
        assert ended.exit_code == 3, ended.output
        assert "cannot write" in ended.output


def test_the_command_line_overrides_the_policy(old: Path, slow: Path, tmp_path: Path) -> None:
    policy = tmp_path / "gate.toml"
    policy.write_text('max-regression = "50%"\n')

    assert gated(slow, "--baseline", old, "--policy", policy).exit_code == 0
    assert gated(slow, "--baseline", old, "--policy", policy, "--max-regression", "10%").exit_code == 1


def test_a_live_comparison_is_passed_alone(tmp_path: Path, old: Path) -> None:
    both = samples(side="a", blocks=40) + samples({"StopPodSandbox": 1.4}, side="b", blocks=40, seed=3)
    live = store(tmp_path / "live", both)

    assert compared(live).exit_code == 0
    assert gated(live).exit_code == 1
    result = compared(old)
    assert result.exit_code == 2  # click's own number; critests turns it into 4
    assert "name a second run, B, to compare it with" in said(result)


def test_wrong_usage_and_wrong_policies_end_with_4(old: Path, tmp_path: Path) -> None:
    policy = tmp_path / "gate.toml"
    policy.write_text('\nlevel = ["MUST"]\n')

    for arguments, words in (
        (("gate", str(old), "--policy", str(policy)), "gate.toml:2"),
        (("gate", str(old), "--max-regression", "ten"), "is not a share"),
        (("compare", "nowhere", str(old)), "none of what can be compared"),
    ):
        ended = called(*arguments)
        assert ended.returncode == 4
        assert words in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cut off"),
        ("", "cut off"),
        ("{}", "not a run record"),
        ('{"schema": "critests.run", "schema_version": 99}', "or a newer one"),
    ],
)
def test_records_that_cannot_be_read_end_with_5(old: Path, tmp_path: Path, text: str, words: str) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "run.json").write_text(text)

    for result in (compared(old, bad), gated(bad), gated(old, "--baseline", bad)):
        assert result.exit_code == 5
        assert words in said(result)
        assert "Traceback" not in result.output


def test_another_machine_ends_with_5_unless_allowed(old: Path, tmp_path: Path) -> None:
    other = store(tmp_path / "other", samples(), machine=MACHINE | {"kernel": "5.10"})

    for result, option in (
        (compared(old, other), "--unlike-machines"),
        (gated(other, "--baseline", old), "--unlike"),
    ):
        assert result.exit_code == 5
        assert f"pass {option} to compare" in said(result)
    assert compared(old, other, "--unlike-machines").exit_code == 0
    assert gated(other, "--baseline", old, "--unlike").exit_code == 0


def test_conformance_of_other_machines_is_compared(tmp_path: Path) -> None:
    for name, run in (("a", run_a(tmp_path)), ("b", run_b(tmp_path, machine={"kernel": "5.10"}))):
        write(run, tmp_path / name / "run.json")

    result = compared(tmp_path / "a", tmp_path / "b")

    assert result.exit_code == 0
    assert "MUSTs passed, of the" in said(result)
    assert "fails on containerd 1.6, second only: STP-02 " in said(result)
    assert gated(tmp_path / "b", "--baseline", tmp_path / "a").exit_code == 1


def test_live_and_stored_runs_are_not_compared(old: Path) -> None:
    result = compared(old, "containerd")

    assert result.exit_code == 2
    assert "compared with another live runtime" in said(result)


def test_the_gate_finds_the_last_good_run_by_itself(tmp_path: Path) -> None:
    first = numbered(tmp_path, 1795100000)
    new = numbered(tmp_path, 1795100009, factors={"RunPodSandbox": 1.3}, seed=2)

    result, alone = gated(new, "--baseline", "last"), gated(first, "--baseline", "last")

    assert (result.exit_code, alone.exit_code) == (1, 5), result.output + alone.output
    assert "RunPodSandbox" in said(result)
    assert "found no earlier run to compare with" in said(alone)


def test_two_sides_have_no_other_baseline() -> None:
    result = CliRunner().invoke(bench, ["--node", "containerd", "--against", "crio", "--baseline", "last"])

    assert result.exit_code != 0
    assert "side A is the baseline of side B" in said(result)
