"""A daemon that ends in the time of a test: that test has failed, whatever it made of that."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin.command import SECONDS, critests, environment, record_in

SWALLOWS = '''
import contextlib

import grpc
import pytest

from critests.api import api_pb2 as cri


def test_takes_it_for_a_refusal(runtime):
    """The call is refused."""
    with contextlib.suppress(grpc.RpcError):
        runtime.stub.UpdateRuntimeConfig(cri.UpdateRuntimeConfigRequest(runtime_config=cri.RuntimeConfig()))


def test_follows(runtime):
    """It follows."""
    assert runtime.version.runtime_name
'''


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A server that dies at UpdateRuntimeConfig."""
    command = [sys.executable, "-m", "tests.criserver", "--socket", str(tmp_path / "cri.sock")]
    server = subprocess.Popen([*command, "--wrong", "dies-at=UpdateRuntimeConfig"], stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()
    yield server
    server.kill()
    server.communicate()


def test_a_death_that_a_test_swallows_is_its_failure(
    mortal: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    (tmp_path / "test_mine.py").write_text(SWALLOWS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "critests.plugin", "--cri-allow-kubelet"]
    command += ["--runtime-endpoint", str(tmp_path / "cri.sock"), "--cri-results", str(tmp_path / "results")]
    ended = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=SECONDS, check=False
    )

    swallowed, follower = record_in(tmp_path / "results")["tests"]
    assert (swallowed["outcome"], swallowed["requirement"]) == ("failed", "GEN-17"), ended.stdout
    assert swallowed["reason"] == (
        f"the daemon (process {mortal.pid}) exited during the test at UpdateRuntimeConfig"
    )
    assert (follower["outcome"], follower["blocked_by"]) == ("blocked", "")
    assert "1 failed, 1 skipped" in ended.stdout


def test_a_death_with_the_last_test_leaves_the_run_tested(
    mortal: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    ended = critests(
        *("run", "--runtime-endpoint", str(tmp_path / "cri.sock"), "--results", str(tmp_path / "results")),
        *("--allow-kubelet", "--select", "RT-25/accept"),
    )

    failed = [test for test in record_in(tmp_path / "results")["tests"] if test["outcome"] == "failed"]
    assert [test["requirement"] for test in failed] == ["GEN-17"], ended.stdout
    assert ended.returncode == 1, ended.stdout
    assert mortal.wait(SECONDS) != 0


PRIVATE = """
import contextlib
import os

import grpc

from critests.api import api_pb2 as cri


def test_kills_its_own(own_runtime):
    \"\"\"It ends the daemon that it has for itself, and takes that for a refusal.\"\"\"
    os.kill(own_runtime.context.daemon_pid, 9)
    with contextlib.suppress(grpc.RpcError):
        own_runtime.stub.Version(cri.VersionRequest())


def test_tells_it_in_its_own_words(own_runtime):
    \"\"\"It looks whether the daemon lives.\"\"\"
    os.kill(own_runtime.context.daemon_pid, 9)
    with contextlib.suppress(grpc.RpcError):
        own_runtime.stub.Version(cri.VersionRequest())
    assert not own_runtime.damage()


def test_restarts_its_own(own_runtime):
    \"\"\"It holds the daemon down, and asks it meanwhile.\"\"\"
    with own_runtime.down(9), contextlib.suppress(grpc.RpcError):
        own_runtime.stub.Version(cri.VersionRequest())


def test_follows(runtime):
    \"\"\"It has the run's own.\"\"\"
    assert runtime.version.runtime_name
"""


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_end_of_a_daemon_that_a_test_has_for_itself_is_its_failure(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(PRIVATE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "critests.plugin", "--cri-node", "containerd"]
    ended = subprocess.run(
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
    assert verdicts.pop("test_kills_its_own") == ("failed", "GEN-17"), ended.stdout
    outcome, requirement = verdicts.pop("test_tells_it_in_its_own_words")
    assert (outcome, requirement != "GEN-17") == ("failed", True), ended.stdout
    assert {outcome for outcome, _ in verdicts.values()} == {"passed"}, ended.stdout
    assert ended.returncode == 1


# nothing is created during the kill: a half-created object may disturb the next daemon
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
    \"\"\"It ends the daemon and takes that for a refusal.\"\"\"
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
def test_a_throwaway_runtime_is_started_again_and_the_culprit_is_found(
    workers: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "test_mine.py").write_text(KILLS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "critests.plugin", "--cri-node", "containerd"]
    ended = subprocess.run(
        [*command, "--cri-results", str(tmp_path / "results"), *workers],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
        timeout=SECONDS,
        check=False,
    )

    outcomes = {test["name"]: test["outcome"] for test in record_in(tmp_path / "results")["tests"]}
    assert outcomes.pop("test_kills") == "failed", ended.stdout
    assert set(outcomes.values()) == {"passed"}, ended.stdout
    assert ended.returncode == 1
