"""A daemon that exits during a test: the test fails, even if it ignores the exit."""

import os
from pathlib import Path

import pytest

from tests.plugin.broken_rpcs import broken_server
from tests.plugin.command import record_in, run_own_test, validate

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


DIES = "dies-at=UpdateRuntimeConfig"


def test_exit_of_the_daemon_that_a_test_ignores_is_its_failure(tmp_path: Path) -> None:
    with broken_server(DIES, tmp_path) as endpoint:
        result = run_own_test(IGNORES_THE_EXIT, tmp_path, "--runtime-endpoint", endpoint)

    record = record_in(tmp_path / "results")
    killer, follower = record["tests"]
    assert (killer["outcome"], killer["requirement"]) == ("failed", "GEN-17"), result.stdout
    assert killer["reason"] == (
        f"the daemon (process {record['runtime']['pid']}) exited during the test at UpdateRuntimeConfig"
    )
    assert (follower["outcome"], follower["blocked_by"]) == ("blocked", "")
    assert "1 failed, 1 skipped" in result.stdout


def test_run_is_judged_if_the_daemon_exits_in_the_last_test(tmp_path: Path) -> None:
    with broken_server(DIES, tmp_path) as endpoint:
        result = validate(endpoint, tmp_path, "--select RT-25/accept")

    failed = [test for test in record_in(tmp_path)["tests"] if test["outcome"] == "failed"]
    assert [test["requirement"] for test in failed] == ["GEN-17"], result.stdout
    assert result.returncode == 1, result.stdout


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
    result = run_own_test(PRIVATE, tmp_path, "--cri-node", "containerd")

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
    result = run_own_test(KILLS, tmp_path, "--cri-node", "containerd", *workers)

    outcomes = {test["name"]: test["outcome"] for test in record_in(tmp_path / "results")["tests"]}
    assert outcomes.pop("test_kills") == "failed", result.stdout
    assert set(outcomes.values()) == {"passed"}, result.stdout
    assert result.returncode == 1
