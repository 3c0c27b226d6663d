"""A runtime whose name is on no list of ours is tested and shown like any other."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from critests_proof.proxy.fault_proxy import FaultProxy

from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry
from tests.criserver import CriServer, serve
from tests.plugin.command import critests, record_in

SOME = ("--select", "RT-01,RT-06,SBX-01,CTR-21,STP-09,IMS-01")
NAME, VERSION = "Acme Pods (beta)", "nightly-7f3a"


@pytest.fixture
def acme() -> Iterator[str]:
    with serve(CriServer(wrong=[f"named={NAME}/{VERSION}"])) as endpoint:
        yield endpoint


def run_on(endpoint: str, results: Path, *more: str) -> tuple[int, str]:
    """Validate an endpoint and return the exit code and what was said, in one line."""
    options = ("--runtime-endpoint", endpoint, "--results", str(results), "--allow-kubelet", *SOME)
    ended = critests("run", *options, *more)
    return ended.returncode, " ".join((ended.stdout + ended.stderr).split())


def test_a_run_its_page_a_comparison_and_the_dashboard_call_it_by_its_name(acme: str, tmp_path: Path) -> None:
    page, results, site = tmp_path / "a.html", tmp_path / "results", tmp_path / "site"

    code, said = run_on(acme, results, "--html", str(page))
    runtime = record_in(results)["runtime"]
    compared = critests("compare", str(next(results.rglob("run.json"))), str(next(results.rglob("run.json"))))
    built = critests("dashboard", str(results), "-o", str(site))

    assert code == 0, said
    assert (runtime["name"], runtime["version"]) == (NAME, VERSION)
    assert (results / "Acme-Pods-beta" / VERSION).is_dir()
    assert f"{NAME} {VERSION}" in said
    assert "(no known failures, no warnings)" in said
    assert f"{NAME} <span>{VERSION}</span>" in page.read_text(encoding="utf-8")
    assert f"{NAME} {VERSION}" in compared.stdout, compared.stderr
    assert built.returncode == 0, built.stderr
    assert all(word in (site / "index.html").read_text(encoding="utf-8") for word in (NAME, VERSION))


def test_a_runtime_without_a_name_is_called_unknown_and_fails_for_it(tmp_path: Path) -> None:
    with serve(CriServer(wrong=["named=/1.0.0"])) as endpoint:
        code, said = run_on(endpoint, tmp_path, "--select", "RT-02")

    assert code == 1
    assert "unknown 1.0.0" in said
    assert record_in(tmp_path)["runtime"]["name"] == "unknown"


@pytest.fixture
def containerd() -> Iterator[ThrowawayRuntime]:
    with throwaway_with_registry() as (started, _):
        yield started


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_nothing_but_its_list_of_known_failures_hangs_on_a_name(
    containerd: ThrowawayRuntime, tmp_path: Path
) -> None:
    with FaultProxy(containerd.endpoint) as proxy:
        proxy.faults = [f"Version.response.runtime_name: set {NAME}"]
        # what a list of known failures would say to fail now and then
        code, said = run_on(proxy.endpoint, tmp_path, "-k", "not test_found_exit_before_the_start")

    outcomes = {test["name"]: test["outcome"] for test in record_in(tmp_path)["tests"]}
    assert code == 0, said
    assert f"{NAME} {containerd.version}" in said
    assert set(outcomes.values()) <= {"passed", "warned", "disabled"}, outcomes
