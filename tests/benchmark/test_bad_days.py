"""Complete benchmark runs on a runtime that conforms, fails, stalls, reports false success, or exits."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from critests_proof.proxy.fault_proxy import FaultProxy

from critests.api import api_pb2 as cri
from critests.client.connection import connect
from critests.client.endpoint import Endpoint
from critests.record.samples import read_samples
from tests.criserver import CriServer, serve
from tests.plugin.command import captured, critests, on, record_in

SERVER_HAS_NO_PROGRAMS = "B-08"
"""The test server runs a container's command on this machine, which has no /bin/clock."""


def measure(
    endpoint: str, results: Path, options: str, more: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return critests(*on("bench", endpoint, results, f"--profile smoke {options}"), more=more)


def outcomes(record: dict[str, Any]) -> dict[str, str]:
    """Return the outcomes of the measured scenarios."""
    return {test["name"]: test["outcome"] for test in record["tests"] if test["outcome"] != "disabled"}


def reasons(record: dict[str, Any]) -> str:
    return "\n".join(test["reason"] for test in record["tests"])


def test_a_right_server_is_measured(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        ended = measure(endpoint, tmp_path, "--select B-01,B-06,B-28 --budget 3")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    record = record_in(tmp_path)
    assert record["kind"] == "benchmark"
    assert set(outcomes(record).values()) == {"passed"}
    assert record["machine"]["benchmark"]["load_average"]
    keys = [
        (each["scenario"], each["operation"], tuple(sorted(each["dimensions"].items())))
        for each in record["operations"]
    ]
    assert len(keys) == len(set(keys))
    assert sum(each["headline"] for each in record["operations"]) >= 3
    (run,) = tmp_path.rglob("run.json")
    series = read_samples(run.parent / "samples")
    assert len(series) == len(keys)
    assert "B-28" in {each.scenario for each in series}


@pytest.mark.nightly("measures for half a minute")
def test_every_third_failure_is_counted_and_the_rest_measured(tmp_path: Path) -> None:
    thirds = [f"RunPodSandbox: error UNKNOWN when nth={number}" for number in range(3, 300, 3)]
    with serve(CriServer()) as upstream, FaultProxy(upstream) as proxy:
        proxy.faults = thirds
        ended = measure(proxy.endpoint, tmp_path, "--select B-02,B-06,B-11,B-18 --budget 6")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    record = record_in(tmp_path)
    pods = next(
        each
        for each in record["operations"]
        if each["scenario"] == "B-02" and each["operation"] == "RunPodSandbox"
    )
    assert pods["errors"]["UNKNOWN"] >= 1
    assert pods["count"] >= 1
    assert "cycles failed" in pods["note"]


@pytest.mark.nightly("measures for half a minute")
def test_a_call_that_hangs_costs_its_own_scenario_only(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"hangs=RunPodSandbox"})) as endpoint:
        ended = measure(endpoint, tmp_path, "--select B-01,B-02,B-06,B-25 --budget 3 --deadline-scale 0.05")

    assert ended.returncode == 1, ended.stdout + ended.stderr
    record = record_in(tmp_path)
    assert outcomes(record) == {
        "test_version_and_status": "passed",
        "test_sandbox_on_the_pod_network": "failed",
        "set_up_judges_SBX_02": "failed",
        "test_container_lifecycle": "blocked",
        "test_calls_on_present_images": "passed",
    }
    assert "DEADLINE_EXCEEDED" in reasons(record)


def test_a_runtime_that_dies_ends_the_run(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"dies-after=150"})) as endpoint:
        ended = measure(endpoint, tmp_path, "--select B-01,B-02,B-06 --budget 3")

    assert ended.returncode == 5, ended.stdout + ended.stderr
    record = record_in(tmp_path)
    assert set(outcomes(record).values()) <= {"passed", "blocked"}  # a slow machine passes some before
    assert outcomes(record)["test_container_lifecycle"] == "blocked"
    assert "the daemon (unix://" in record["exit_reason"]


@pytest.mark.nightly("measures for half a minute")
@pytest.mark.parametrize(
    ("lie", "sentence"),
    [
        ("stop-does-nothing", "StopContainer returned, and"),
        ("remove-does-nothing", "RemoveContainer returned, and"),
    ],
)
def test_a_false_report_of_success_fails_the_run(lie: str, sentence: str, tmp_path: Path) -> None:
    with serve(CriServer(wrong={lie})) as endpoint:
        ended = measure(endpoint, tmp_path, "--select B-06 --budget 2")

    assert ended.returncode == 1, ended.stdout + ended.stderr
    record = record_in(tmp_path)
    assert sentence in reasons(record)
    lifecycle = next(each for each in record["operations"] if each["operation"] == "StartContainer")
    assert lifecycle["count"] == 0
    assert lifecycle["errors"]["NOT_DONE"] >= 1


def pytest_on(endpoint: str, results: Path, more: str) -> "subprocess.CompletedProcess[str]":
    """Run the scenarios by plain pytest, from a folder without a configuration."""
    command = (
        f"-q -p no:cacheprovider -p critests.plugin --pyargs critests.benchmark --cri-allow-kubelet {more}"
    )
    where = ["--runtime-endpoint", endpoint, "--cri-results", str(results / "results")]
    return captured([sys.executable, "-m", "pytest", *command.split(), *where], results)


@pytest.mark.nightly("measures for half a minute")
def test_plain_pytest_measures_too_and_pytest_benchmark_has_the_headline(tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    with serve(CriServer()) as endpoint:
        ended = pytest_on(
            endpoint,
            tmp_path,
            f"--benchmark-only --benchmark-json={saved} --cri-select B-01 --cri-budget 1 -W error",
        )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert '"operation": "Version"' in saved.read_text(encoding="utf-8")
    assert outcomes(record_in(tmp_path / "results")) == {"test_version_and_status": "passed"}


@pytest.mark.nightly("measures for half a minute")
def test_a_scenario_without_a_headline_in_seconds_warns_of_nothing(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"hangs=RunPodSandbox"})) as endpoint:
        ended = pytest_on(
            endpoint, tmp_path, "--cri-select B-02,B-04,B-26 --cri-budget 1 --cri-deadline-scale 0.1 -W error"
        )

    found = outcomes(record_in(tmp_path / "results"))
    assert found["test_sandbox_on_the_pod_network"] == "failed"
    assert found["test_density"] == "blocked"
    assert "error" not in found.values(), ended.stdout + ended.stderr


@pytest.mark.nightly("measures for half a minute")
def test_disabled_benchmarks_are_measured_and_not_handed_over(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        ended = pytest_on(endpoint, tmp_path, "--benchmark-disable --cri-select B-01 --cri-budget 1 -W error")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert record_in(tmp_path / "results")["operations"]


def test_several_processes_are_rejected(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        ended = pytest_on(endpoint, tmp_path, "-n 2")

    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert "leave out -n" in ended.stderr
    assert not list(tmp_path.rglob("run.json"))


def test_the_other_side_must_exist(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        ended = measure(
            endpoint, tmp_path, f"--select B-01,B-02 --budget 1 --against {tmp_path / 'absent.sock'}"
        )

    assert ended.returncode == 5, ended.stdout + ended.stderr
    assert "no such socket" in record_in(tmp_path)["exit_reason"]


@pytest.mark.nightly("measures for half a minute")
def test_two_sides_are_measured_in_blocks(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint, serve(CriServer(wrong={"slow=0.03"})) as other:
        ended = measure(endpoint, tmp_path, f"--select B-01,B-18 --budget 4 --against {other}")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    record = record_in(tmp_path)
    medians = {
        (each["operation"], each["side"]): each["mean"]
        for each in record["operations"]
        if each["operation"] in {"Version", "Status"}
    }
    assert medians["Version", "a"] < medians["Version", "b"]
    (run,) = tmp_path.rglob("run.json")
    assert all(each.block for each in read_samples(run.parent / "samples"))


def test_a_runtime_with_a_kubelet_is_not_measured(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        connection = connect(Endpoint.parse(endpoint))
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name="web", uid="1", namespace="shop"),
            labels={"io.kubernetes.pod.uid": "web"},
        )
        connection.runtime.RunPodSandbox(cri.RunPodSandboxRequest(config=config))
        connection.close()
        ended = critests(*f"bench --runtime-endpoint {endpoint} --results {tmp_path} --select B-01".split())

    assert ended.returncode == 5, ended.stdout + ended.stderr
    assert "a kubelet uses" in ended.stderr


@pytest.mark.nightly("measures for half a minute")
def test_nothing_is_left_on_the_runtime(tmp_path: Path) -> None:
    server = CriServer()
    with serve(server) as endpoint:
        ended = measure(
            endpoint, tmp_path, f"--budget 5 --deselect {SERVER_HAS_NO_PROGRAMS},B-23 --junit {os.devnull}"
        )

        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert not server.services.store.sandboxes
        assert not server.services.store.containers


STOPPED_AT_ITS_BEGINNING = """
from critests.benchmark.measuring import bench_fixture


def stopped(**_):
    raise KeyboardInterrupt


bench_fixture.Bench = stopped
"""


@pytest.mark.nightly("measures for half a minute")
def test_ctrl_c_before_a_scenario_begins_loses_no_record(tmp_path: Path) -> None:
    (tmp_path / "stopped_at_its_beginning.py").write_text(STOPPED_AT_ITS_BEGINNING, encoding="utf-8")
    more = {"PYTHONPATH": str(tmp_path), "PYTEST_PLUGINS": "stopped_at_its_beginning"}
    with serve(CriServer()) as endpoint:
        ended = measure(endpoint, tmp_path, "--select B-01 --budget 1", more=more)

    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert record_in(tmp_path)["interrupted"] is True
