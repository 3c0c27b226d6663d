"""Wherever a run is named, `latest` is the newest."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from critests.cli.command import COMMANDS, Lazy
from critests.cli.compare import compare
from critests.cli.gate import gate
from critests.cli.report import report
from critests.cli.stored_runs import StoredRunPath
from critests.exit_codes import UsageError
from critests.node.starting.targets import RunSubject, parse_subject
from critests.record.files import write
from critests.run.run_settings import Settings
from tests.report.sample_run import sample_run

RUN = "results/containerd/2.1.9/1795173190"


@pytest.fixture(autouse=True)
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory has one run below its results."""
    (tmp_path / RUN).mkdir(parents=True)
    write(sample_run(tmp_path), tmp_path / RUN)
    monkeypatch.chdir(tmp_path)


def test_it_is_reported_judged_and_compared() -> None:
    runner = CliRunner()

    reported = runner.invoke(report, ["latest", "--format", "github"])
    gated = runner.invoke(gate, ["containerd/latest", "--baseline", "results/latest"])
    compared = runner.invoke(compare, ["latest", "results/containerd/latest"])

    assert "CRI conformance of containerd" in reported.output
    assert "broken in the baseline too" in gated.output
    assert compared.exit_code == 0, compared.output


def test_it_is_run_again_and_named_as_a_side() -> None:
    assert Settings.read({"cri_rerun": "latest"}.get).rerun == Path(RUN)
    assert Settings.read({"cri_resume": "latest"}.get).resume == Path(RUN)
    assert parse_subject("latest") == RunSubject(Path(RUN))


def test_the_run_is_searched_below_the_results(tmp_path: Path) -> None:
    elsewhere = (tmp_path / "results").rename(tmp_path / "elsewhere")
    given = {"cri_results": "elsewhere"}

    for name in ("latest", "containerd/latest"):
        settings = Settings.read({**given, "cri_rerun": name}.get)
        assert settings.rerun == Path(RUN.replace("results", elsewhere.name))
    with pytest.raises(UsageError, match="--rerun crun/latest: there is no run below elsewhere/crun"):
        Settings.read({**given, "cri_rerun": "crun/latest"}.get)


def test_a_missing_run_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--rerun crun/latest: there is no run below results/crun"):
        Settings.read({"cri_rerun": "crun/latest"}.get)
    with pytest.raises(UsageError, match="--baseline crun/latest: there is no run below results/crun"):
        Settings.read({"cri_baseline": "crun/latest"}.get)
    with pytest.raises(UsageError, match="there is no run below results/crun"):
        parse_subject("crun/latest")
    assert "no run below results/crun" in CliRunner().invoke(report, ["crun/latest"]).output


def test_every_command_reads_the_name_of_a_run_there() -> None:
    group = Lazy()
    commands = [group.get_command(click.Context(group), name) for name in COMMANDS]
    parameters = [parameter for command in commands if command is not None for parameter in command.params]
    named = [
        parameter
        for parameter in parameters
        if str(parameter.metavar).startswith("RUN") or parameter.name in {"run", "runs", "baseline"}
    ]

    assert len(named) >= 4
    settings = {"cri_rerun", "cri_baseline", "cri_resume"}  # Settings reads these, below --results
    assert all(
        isinstance(parameter.type, StoredRunPath) for parameter in named if parameter.name not in settings
    )
