"""A daemon that exits during a test: the test fails, even if it ignores the exit."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin.command import SECONDS, critests, environment, record_in

IGNORES_THE_EXIT = '''
import contextlib

import grpc
import pytest

from critests.api import api_pb2 as cri


def test_takes_the_exit_for_a_rejection(runtime):
    """The call is rejected."""
    with contextlib.suppress(grpc.RpcError):
        runtime.stub.UpdateRuntimeConfig(cri.UpdateRuntimeConfigRequest(runtime_config=cri.RuntimeConfig()))


def test_follows(runtime):
    """It follows."""
    assert runtime.version.runtime_name
'''


@pytest.fixture
def dying_server(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A server that dies at UpdateRuntimeConfig."""
    command = [sys.executable, "-m", "tests.criserver", "--socket", str(tmp_path / "cri.sock")]
    server = subprocess.Popen([*command, "--wrong", "dies-at=UpdateRuntimeConfig"], stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()
    yield server
    server.kill()
    server.communicate()


def test_exit_of_the_daemon_that_a_test_ignores_is_its_failure(
    dying_server: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    (tmp_path / "test_mine.py").write_text(IGNORES_THE_EXIT, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "critests.plugin", "--cri-allow-kubelet"]
    command += ["--runtime-endpoint", str(tmp_path / "cri.sock"), "--cri-results", str(tmp_path / "results")]
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=SECONDS, check=False
    )

    killer, follower = record_in(tmp_path / "results")["tests"]
    assert (killer["outcome"], killer["requirement"]) == ("failed", "GEN-17"), result.stdout
    assert killer["reason"] == (
        f"the daemon (process {dying_server.pid}) exited during the test at UpdateRuntimeConfig"
    )
    assert (follower["outcome"], follower["blocked_by"]) == ("blocked", "")
    assert "1 failed, 1 skipped" in result.stdout


def test_run_is_judged_if_the_daemon_exits_in_the_last_test(
    dying_server: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    result = critests(
        *("run", "--runtime-endpoint", str(tmp_path / "cri.sock"), "--results", str(tmp_path / "results")),
        *("--allow-kubelet", "--select", "RT-25/accept"),
    )

    failed = [test for test in record_in(tmp_path / "results")["tests"] if test["outcome"] == "failed"]
    assert [test["requirement"] for test in failed] == ["GEN-17"], result.stdout
    assert result.returncode == 1, result.stdout
    assert dying_server.wait(SECONDS) != 0


PRIVATE = """
import contextlib
import os

import grpc

from critests.api import api_pb2 as cri


def test_kills_its_own(own_runtime):
    \"\"\"It kills its own daemon, and takes the lost connection for a rejection.\"\"\"
    os.kill(own_runtime.context.daemon_pid, 9)
    with contextlib.suppress(grpc.RpcError):
        own_runtime.stub.Version(cri.VersionRequest())


def test_asserts_that_the_daemon_is_alive(own_runtime):
    \"\"\"It checks that the daemon is alive.\"\"\"
    os.kill(own_runtime.context.daemon_pid, 9)
    with contextlib.suppress(grpc.RpcError):
        own_runtime.stub.Version(cri.VersionRequest())
    assert not own_runtime.damage()


def test_restarts_its_own(own_runtime):
    \"\"\"It stops the daemon, and calls it meanwhile.\"\"\"
    with own_runtime.down(9), contextlib.suppress(grpc.RpcError):
        own_runtime.stub.Version(cri.VersionRequest())


def test_follows(runtime):
    \"\"\"It uses the daemon of the run.\"\"\"
    assert runtime.version.runtime_name
"""


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_exit_of_a_tests_own_runtime_is_its_failure(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(PRIVATE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "critests.plugin", "--cri-node", "containerd"]
    result = subprocess.run(
        [*command, "--cri-results", str(tmp_path / "results")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
        timeout=SECONDS,
        check=False,
    )

    tests = record_in(tmp_path / "results")["tests"]
    verdicts = {test["name"]: (test["outcome"], test["requirement"]) for test in tests}
    assert verdicts.pop("test_kills_its_own") == ("failed", "GEN-17"), result.stdout
    outcome, requirement = verdicts.pop("test_asserts_that_the_daemon_is_alive")
    assert (outcome, requirement != "GEN-17") == ("failed", True), result.stdout
    assert {outcome for outcome, _ in verdicts.values()} == {"passed"}, result.stdout
    assert result.returncode == 1


# no object is created during the kill: an incomplete one may disturb the next daemon
KILLS = """
import contextlib
import fcntl
import os

import grpc
import pytest

from critests.api import api_pb2 as cri


@pytest.fixture(autouse=True)
def alone():
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize("number", range(3))
def test_harmless(running_container, number):
    \"\"\"It runs.\"\"\"
    assert running_container.exec("true").exit_code == 0


def test_kills(runtime):
    \"\"\"It kills the daemon, and takes the lost connection for a rejection.\"\"\"
    os.kill(runtime.context.daemon_pid, 9)
    with contextlib.suppress(grpc.RpcError):
        runtime.stub.Version(cri.VersionRequest())


@pytest.mark.parametrize("number", range(3, 6))
def test_harmless_too(running_container, number):
    \"\"\"It runs.\"\"\"
    assert running_container.exec("true").exit_code == 0
"""


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two workers"])
def test_private_runtime_is_restarted_and_the_test_that_killed_it_fails(
    workers: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "test_mine.py").write_text(KILLS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "critests.plugin", "--cri-node", "containerd"]
    result = subprocess.run(
        [*command, "--cri-results", str(tmp_path / "results"), *workers],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
        timeout=SECONDS,
        check=False,
    )

    outcomes = {test["name"]: test["outcome"] for test in record_in(tmp_path / "results")["tests"]}
    assert outcomes.pop("test_kills") == "failed", result.stdout
    assert set(outcomes.values()) == {"passed"}, result.stdout
    assert result.returncode == 1
