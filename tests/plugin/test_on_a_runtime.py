"""Whole runs on a real runtime: concurrent, killed, interrupted and cleaned up."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.client.connection import connect
from critests.client.endpoint import Endpoint
from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry
from tests.node.machine_snapshot import MachineSnapshot, difference, mentioning
from tests.plugin.command import SECONDS, begin, critests, on, record_in, until_running, validate, verdicts_in

pytestmark = [
    pytest.mark.runtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    # up to three runs, which take a minute or two together, and several times as long with other load
    pytest.mark.timeout(3 * SECONDS),
]

# without two that fail now and then: the oldest runtimes sometimes report an OOM kill too late
SOME = "--select SBX,CTR --deselect CTR-24,CTR-26"


@pytest.fixture
def runtime() -> Iterator[ThrowawayRuntime]:
    with throwaway_with_registry() as (started, _):
        yield started


def left_on(endpoint: str) -> list[str]:
    """Return the names of everything that runs left on a runtime."""
    connection = connect(Endpoint.parse(endpoint))
    pods = [
        item.metadata.name for item in connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
    ]
    containers = [
        item.metadata.name
        for item in connection.runtime.ListContainers(cri.ListContainersRequest()).containers
    ]
    tags = [
        tag
        for image in connection.images.ListImages(cri.ListImagesRequest()).images
        for tag in image.repo_tags
        if "/critests/pause:" not in tag
    ]
    connection.close()
    return pods + containers + tags


@pytest.mark.nightly("two or three runs")
def test_concurrent_runs_have_the_verdicts_of_one(runtime: ThrowawayRuntime, tmp_path: Path) -> None:
    alone = validate(runtime.endpoint, tmp_path / "alone", SOME)
    both = [begin(*on("run", runtime.endpoint, tmp_path / name, SOME)) for name in "ab"]
    result = [run.communicate(timeout=SECONDS) for run in both]

    assert alone.returncode == 0, alone.stdout + alone.stderr
    assert [run.returncode for run in both] == [0, 0], result
    assert verdicts_in(tmp_path / "a") == verdicts_in(tmp_path / "b") == verdicts_in(tmp_path / "alone")
    assert left_on(runtime.endpoint) == []


@pytest.mark.nightly("two or three runs")
def test_two_workers_have_the_verdicts_of_one(runtime: ThrowawayRuntime, tmp_path: Path) -> None:
    for workers in "12":
        result = validate(runtime.endpoint, tmp_path / workers, f"{SOME} -n {workers}")
        assert result.returncode == 0, result.stdout + result.stderr

    assert verdicts_in(tmp_path / "1") == verdicts_in(tmp_path / "2")
    assert left_on(runtime.endpoint) == []


@pytest.mark.nightly("much of the suite")
def test_killed_runtime_blocks_the_remaining_tests(runtime: ThrowawayRuntime, tmp_path: Path) -> None:
    run = begin(*on("run", runtime.endpoint, tmp_path, SOME))
    until_running(run)
    time.sleep(2)  # in the middle of a test
    runtime.kill()
    out, err = run.communicate(timeout=SECONDS)

    outcomes = {test["outcome"] for test in record_in(tmp_path)["tests"]}
    assert run.returncode == 5, out + err
    failed = [test["requirement_id"] for test in record_in(tmp_path)["tests"] if test["outcome"] == "failed"]
    assert "blocked" in outcomes
    assert "error" not in outcomes
    assert failed in (["GEN-17"], []), "none if it was killed between two tests"


@pytest.mark.nightly("two or three runs")
def test_clean_removes_objects_of_a_killed_run_and_not_of_a_live_one(
    runtime: ThrowawayRuntime, tmp_path: Path
) -> None:
    killed = begin(*on("run", runtime.endpoint, tmp_path / "killed", SOME))
    until_running(killed)
    time.sleep(2)  # in the middle of a test
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert left_on(runtime.endpoint)

    live = begin(*on("run", runtime.endpoint, tmp_path / "live", SOME))
    until_running(live)
    cleaned = critests("clean", "--runtime-endpoint", runtime.endpoint)
    out, err = live.communicate(timeout=SECONDS)

    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert "not touched" in cleaned.stdout
    assert live.returncode == 0, out + err
    assert left_on(runtime.endpoint) == []


def test_a_run_leaves_the_machine_as_it_was(tmp_path: Path) -> None:
    before = MachineSnapshot.take()
    chosen = "--select SBX-02,AUT-01,NET-01,RST-01 -n 2"
    result = critests(*f"run --node containerd {chosen} --results {tmp_path}".split())
    after = MachineSnapshot.take()

    run = record_in(tmp_path)["run_id"]
    assert result.returncode == 0, result.stdout + result.stderr
    assert [str(change) for change in mentioning(difference(before, after), [run])] == []


def test_clean_removes_the_cgroups_of_a_dead_run() -> None:
    writable = [hierarchy for hierarchy in cgroup_hierarchies() if os.access(hierarchy, os.W_OK)]
    left = [hierarchy / "critests" / "1000000000-abcdef" / "pod1" for hierarchy in writable]
    probed = [hierarchy / "critests-asks" for hierarchy in writable]
    for directory in (*left, *probed):
        directory.mkdir(parents=True)

    cleaned = critests("clean")

    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert "cgroups of run 1000000000-abcdef: removed" in cleaned.stdout
    assert not [directory for directory in left if directory.parent.exists()]
    assert not [directory for directory in probed if directory.exists()]


def test_private_runtime_is_removed_when_its_run_is_interrupted(tmp_path: Path) -> None:
    run = begin(*f"run --node containerd {SOME} --results {tmp_path}".split())
    until_running(run)
    time.sleep(1)  # in the middle of a test
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=SECONDS)

    record = record_in(tmp_path)
    assert run.returncode == 2, out + err
    assert record["interrupted"]
    assert not Path("/run/critests", record["run_id"]).exists()
    assert not Path("/proc", str(record["runtime"]["pid"])).exists()


@pytest.mark.nightly("much of the suite")
def test_missing_network_plugin_is_one_failure(tmp_path: Path) -> None:
    with throwaway_with_registry(network=False) as (started, _):
        result = validate(started.endpoint, tmp_path, "--select RT,SBX,NET")

    record = record_in(tmp_path)
    failed = {test["requirement"] for test in record["tests"] if test["outcome"] == "failed"}
    assert result.returncode == 1, result.stdout + result.stderr
    assert failed == {"RT-07"}
    assert "NetworkReady is false" in result.stdout


@pytest.mark.nightly("much of the suite")
def test_an_unknown_handler_is_one_failure(runtime: ThrowawayRuntime, tmp_path: Path) -> None:
    result = validate(runtime.endpoint, tmp_path, "--runtime-handler nosuch --select SBX,CTR")

    record = record_in(tmp_path)
    failed = {test["requirement"] for test in record["tests"] if test["outcome"] == "failed"}
    assert result.returncode == 1, result.stdout + result.stderr
    assert failed == {"SBX-02"}
