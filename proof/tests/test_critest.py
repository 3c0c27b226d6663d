import json
from pathlib import Path

import pytest
from critests_proof.critest.critest_images import add_images, critest_images
from critests_proof.critest.critest_run import (
    Critest,
    CritestFailed,
    SpecResult,
    Timeline,
    focus,
    read_report,
)
from critests_proof.critest.suite_comparison import CritestResult, SuiteComparison, compared, page, share
from critests_proof.language.descriptors import rpcs
from critests_proof.record import FaultOutcome
from sample_audit import AUDIT

from critests.api import api_pb2 as cri
from critests.images.registry import RegistryServer

SPEC = {
    "ContainerHierarchyTexts": ["[k8s.io] PodSandbox", "basic operations"],
    "LeafNodeType": "It",
    "LeafNodeText": "runtime should support running PodSandbox [Conformance]",
    "State": "passed",
    "StartTime": "2026-11-28T18:30:11.123456789Z",
    "EndTime": "2026-11-28T20:30:15.5+02:00",
}
TEXT = "[k8s.io] PodSandbox basic operations runtime should support running PodSandbox [Conformance]"


def fake(folder: Path, script: str) -> Critest:
    program = folder / "critest"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return Critest(program, folder)


def test_a_report_has_the_specs_that_ran(tmp_path: Path) -> None:
    failure = {"Message": "no\n  such pod"}
    specs = [
        SPEC | {"LeafNodeType": "BeforeSuite"},
        SPEC | {"State": "skipped"},
        SPEC | {"State": "failed", "LeafNodeText": "fails", "Failure": failure, "EndTime": SPEC["StartTime"]},
        SPEC,
    ]
    (tmp_path / "report.json").write_text(json.dumps([{"SpecReports": specs}, {"SpecReports": None}]))

    failed, passed = read_report(tmp_path / "report.json")

    assert (failed.text, failed.message) == ("[k8s.io] PodSandbox basic operations fails", "no such pod")
    assert (passed.text, passed.state) == (TEXT, "passed")
    assert passed.seconds == pytest.approx(4.377, abs=0.001)
    assert failed.failed()
    assert not passed.failed()


@pytest.mark.parametrize(("usual", "failed"), [(5.0, True), (50.0, False)])
def test_a_spec_that_hangs_until_the_time_is_over_failed(usual: float, failed: bool) -> None:
    assert SpecResult("a", "timedout", 0.0, 100.0).failed(usual) is failed


def test_a_focus_escapes_what_is_special_in_go() -> None:
    assert focus(["[a] b/c (d)", "e's"]) == r"^CRI validation (?:\[a\] b/c \(d\)|e's)$"


def test_a_timeline_assigns_places_to_specs() -> None:
    watch = Timeline()
    version, status = rpcs()["Version"], rpcs()["Status"]
    request = cri.VersionRequest(version="v1").SerializeToString()
    watch.request(version, request)
    watch.request(version, request)
    until = watch._noted[-1][0]
    watch.request(status, b"")

    first, second = watch.exercised(
        [SpecResult("a", "passed", until - 60, until), SpecResult("b", "passed", until + 60, until + 61)]
    )

    assert first.places >= {"Version", "Version.request.version", "Version.repeated"}
    assert not first.places & {"Status", "Version.request.repeated"}
    assert second.places == frozenset()


def test_critest_gets_specs_and_limits(tmp_path: Path) -> None:
    critest = fake(tmp_path, 'for each; do echo "$each"; done > "$PWD/given"; echo "[]" > report.json')

    assert critest.run("unix:///x.sock", seconds=60, specs=["a"], fail_fast=True) == []

    given = (tmp_path / "given").read_text().splitlines()
    assert "-runtime-endpoint=unix:///x.sock" in given
    assert "-ginkgo.focus=^CRI validation (?:a)$" in given
    assert "-ginkgo.fail-fast" in given
    assert "-ginkgo.timeout=60s" in given


def test_a_critest_without_a_report_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("[]")

    with pytest.raises(CritestFailed, match=r"critest\.log"):
        fake(tmp_path, "exit 1").run("unix:///x.sock", seconds=60)


def test_a_critest_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("critests_proof.critest.critest_run._END_SECONDS", 0.5)
    monkeypatch.setattr("critests_proof.critest.critest_run._KILL_SECONDS", 0.5)

    with pytest.raises(CritestFailed):
        fake(tmp_path, "trap '' INT TERM; while :; do sleep 0.1; done").run("unix:///x.sock", seconds=0.1)


def test_a_program_that_is_no_critest_is_an_error(tmp_path: Path) -> None:
    assert fake(tmp_path, "echo critest version: v1.36.0").version() == "v1.36.0"
    with pytest.raises(CritestFailed):
        fake(tmp_path, "echo hello").version()


def test_the_registry_has_every_image_under_an_id_of_its_own() -> None:
    with RegistryServer(0) as registry:
        digests = {image.digest for image in add_images(registry.client())}

    assert len(digests) == len(critest_images())


def results() -> list[CritestResult]:
    outcomes = [
        FaultOutcome.NOTICED,
        FaultOutcome.NOTICED,
        FaultOutcome.SURVIVED,
        FaultOutcome.NOT_REACHED,
        FaultOutcome.NOT_REACHED,
    ]
    return [
        CritestResult(fault=fault.fault, outcome=outcome, by="a spec", complete=outcome is not outcomes[2])
        for fault, outcome in zip(AUDIT.faults, outcomes, strict=False)
    ]


def test_faults_with_results_of_both_are_compared() -> None:
    faults = compared(AUDIT.faults, results())

    assert [fault.group for fault in faults] == [
        "both",
        "only critest",
        "neither",
        "not observable",
        "not observable",
    ]


def test_the_page_counts_and_lists() -> None:
    text = page(
        SuiteComparison(
            runtime="containerd 2.3.4",
            critests_version="1",
            critest_version="v1.36.0",
            seed=19,
            minutes=3,
            specs=90,
            left_out={"a": "failed: no"},
            tests=1000,
            critest_baseline_seconds=300,
            faults=compared(AUDIT.faults, results()),
        )
    )

    assert "| faults noticed | 1 | 2 |" in text
    assert f"| noticed, of 3 that either suite reached | {share(1, 3)} | {share(2, 3)} |" in text
    assert "## Noticed by critest only\n\n- `Version.response.version:wrong`" in text
    assert "when its time was over: 1." in text


def test_a_share_has_its_interval() -> None:
    assert share(50, 100) == "50 % (40 to 60)"
    assert share(0, 0) == "-"
