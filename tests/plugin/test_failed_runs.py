"""Messages and exit codes of runs with a problem of the runtime, the machine or the command line."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from critests.node.cleanup.runtime_removal import forget_dead_run
from critests.node.run_state.locks import known_runs
from tests.criserver import CriServer, serve
from tests.criserver.impostors import silent
from tests.plugin.broken_rpcs import broken_server
from tests.plugin.command import (
    SECONDS,
    begin,
    critests,
    on,
    ran_in,
    record_in,
    run_own_test,
    until_running,
    validate,
)


def test_missing_socket_exits_with_5(tmp_path: Path) -> None:
    result = validate(str(tmp_path / "absent.sock"), tmp_path)

    assert result.returncode == 5
    assert "no such socket" in result.stderr
    assert "the options select no test" not in result.stderr
    assert not list(tmp_path.rglob("run.json"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to change the user")
def test_denied_permission_is_reported() -> None:
    path = Path("/tmp") / f"critests-forbidden-{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o600)
        try:
            code = (
                "import os, sys\nfrom critests.client.connection import connect\n"
                "from critests.client.endpoint import Endpoint, EndpointError\n"
                "connection = connect(Endpoint.parse(sys.argv[1]))\nos.setgid(65534); os.setuid(65534)\n"
                "try: connection.greet()\n"
                "except EndpointError as error: print(error)"
            )
            result = subprocess.run(
                [sys.executable, "-c", code, str(path)],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        finally:
            path.unlink()

    assert "permission denied" in result.stdout, result.stderr


def test_endpoint_and_timeout_options_are_those_of_crictl(tmp_path: Path) -> None:
    with silent() as endpoint:
        result = critests(
            *("run", "-r", endpoint, "-i", endpoint, "--timeout", "0.2s", "--results", str(tmp_path))
        )

    assert result.returncode == 5
    assert f"{endpoint}: the connection was accepted" in result.stderr
    assert "Version got no response within 0.2 s" in result.stderr


@pytest.mark.parametrize("option", ["--no-such-option", "--require telepathy"])
def test_usage_error_exits_with_4_and_names_the_option(option: str, tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        result = validate(endpoint, tmp_path, option)

    assert result.returncode == 4, result.stdout + result.stderr
    assert option.rsplit(maxsplit=1)[-1] in result.stderr


def test_port_without_a_listener_is_reported_as_refused(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        result = validate(f"tcp://127.0.0.1:{free.getsockname()[1]}", tmp_path)

    assert result.returncode == 5
    assert "connection refused" in result.stderr
    assert "speak gRPC" not in result.stderr


def test_run_without_tests_exits_with_5(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        result = validate(endpoint, tmp_path, "--select SBA-01 -k removal")

    assert result.returncode == 5
    assert "the options select no test" in result.stderr


FAILING = "SBX-02,SBA-01,SBA-02,SBA-03,SBA-04,SBA-05,SBA-06,SBA-07,SBA-08"


def test_failing_sandboxes_are_one_failure_that_blocks_other_tests(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"fails=RunPodSandbox"})) as endpoint:
        result = validate(endpoint, tmp_path, f"--select {FAILING} --deadline-scale 0.2")

    record = record_in(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert record["scope"]["selection"] == f"--select {FAILING}"
    assert record["scope"]["musts_judged"] < record["scope"]["musts"]
    failed = {test["requirement"] for test in record["tests"] if test["outcome"] == "failed"}
    blocked = [
        test for test in record["tests"] if test["outcome"] == "blocked" and test["blocked_by"] == "SBX-02"
    ]
    assert failed == {"SBX-02"}
    assert len(blocked) > 5


SEVERAL = ",".join(f"CTA-{number:02d}" for number in range(1, 13))


def test_failed_call_does_not_block_tests_whose_set_up_succeeds(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"fails-at=CreateContainer/3,4,5"})) as endpoint:
        result = validate(endpoint, tmp_path, f"--select CTR-01,{SEVERAL}")

    tests = [test for test in record_in(tmp_path)["tests"] if not test["synthesized"]]
    outcomes = Counter(test["outcome"] for test in tests)
    assert 1 <= outcomes["failed"] + outcomes["blocked"] <= 3, result.stdout + result.stderr
    assert outcomes["passed"] > 10


@pytest.mark.parametrize(
    ("rpc", "select", "judge"),
    [
        ("Status", "RT-02,RT-06,SBX-02", "RT-06"),
        ("PullImage", "CTR-01,CTR-13", "IMG-01"),
    ],
    ids=["called by probes", "called in set-ups only"],
)
def test_unimplemented_rpc_is_one_failure_that_blocks_other_tests(
    rpc: str, select: str, judge: str, tmp_path: Path
) -> None:
    with serve(CriServer(wrong={f"unimplemented={rpc}"})) as endpoint:
        result = validate(endpoint, tmp_path, f"--select {select}")

    tests = ran_in(tmp_path)
    failed = [test for test in tests if test["outcome"] == "failed"]
    assert result.returncode == 1, result.stdout + result.stderr
    assert [test["requirement"] for test in failed] == [judge]
    assert f"{rpc} is not implemented" in failed[0]["reason"]
    assert {test["blocked_by"] for test in tests if test["outcome"] == "blocked"} == {judge.partition("/")[0]}


def test_exit_of_the_daemon_fails_the_test_that_was_running(tmp_path: Path) -> None:
    with broken_server("dies-after=60", tmp_path) as endpoint:
        result = validate(endpoint, tmp_path, "--select SBX,SBA")

    record = record_in(tmp_path)
    outcomes = {test["outcome"] for test in record["tests"]}
    assert result.returncode == 1, result.stdout + result.stderr
    assert "the rest could not be judged: the daemon (process" in result.stdout
    assert "blocked" in outcomes
    assert "error" not in outcomes
    failed = [test for test in record["tests"] if test["outcome"] == "failed"]
    assert [test["requirement"] for test in failed] == ["GEN-17"]
    assert f"process {record['runtime']['pid']}) exited during the test at " in failed[0]["reason"]


def run_in_progress(endpoint: str, results: Path, stderr: int) -> "subprocess.Popen[str]":
    """Return a run in the middle of a test, with its output in a pipe."""
    run = begin(*on("run", endpoint, results, "--select SBX,SBA"), stderr=stderr)
    until_running(run)
    time.sleep(1.5)
    return run


def test_ctrl_c_exits_with_2_and_writes_the_record(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"slow=0.05"})) as endpoint:
        run = run_in_progress(endpoint, tmp_path, subprocess.PIPE)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=SECONDS)

    assert run.returncode == 2, out + err
    assert record_in(tmp_path)["interrupted"] is True


def test_ctrl_c_twice_leaves_at_once(tmp_path: Path) -> None:
    runs_before = known_runs().keys()
    with serve(CriServer(wrong={"slow=1"})) as endpoint:
        run = run_in_progress(endpoint, tmp_path, subprocess.PIPE)
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=SECONDS)

    assert run.returncode == 2, out + err
    for run_id in known_runs().keys() - runs_before:  # as `critests clean` does; a live run stays
        forget_dead_run(run_id)
    assert "left at once" in err


@pytest.mark.nightly("a run of much of the suite, with waits")
def test_ctrl_c_with_a_closed_output_pipe_writes_the_record(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"slow=0.2"})) as endpoint:
        run = run_in_progress(endpoint, tmp_path, subprocess.STDOUT)
        assert run.stdout is not None
        run.stdout.close()  # like `2>&1 | tee` at Ctrl-C
        run.send_signal(signal.SIGINT)
        run.wait(timeout=SECONDS)

    assert run.returncode == 2
    assert record_in(tmp_path)["interrupted"] is True


@pytest.mark.nightly("a run of much of the suite, with waits")
def test_run_continues_after_its_output_pipe_is_closed(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        run = run_in_progress(endpoint, tmp_path, subprocess.STDOUT)
        assert run.stdout is not None
        run.stdout.close()  # like `head`
        run.wait(timeout=SECONDS)

    assert run.returncode == record_in(tmp_path)["exit_code"]
    assert record_in(tmp_path)["interrupted"] is False


def test_failed_clean_up_of_a_fixture_after_ctrl_c_writes_the_record(tmp_path: Path) -> None:
    test = (
        "import os, pytest, signal\n\n\n"
        "@pytest.fixture(scope='session')\n"
        "def held():\n    yield\n    raise OSError('cannot let go')\n\n\n"
        "def test_is_stopped(runtime, held):\n    os.kill(os.getpid(), signal.SIGINT)\n"
    )
    with serve(CriServer()) as endpoint:
        result = run_own_test(test, tmp_path, "--runtime-endpoint", endpoint)

    assert result.returncode == 2, result.stdout + result.stderr
    record = record_in(tmp_path / "results")
    assert record["interrupted"] is True
    assert "what a fixture created could not be removed: cannot let go" in record["notes"]


@pytest.mark.nightly("a run of much of the suite, with waits")
def test_read_only_run_calls_no_mutating_rpc(tmp_path: Path) -> None:
    server = CriServer()
    with serve(server) as endpoint:
        result = validate(endpoint, tmp_path, "--read-only")

    record = record_in(tmp_path)
    mutating = {"RunPodSandbox", "CreateContainer", "PullImage", "RemoveImage", "StopPodSandbox"}
    assert result.returncode in {0, 1}, result.stdout + result.stderr
    assert not mutating & set(record["coverage"]["rpcs"])


def test_list_needs_no_endpoint(tmp_path: Path) -> None:
    result = critests("run", "--list", "--select", "SBX", cwd=tmp_path)

    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stderr
    assert lines
    assert all(line.split()[0].startswith("SBX-") for line in lines)


def test_list_as_json_has_titles_and_levels(tmp_path: Path) -> None:
    result = critests("run", "--list", "--select", "SBX-01,CTR-36", "--json", "-", cwd=tmp_path)

    listed = json.loads(result.stdout)
    assert result.returncode == 0, result.stderr
    assert {test["requirement"].partition("/")[0] for test in listed} == {"SBX-01", "CTR-36"}
    for test in listed:
        assert test["level"] in {"MUST", "SHOULD", "MAY"}
        assert test["title"]
        assert test["id"].endswith(f"::{test['name']}")
    assert not list(tmp_path.iterdir())


def test_hanging_test_is_an_error_and_the_run_continues(tmp_path: Path) -> None:
    test = (
        "import pytest\n\n\n"
        "@pytest.mark.timeout(1)\ndef test_hangs(runtime):\n    while True:\n        pass\n\n\n"
        "def test_goes_on(runtime):\n    assert runtime.version.runtime_name\n"
    )
    with serve(CriServer()) as endpoint:
        result = run_own_test(test, tmp_path, "--runtime-endpoint", endpoint)

    assert result.returncode == 3, result.stdout + result.stderr
    outcomes = {test["name"]: test["outcome"] for test in record_in(tmp_path / "results")["tests"]}
    assert outcomes == {"test_hangs": "error", "test_goes_on": "passed"}


def test_error_in_the_fixture_lookup_is_counted(tmp_path: Path) -> None:
    test = (
        "def test_misspelled(runtme):\n    pass\n\n\n"
        "def test_goes_on(runtime):\n    assert runtime.version.runtime_name\n"
    )
    with serve(CriServer()) as endpoint:
        result = run_own_test(test, tmp_path, "--runtime-endpoint", endpoint)

    assert result.returncode == 3, result.stdout + result.stderr
    record = record_in(tmp_path / "results")
    assert {test["name"]: test["outcome"] for test in record["tests"]} == {
        "test_misspelled": "error",
        "test_goes_on": "passed",
    }
    assert record["counts"]["outcomes"]["error"] == 1


def test_unreachable_registry_exits_with_5_and_is_explained(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"fails=PullImage"})) as endpoint:
        result = validate(endpoint, tmp_path, "--select CTR-01,CTR-13,CTR-21")

    assert result.returncode == 5, result.stdout + result.stderr
    assert "does not reach the suite's registry" in result.stdout
    assert {test["outcome"] for test in record_in(tmp_path)["tests"]} == {"blocked", "disabled"}


@pytest.mark.runtime
def test_full_disk_exits_with_3_and_is_reported(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    try:
        with serve(CriServer()) as endpoint:
            result = validate(endpoint, tmp_path, "--select RT-01")
    finally:
        subprocess.run(["umount", tmp_path], check=True)

    assert result.returncode == 3, result.stdout + result.stderr
    assert "no space left" in result.stderr
    assert "exit 3:" in result.stdout
