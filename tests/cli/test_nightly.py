"""`critests nightly`, with a run that only pretends."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from critests.cli import nightly as module
from critests.cli.nightly import nightly
from critests.record.operations import OperationResult, QuantileEstimate
from tests.criserver import CriServer, serve
from tests.plugin.command import critests, record_in
from tests.report.store.small_run import small_run, store


class Night:
    """Stands for the commands that nightly starts: stores a run for each and remembers how it was called."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.called: list[list[str]] = []
        self.verdicts = {"SBX-01": "P"}
        self.night = 0
        self.code = 0
        self.stores = True
        self.median = 0.2

    def __call__(self, *arguments: str) -> int:
        self.called.append(list(arguments))
        self.night += 1
        if self.stores and arguments[0] != "explore":
            kind = "benchmark" if arguments[0] == "bench" else "validation"
            measured = [pod_cycle(self.median)] if kind == "benchmark" else []
            store(self.results, small_run(self.verdicts, night=self.night, kind=kind, operations=measured))
        return self.code


def pod_cycle(median: float) -> OperationResult:
    return OperationResult(
        scenario="B-11",
        operation="pod cycle",
        headline=True,
        count=1000,
        quantiles={"0.5": QuantileEstimate(value=median)},
    )


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    night = Night(tmp_path / "results")
    monkeypatch.setattr(module, "_critests", night)
    for name in (module.WEBHOOK, module.TOKEN):
        monkeypatch.delenv(name, raising=False)
    return night


def call(night: Night, *arguments: str | Path) -> Result:
    return CliRunner().invoke(
        nightly, ["--results", str(night.results), *(str(argument) for argument in arguments)]
    )


def test_an_exploration_gets_its_time_and_the_runtime(night: Night) -> None:
    ended = call(night, "--node", "containerd", "--explore", "30m")

    assert ended.exit_code == 0, ended.output
    given = ["--node=containerd", "--time", "1800s"]
    assert night.called[1] == ["explore", "--results", str(night.results), *given]


def test_a_time_to_explore_that_is_none_is_told_before_the_run(night: Night) -> None:
    assert call(night, "--explore", "soon").exit_code == 2
    assert night.called == []


def test_options_of_the_run_are_passed_through(night: Night) -> None:
    ended = call(night, "--node", "containerd", "-n", "2", "--select=SBX")

    assert ended.exit_code == 0, ended.output
    assert night.called == [
        ["run", "--results", str(night.results), "--node=containerd", "-n", "2", "--select=SBX"]
    ]
    assert "no earlier complete run" in ended.output


def test_a_benchmark_gets_the_runtime_and_its_own_options(night: Night) -> None:
    options = [
        "--bench",
        "--bench-options",
        "--profile smoke",
        "--node=containerd",
        "--runtime-handler",
        "crun",
        "--strict",
    ]
    ended = call(night, *options)

    assert ended.exit_code == 0, ended.output
    assert [each[0] for each in night.called] == ["run", "bench"]
    assert night.called[1][3:] == ["--runtime-handler=crun", "--node=containerd", "--profile", "smoke"]


def test_only_options_that_name_the_runtime_are_shared(night: Night) -> None:
    given = ["--select", "SBX", "--runtime-endpoint", "unix:///x", "-x", "--tls-ca=a.pem", "--read-only"]

    assert call(night, "--bench", *given).exit_code == 0
    named = ["--runtime-endpoint=unix:///x", "--tls-ca=a.pem"]
    assert [each[3:] for each in night.called] == [[*named, "--select", "SBX", "-x", "--read-only"], named]


def test_the_exit_code_is_that_of_the_run(night: Night, tmp_path: Path) -> None:
    night.code = 1

    assert call(night, "--site", tmp_path / "site").exit_code == 1
    assert (tmp_path / "site" / "index.html").exists(), "all later steps are done"


def test_wrong_usage_ends_it_at_once(night: Night, tmp_path: Path) -> None:
    night.code = 4

    assert call(night, "--site", tmp_path / "site").exit_code == 4
    assert not (tmp_path / "site").exists()


def test_a_run_without_a_record_is_told(night: Night) -> None:
    night.stores = False

    ended = call(night)

    assert ended.exit_code == 3
    assert "nightly: the run left no record" in ended.stderr


def test_a_change_of_state_is_told_once(night: Night, tmp_path: Path) -> None:
    target = tmp_path / "notice.json"
    command = f"{sys.executable} -c \"import sys; open('{target}', 'a').write(sys.stdin.read() + chr(10))\""
    for letter in "PPFF":
        night.verdicts = {"SBX-01": letter}
        ended = call(night, "--notify-command", command)
        assert ended.exit_code == 0, ended.output

    (notice,) = [json.loads(line) for line in target.read_text().splitlines()]
    assert notice["counts"] == {"broken": 1, "fixed": 0, "flaky": 0}
    assert notice["changes"][0] == {
        "requirement": "SBX-01",
        "state": "broken",
        "before": "passed",
        "now": "failed",
        "reason": "SBX-01 was not seen",
    }
    assert notice["baseline"]["path"].endswith("1795172800")


def test_a_proven_change_of_a_benchmark_is_told(night: Night, tmp_path: Path) -> None:
    for number in range(20):
        night.median = (0.2 if number < 15 else 0.3) * (1 + number % 3 / 100)
        night("bench")
    target = tmp_path / "notice.json"
    command = f"{sys.executable} -c \"import sys; open('{target}', 'a').write(sys.stdin.read() + chr(10))\""

    ended = call(night, "--bench", "--notify-command", command)

    assert ended.exit_code == 0, ended.output
    (notice,) = [json.loads(line) for line in target.read_text().splitlines()]
    assert notice["counts"]["worse"] == 1
    assert "B-11 pod cycle worse (20" in notice["text"]
    assert "containerd 2.1.0, benchmark: 1 worse" in ended.output


def test_a_notice_that_does_not_arrive_is_told_without_the_address(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(module.WEBHOOK, "http://127.0.0.1:9/very-secret")
    call(night)
    night.verdicts = {"SBX-01": "F"}

    ended = call(night)

    assert ended.exit_code == 3
    assert "the webhook cannot be reached" in ended.stderr
    assert "very-secret" not in ended.output + ended.stderr


def test_new_runs_are_exported(night: Night, tmp_path: Path) -> None:
    ended = call(night, "--export", f"testgrid={tmp_path / 'bucket'}", "--export", f"own={tmp_path / 'x'}")
    assert ended.exit_code == 2
    assert "--export own=" in ended.stderr

    ended = call(night, "--export", f"testgrid={tmp_path / 'bucket'}")

    assert ended.exit_code == 0, ended.stderr
    assert len(list((tmp_path / "bucket").rglob("finished.json"))) == 1


def test_old_runs_go(night: Night) -> None:
    for _ in range(3):
        ended = call(night, "--keep", "2")

    assert "1 old run removed" in ended.output
    assert len(list(night.results.glob("*/*/*/run.json"))) == 2


def test_a_signal_goes_to_the_run_and_the_rest_is_still_done(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\nfrom critests.cli import nightly\nreal = subprocess.Popen\ncode = 'import"
        " signal, time, sys; signal.signal(signal.SIGTERM, lambda *a: sys.exit(2)); print(1, flush=True);"
        " time.sleep(60)'\nnightly.subprocess.Popen = lambda *a: real([sys.executable, '-c',"
        f" code])\nnightly.nightly(['--results', {str(tmp_path)!r}, '--site', {str(tmp_path / 'site')!r}])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=50)

    assert process.returncode == 2, errors
    assert time.monotonic() - began < 50
    assert (tmp_path / "site" / "index.html").exists()


def test_the_command_ends_as_the_run_did(tmp_path: Path) -> None:
    with serve(CriServer(wrong=["filters-ignored"])) as endpoint:
        ended = critests(
            "nightly",
            "--results",
            str(tmp_path),
            "--runtime-endpoint",
            endpoint,
            "--allow-kubelet",
            "--select",
            "CTA-18",
        )

    assert record_in(tmp_path)["exit_code"] == 1
    assert ended.returncode == 1, ended.stdout + ended.stderr
