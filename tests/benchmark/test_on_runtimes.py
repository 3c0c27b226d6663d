"""Benchmarks on real runtimes: consistency of the results, and clean-up after failures."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from critests.api import api_pb2 as cri
from critests.client.connection import connect
from critests.client.endpoint import Endpoint
from critests.lifecycle.waiting import eventually
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry
from critests.node.wrappers.actions import Fail
from critests.node.wrappers.wrapped_programs import WrappedPrograms
from tests.node.machine_snapshot import MachineSnapshot, difference, mentioning
from tests.node.test_leaves_nothing import ANOTHER, CRIOS, NO_CRIO
from tests.plugin.command import SECONDS, begin, critests, on, record_in

pytestmark = [pytest.mark.runtime, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


@pytest.fixture
def runtime() -> Iterator[ThrowawayRuntime]:
    with throwaway_with_registry(wrapped=WrappedPrograms(oci=True)) as (started, _):
        yield started


def operations(record: dict[str, Any], scenario: str, operation: str) -> list[dict[str, Any]]:
    return [
        each
        for each in record["operations"]
        if (each["scenario"], each["operation"]) == (scenario, operation)
    ]


def measured_and_gone(node: str, results: Path, *chosen: str) -> tuple[dict[str, Any], str]:
    """Measure a throwaway runtime, check that nothing of it is left, and return its record and its output."""
    before = MachineSnapshot.take()
    ended = critests(
        *("bench", "--node", node, "--results", str(results), "--profile", "smoke"),
        *chosen,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    record = record_in(results)
    assert not mentioning(difference(before, MachineSnapshot.take()), [record["run_id"]])
    return record, ended.stdout


NODES = pytest.mark.parametrize(
    "node",
    [
        "containerd",
        *(pytest.param(f"crio={path}", id=str(path), marks=ANOTHER) for path in CRIOS),
        *([] if CRIOS else [NO_CRIO]),
    ],
)


@pytest.mark.nightly("measures for half a minute")
@NODES
def test_results_are_consistent_and_nothing_is_left(node: str, tmp_path: Path) -> None:
    record, _ = measured_and_gone(
        node, tmp_path, "--select", "B-02,B-08,B-11,B-26,B-30,B-33", "--budget", "25"
    )

    phases = {
        each["dimensions"]["phase"]: each["mean"]
        for each in operations(record, "B-02", "RunPodSandbox")
        if each["dimensions"]
    }
    assert phases["cni"] > 0
    assert phases["rest"] > 0
    # a pod need not have a process of its own, a container has one
    assert all(
        each["mean"] > 0
        for each in operations(record, "B-02", "StartContainer")
        if each["dimensions"]["phase"] == "oci"
    )
    assert all(
        each["mean"] == 0
        for each in operations(record, "B-02", "CreateContainer")
        if each["dimensions"]["phase"] == "cni"
    )
    (line,) = operations(record, "B-08", "first log line")
    (instruction,) = operations(record, "B-08", "first instruction")
    assert 0 < instruction["minimum"] <= line["maximum"]
    (cycle,) = operations(record, "B-11", "pod cycle")
    parts = [
        each["mean"]
        for each in record["operations"]
        if each["scenario"] == "B-11" and each["operation"] not in {"pod cycle", "pod start"}
    ]
    assert cycle["mean"] == pytest.approx(sum(parts), rel=0.01)
    assert (
        cycle["over_reference"] is None or cycle["over_reference"] > 1
    )  # none where there are too few samples for a median
    assert cycle["resources"]["daemon_cpu_seconds"] > 0
    (memory,) = operations(record, "B-26", "memory per pod")
    assert 100_000 < memory["mean"] < 100_000_000
    assert "5 pods" in memory["note"]
    (late,) = operations(record, "B-30", "latency from intended start")
    assert late["count"] >= 3
    (version,) = operations(record, "B-33", "restart to Version")
    (lists,) = operations(record, "B-33", "restart to complete lists")
    assert 0 < version["mean"] <= lists["mean"]


@pytest.mark.nightly("measures for half a minute")
@NODES
def test_growth_and_storms_hold_together_and_nothing_is_left(node: str, tmp_path: Path) -> None:
    record, said = measured_and_gone(node, tmp_path, "--select", "B-27,B-29,B-39,B-40,B-41", "--budget", "5")

    for operation in (
        "relist",
        "ListContainerStats",
        "start of one more pod",
        "end of one pod",
        "memory of the daemon",
        "idle time a minute",
        "restart after SIGKILL to complete lists",
    ):
        numbers = [each["dimensions"]["pods"] for each in operations(record, "B-27", operation)]
        assert sorted(numbers, key=int) == ["1", "3", "6"], operation
    shims = {
        int(each["dimensions"]["pods"]): each["mean"]
        for each in operations(record, "B-27", "descriptors of the shims")
    }
    assert shims[6] > shims[1] > 0
    (ready,) = operations(record, "B-29", "all pods ready")
    (start,) = operations(record, "B-29", "pod start")
    (alone,) = operations(record, "B-29", "pod start alone")
    assert alone["minimum"] > 0
    assert ready["maximum"] >= start["maximum"] > 0  # the sum of windows within the whole
    assert "the slowest pod start was pod " in ready["note"]
    (reported,) = operations(record, "B-39", "end to status")
    (released,) = operations(record, "B-39", "release to status")
    assert reported["count"] >= 10
    assert reported["count"] % 10 == 0  # whole storms
    assert released["maximum"] >= reported["maximum"] > 0
    (node_start,) = operations(record, "B-40", "node start")
    (node_ready,) = operations(record, "B-40", "all pods ready")
    assert node_start["count"] == node_ready["count"] >= 1
    (execs,) = operations(record, "B-41", "ExecSync")
    assert execs["count"] >= 10
    assert execs["count"] % 10 == 0
    assert not [each for each in record["operations"] if each["errors"]]
    assert "What one more costs" in said


@pytest.mark.nightly("measures for half a minute")
@NODES
def test_streams_logs_neighbours_and_counts_hold_together_and_nothing_is_left(
    node: str, tmp_path: Path
) -> None:
    record, _ = measured_and_gone(node, tmp_path, "--select", "B-15,B-16,B-17,B-37,B-38", "--budget", "20")

    for scenario, operation in (
        ("B-15", "exec to first byte"),
        ("B-15", "echo"),
        ("B-15", "output"),
        ("B-15", "input"),
        ("B-16", "attach to first line"),
        ("B-16", "port-forward to first line"),
        ("B-16", "there and back"),
    ):
        over = {each["dimensions"]["protocol"]: each for each in operations(record, scenario, operation)}
        assert "spdy" in over, operation
        assert all(each["minimum"] > 0 for each in over.values()), operation
    (past,) = operations(record, "B-16", "connection to first line past the runtime")
    (through,) = operations(record, "B-16", "connection to first line")
    assert 0 < past["minimum"] <= through["maximum"]
    whole, rotated = operations(record, "B-17", "bytes")
    assert "rotations" in rotated["dimensions"]
    assert whole["minimum"] > 0
    (reopened,) = operations(record, "B-17", "ReopenContainerLog")
    assert reopened["count"] % 5 == 0
    neighbours = {each["dimensions"]["neighbour"] for each in operations(record, "B-37", "create and start")}
    assert neighbours == {"nobody", "processor", "memory at its limit", "disk", "network"}
    counted = operations(record, "B-38", "page faults")
    assert all(each["minimum"] > 1000 for each in counted)
    assert not [each for each in record["operations"] if each["errors"]]


@pytest.mark.nightly("measures for half a minute")
def test_a_benchmark_that_was_stopped_goes_on(tmp_path: Path) -> None:
    chosen = (
        *("--node", "containerd", "--profile", "smoke"),
        *("--select", "B-01,B-25,B-11", "--budget", "30"),
    )
    first = begin("bench", *chosen, "--results", str(tmp_path / "first"))
    # when the samples of the second are there, the result of the first is, too
    eventually("two scenarios to be measured", lambda: list(tmp_path.rglob("samples/B-11*")), 120)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=SECONDS)
    assert first.returncode == 2, out + err
    stopped = record_in(tmp_path / "first")
    (folder,) = (path.parent for path in (tmp_path / "first").rglob("run.json"))

    again = critests("bench", *chosen, "--results", str(tmp_path / "second"), "--resume", str(folder))

    assert again.returncode == 0, again.stdout + again.stderr
    whole = record_in(tmp_path / "second")
    assert {each["scenario"] for each in whole["operations"]} == {"B-01", "B-11", "B-25"}
    before, after = (operations(record, "B-01", "Version") for record in (stopped, whole))
    assert after == before
    assert whole["benchmark"]["seed"] == stopped["benchmark"]["seed"]
    assert whole["exit_reason"] == "3 scenarios were measured"
    assert any(stopped["run_id"] in note for note in whole["notes"])
    assert len(list((tmp_path / "second").rglob("samples/*"))) == 3
    (folder,) = (path.parent for path in (tmp_path / "second").rglob("run.json"))
    done = critests("bench", *chosen, "--results", str(tmp_path / "third"), "--resume", str(folder))
    assert done.returncode == 4, done.stdout + done.stderr
    assert "has measured all of them" in done.stdout + done.stderr


@pytest.mark.nightly("measures for half a minute")
def test_a_runtime_of_which_every_third_start_fails_is_measured(
    runtime: ThrowawayRuntime, tmp_path: Path
) -> None:
    assert runtime.wrappers.oci is not None
    runtime.wrappers.oci.plan({"create": [Fail(1, "not this time", every=3)]})
    ended = critests(
        *on("bench", runtime.endpoint, tmp_path, "--profile smoke --select B-02,B-06 --budget 12")
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    record = record_in(tmp_path)
    (sandbox,) = operations(record, "B-02", "RunPodSandbox")
    assert sandbox["errors"]
    assert sandbox["count"] >= 1
    connection = connect(Endpoint.parse(runtime.endpoint))
    try:
        assert not connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
        assert not connection.runtime.ListContainers(cri.ListContainersRequest()).containers
    finally:
        connection.close()


@pytest.mark.nightly("measures for half a minute")
def test_a_daemon_that_is_killed_ends_the_run_at_once(runtime: ThrowawayRuntime, tmp_path: Path) -> None:
    run = begin(*on("bench", runtime.endpoint, tmp_path, "--profile smoke --budget 60"))
    eventually("the first scenario to be measured", lambda: list(tmp_path.rglob("samples/*")), 60)
    runtime.kill(signal.SIGKILL)
    killed = time.monotonic()
    out, err = run.communicate(timeout=SECONDS)

    assert run.returncode == 5, out + err
    assert time.monotonic() - killed < 60
    assert "the daemon (process " in record_in(tmp_path)["exit_reason"]
    assert "critests clean" in out
