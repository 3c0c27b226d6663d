"""A runtime with an unknown name is tested and reported like any other."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from critests_proof.proxy.fault_proxy import FaultProxy

from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry
from tests.criserver import CriServer, serve
from tests.plugin.command import critests, record_in, validate

SOME = "--select RT-01,RT-06,SBX-01,CTA-05,STP-09,IMS-01"
NAME, VERSION = "Acme Pods (beta)", "nightly-7f3a"


@pytest.fixture
def acme() -> Iterator[str]:
    with serve(CriServer(wrong=[f"named={NAME}/{VERSION}"])) as endpoint:
        yield endpoint


def run_on(endpoint: str, results: Path, more: str = "") -> tuple[int, str]:
    """Validate an endpoint; return the exit code, and the output in one line."""
    result = validate(endpoint, results, f"{SOME} {more}")
    return result.returncode, " ".join((result.stdout + result.stderr).split())


def test_reports_show_the_name_of_an_unknown_runtime(acme: str, tmp_path: Path) -> None:
    page, results, site = tmp_path / "a.html", tmp_path / "results", tmp_path / "site"

    code, output = run_on(acme, results, f"--html {page}")
    runtime = record_in(results)["runtime"]
    run, markdown = str(next(results.rglob("run.json"))), tmp_path / "compared.md"
    compared = critests("compare", run, run, "--markdown", str(markdown))
    built = critests("dashboard", str(results), "-o", str(site))

    assert code == 0, output
    assert (runtime["name"], runtime["version"]) == (NAME, VERSION)
    assert (results / "Acme-Pods-beta" / VERSION).is_dir()
    assert f"{NAME} {VERSION}" in output
    assert "(no known failures, no warnings)" in output
    assert f"{NAME} <span>{VERSION}</span>" in page.read_text(encoding="utf-8")
    assert compared.returncode == 0, compared.stderr
    assert f"{NAME} {VERSION}" in markdown.read_text(encoding="utf-8")
    assert built.returncode == 0, built.stderr
    assert all(word in (site / "index.html").read_text(encoding="utf-8") for word in (NAME, VERSION))


def test_runtime_without_a_name_is_called_unknown_and_fails(tmp_path: Path) -> None:
    with serve(CriServer(wrong=["named=/1.0.0"])) as endpoint:
        code, output = run_on(endpoint, tmp_path, "--select RT-02")

    assert code == 1
    assert "unknown 1.0.0" in output
    assert record_in(tmp_path)["runtime"]["name"] == "unknown"


@pytest.fixture
def containerd() -> Iterator[ThrowawayRuntime]:
    with throwaway_with_registry() as (started, _):
        yield started


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_name_of_a_runtime_determines_only_its_known_failures(
    containerd: ThrowawayRuntime, tmp_path: Path
) -> None:
    with FaultProxy(containerd.endpoint) as proxy:
        proxy.faults = [f"Version.response.runtime_name: set {NAME}"]
        code, output = run_on(proxy.endpoint, tmp_path)

    outcomes = {test["name"]: test["outcome"] for test in record_in(tmp_path)["tests"]}
    assert code == 0, output
    assert f"{NAME} {containerd.version}" in output
    assert set(outcomes.values()) <= {"passed", "warned", "disabled"}, outcomes
