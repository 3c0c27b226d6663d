"""`critests nightly`, with a run that only pretends."""

import json
import re
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from critests.cli import nightly as module
from critests.cli.nightly import _condition_of, _node_setting_of, nightly
from critests.conditions.condition_table import CONDITIONS
from critests.exit_codes import UsageError
from critests.record.identity import ProgramFile, RuntimeIdentity
from critests.report.dashboard.incident_rows import incident_rows
from critests.report.dashboard.lines import lines, promises
from critests.report.store import Index
from critests.runtimes.private_kinds import KINDS
from tests.criserver import CriServer, serve
from tests.plugin.command import critests, on, record_in
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
        self.last_words = ""
        self.runtime = RuntimeIdentity(name="containerd", version="2.1.0")

    def __call__(self, *arguments: str) -> tuple[int, str]:
        self.called.append(list(arguments))
        self.night += 1
        if self.stores and arguments[0] == "run":
            store(self.results, small_run(self.verdicts, night=self.night, runtime=self.runtime))
        return 0 if arguments[0] == "dashboard" else self.code, self.last_words


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    night = Night(tmp_path / "results")
    monkeypatch.setattr(module, "_critests", night)
    return night


def call(night: Night, *arguments: str | Path) -> Result:
    return CliRunner().invoke(
        nightly, ["--results", str(night.results), *(str(argument) for argument in arguments)]
    )


def test_each_night_has_the_next_condition() -> None:
    nights = [_condition_of(date(2026, 1, day), "churn, events")[1] for day in (1, 2, 3, 4)]

    assert sorted(nights[:2]) == ["churn", "events"]
    assert nights[:2] == nights[2:]
    assert {_condition_of(date(2026, 1, day), "all")[1] for day in range(1, 31)} == set(CONDITIONS)
    assert _condition_of(date(2026, 1, 1), "") == []


def test_each_night_has_the_next_node_setting_of_the_kind() -> None:
    nights = [_node_setting_of(date(2026, 1, day), "all", "crio") for day in range(1, 31)]

    assert {option for option, _ in nights} == {"--node-setting"}
    assert {name for _, name in nights} == set(KINDS["crio"].node_settings)
    assert _node_setting_of(date(2026, 1, 1), "", "crio") == []


def test_the_node_setting_of_the_night_is_passed_to_the_run(night: Night) -> None:
    ended = call(night, "--node", "containerd", "--node-setting", "nri", "--bench")

    assert ended.exit_code == 0, ended.output
    assert night.called[0][3:] == ["--node=containerd", "--node-setting", "nri"]
    assert "--node-setting" not in night.called[1]


@pytest.mark.parametrize(
    "arguments", [("--node", "crio", "--node-setting", "local-pull"), ("--node-setting", "nri")]
)
def test_a_node_setting_that_the_node_lacks_starts_nothing(night: Night, arguments: tuple[str, ...]) -> None:
    assert isinstance(call(night, *arguments).exception, UsageError)
    assert night.called == []


def test_the_condition_of_the_night_is_passed_to_the_run(night: Night) -> None:
    ended = call(night, "--node", "containerd", "--condition", "churn", "--bench")

    assert ended.exit_code == 0, ended.output
    assert night.called[0][3:] == ["--node=containerd", "--condition", "churn"]
    assert "--condition" not in night.called[1]


def test_conditions_of_one_process_are_rejected_before_their_night(night: Night) -> None:
    rejected = call(night, "--node", "containerd", "--condition", "all", "-n", "2").exception

    assert isinstance(rejected, UsageError)
    assert "without -n" in str(rejected)
    assert night.called == []


def test_an_unknown_condition_starts_nothing(night: Night) -> None:
    assert isinstance(call(night, "--node", "containerd", "--condition", "rain").exception, UsageError)
    assert night.called == []


def test_options_of_the_run_are_passed_through(night: Night) -> None:
    ended = call(night, "--node", "containerd", "-n", "2", "--select=SBX")

    assert ended.exit_code == 0, ended.output
    assert night.called == [
        ["run", "--results", str(night.results), "--node=containerd", "-n", "2", "--select=SBX"]
    ]
    assert "found no earlier run to compare with" in ended.output


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
    assert night.called[-1] == ["dashboard", str(night.results), "-o", str(tmp_path / "site")]


def test_wrong_usage_stops_the_night(night: Night, tmp_path: Path) -> None:
    night.code = 4

    assert call(night, "--site", tmp_path / "site").exit_code == 4
    assert len(night.called) == 1


def test_a_run_without_a_record_is_reported(night: Night, tmp_path: Path) -> None:
    night.stores = False

    night.last_words = "critests: no such socket"

    ended = call(night, "--notify-command", writing_to(tmp_path / "notices"))

    assert ended.exit_code == 3
    assert "nightly: the run wrote no record: critests: no such socket" in ended.stderr
    assert "no such socket" in json.loads((tmp_path / "notices").read_text())["text"]


def test_a_night_without_a_run_is_of_the_runtime_that_was_asked_for(night: Night) -> None:
    call(night)
    night.stores, night.code = False, 5

    call(night, "--node", "crio=/opt/crio")

    with Index.of(night.results) as index:
        found = {line.runtime: len(line.runs) for line in lines(index)}
    assert found == {"containerd": 1, "cri-o": 1}


def writing_to(target: Path) -> str:
    return f"{sys.executable} -c \"import sys; open('{target}', 'a').write(sys.stdin.read() + chr(10))\""


def test_changes_since_the_last_good_run_are_reported(night: Night, tmp_path: Path) -> None:
    target = tmp_path / "notices"
    for letter in "PPFP":
        night.verdicts = {"SBX-01": letter}
        ended = call(night, "--notify-command", writing_to(target))
        assert ended.exit_code == 0, ended.output

    notice, over = [json.loads(line) for line in target.read_text().splitlines()]
    assert over["text"].startswith(
        "containerd 2.1.0, validation: Good again: RunPodSandbox returns only once"
    )
    assert re.search(r" \(SBX-01\), from 2026-11-\d\d 11:06 on\. Compared with ", over["text"])
    assert (notice["schema"], notice["schema_version"]) == ("critests.notice", 2)
    assert notice["text"].startswith("containerd 2.1.0, validation: RunPodSandbox returns only once")
    (run,) = notice["runs"]
    assert run["changed"]
    assert run["exit_code"] == 1
    assert run["comparison"]["a"]["run_id"].startswith("1795172800")
    assert [(each["requirement"], each["b"]) for each in run["comparison"]["tests"]] == [("SBX-01", "failed")]


def test_without_a_good_run_the_last_complete_one_is_the_baseline(night: Night) -> None:
    for verdicts in ({"SBX-01": "F", "SBX-02": "P"}, {"SBX-01": "F", "SBX-02": "F"}):
        night.verdicts = verdicts
        ended = call(night)

    assert "1 test worse" in ended.output


def test_a_notice_says_which_program_differs_and_when_the_same_broke_before(
    night: Night, tmp_path: Path
) -> None:
    target = tmp_path / "notices"
    sound, broken = (
        RuntimeIdentity(
            name="containerd",
            version="2.1.0",
            programs=[
                ProgramFile(role="OCI runtime", path="/usr/sbin/runc", version="1.3", sha256=digest * 64)
            ],
        )
        for digest in "ab"
    )
    for letter, identity in (("P", sound), ("F", broken), ("P", sound), ("F", broken)):
        night.verdicts, night.runtime = {"SBX-01": letter, "SBX-02": letter}, identity
        call(night, "--notify-command", writing_to(target))

    notices = [json.loads(line) for line in target.read_text().splitlines()]
    changes = [notice["runs"][0]["differences"] for notice in notices]
    runc = "/usr/sbin/runc, 1.3, sha256 "
    different = [{"name": "OCI runtime", "before": runc + "a" * 12, "after": runc + "b" * 12}]
    assert changes == [different, [], different]
    assert "Broken again" not in notices[0]["text"]
    assert "(SBX-01) and 1 more requirement, from" in notices[1]["text"]
    found, _, rest = notices[2]["text"].partition(" (SBX-01): SBX-01 was not seen. 2 tests worse. ")
    assert found.startswith("containerd 2.1.0, validation: ")
    assert rest.startswith("Differs from the last good run: OCI runtime (/usr/sbin/runc, 1.3, sha256 aaa")
    assert " Broken again, as on 2026-11-20 11:06. Compared with " in rest


def test_a_night_in_which_no_run_began_has_a_record_and_a_notice(night: Night, tmp_path: Path) -> None:
    target = tmp_path / "notices"
    call(night)
    night.stores, night.code, night.last_words = False, 5, "critests: runc makes no container"

    ended = call(night, "--notify-command", writing_to(target))

    assert ended.exit_code == 5
    (notice,) = [json.loads(line) for line in target.read_text().splitlines()]
    assert notice["text"] == "containerd, validation: nothing could be tested: runc makes no container"
    with Index.of(night.results) as index:
        (line,) = lines(index)
        newest, before = line.runs
        assert newest.judged_nothing
        assert not before.judged_nothing
        (row,) = incident_rows(line, promises(index.requirements()))
    assert (row.first, row.over, row.why) == (newest, None, "runc makes no container")


@pytest.mark.parametrize(
    ("command", "words"), [("false", "exited with 1"), ("/no/such/program", "could not be started")]
)
def test_a_failed_notification_is_an_error(night: Night, command: str, words: str) -> None:
    call(night)
    night.verdicts = {"SBX-01": "F"}

    ended = call(night, "--notify-command", command)

    assert ended.exit_code == 3
    assert words in ended.stderr


def test_a_signal_goes_to_the_run_and_the_rest_is_still_done(tmp_path: Path) -> None:
    child = (
        "import signal, time, sys; signal.signal(signal.SIGTERM, lambda *a: sys.exit(2));"
        " print(1, flush=True); time.sleep(60)"
    )
    script = (
        "import subprocess, sys\nfrom critests.cli import nightly\nreal = subprocess.Popen\n"
        f"child = [sys.executable, '-c', {child!r}]\n"
        "nightly.subprocess.Popen = lambda command, **pipes:"
        " real(child if 'run' in command else command, **pipes)\n"
        f"nightly.nightly(['--results', {str(tmp_path)!r}, '--site', {str(tmp_path / 'site')!r}])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=50)

    assert process.returncode == 2, errors
    assert (tmp_path / "site" / "index.html").exists()


def test_the_exit_code_of_the_command_is_that_of_the_run(tmp_path: Path) -> None:
    with serve(CriServer(wrong=["filters-ignored"])) as endpoint:
        ended = critests(*on("nightly", endpoint, tmp_path, "--select CTA-18 --times 1"))

    assert record_in(tmp_path)["exit_code"] == 1
    assert ended.returncode == 1, ended.stdout + ended.stderr
