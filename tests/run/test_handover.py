"""What crosses from process to process arrives as it was."""

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Outcome
from critests.client.endpoint import Endpoint
from critests.images.registry_client import RegistryClient
from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.lifecycle.run_label import RunIdentity
from critests.node.observing.api_level import ProvenLevel
from critests.node.observing.oci_version import OciRuntimes
from critests.record.codec import from_plain, to_plain
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_layout import RunFolder
from critests.record.run_record import CapabilityFact
from critests.run.collected_tests import CollectedTest
from critests.run.conclusion import WorkerResults
from critests.run.context import RunContext
from critests.run.handover import HandoverFile, WorkerReport, WorkerStart
from critests.run.run_settings import Settings

VERSION = cri.VersionResponse(version="0.1.0", runtime_name="x", runtime_version="1.2")
SETTINGS = Settings.read(dict[str, str]().get)
CONTEXT = RunContext(
    settings=SETTINGS,
    run=RunIdentity("1795173190-abcdef"),
    endpoint=Endpoint.parse("/run/x.sock"),
    image_endpoint=Endpoint.parse("tcp://127.0.0.1:3735"),
    found_by="--runtime-endpoint",
    version_message=VERSION.SerializeToString().hex(),
    level=ProvenLevel(34, "it answers"),
    driver=CgroupDriver.SYSTEMD,
    registry=RegistryClient("127.0.0.1:5010", "secret"),
    folder=RunFolder(Path("/results/x")),
    runtime_log="/run/x.log",
    daemon_pid=7,
    companions=[Path("/run/beside.sock")],
    facts=[CapabilityFact(name="seccomp", present=None, evidence="not said", source="Status")],
    throwaway=True,
    oci_runtimes=OciRuntimes({"crun": Path("/usr/bin/crun")}, {"crun": "no"}, [Path("/run/bundles")]),
)

DESELECTED = TestResult(id="a.py::test_a", name="test_a", outcome=Outcome.DISABLED, reason="deselected")


@pytest.mark.parametrize(
    "context", [CONTEXT, replace(CONTEXT, registry=None, daemon_pid=None)], ids=["all there", "without"]
)
def test_a_worker_gets_the_run_as_the_leader_has_it(context: RunContext) -> None:
    plain = json.loads(json.dumps(context.to_worker()))

    arrived = RunContext.of_worker(SETTINGS, from_plain(WorkerStart, plain))

    assert arrived == context
    assert arrived.version == VERSION
    assert set(plain) == {item.name for item in fields(WorkerStart)}, "what only the controller holds stays"


def test_the_leader_gets_the_report_as_the_worker_made_it() -> None:
    report = WorkerReport(
        coverage={"rpcs": {"Version": 3}, "request_fields": {}, "response_fields": {}},
        facts=CONTEXT.facts,
        cpu_seconds=1.5,
        problems=[Reason(code=ReasonCode.NOT_REMOVED, subject="sandbox", where="abc")],
        gone=Reason(code=ReasonCode.RUNTIME_SILENT, words="no answer"),
        hangs={"Status": 2.5},
        deselected=[DESELECTED],
    )

    assert from_plain(WorkerReport, json.loads(json.dumps(to_plain(report)))) == report


def test_what_was_deselected_is_gathered_once_however_many_workers_report_it() -> None:
    report = WorkerReport(
        coverage={"rpcs": {}, "request_fields": {}, "response_fields": {}},
        facts=[],
        cpu_seconds=0.0,
        deselected=[DESELECTED],
    )
    worker_results = WorkerResults()

    worker_results.take(replace(report, deselected=[]))
    worker_results.take(report)
    worker_results.take(report)

    assert worker_results.deselected == [DESELECTED]


def test_workers_find_the_run_in_a_file_that_goes_with_the_controller() -> None:
    code = (
        "import sys; from critests.run.handover import HandoverFile; file = HandoverFile();"
        " print(*file.paths, flush=True); sys.stdin.read()"
    )
    controller = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert controller.stdout is not None
    paths = controller.stdout.readline().split()
    Path(paths[0]).write_text(json.dumps(CONTEXT.to_worker()), encoding="utf-8")

    assert RunContext.of_worker(SETTINGS, HandoverFile.read(paths)) == CONTEXT

    controller.kill()
    controller.communicate()
    assert not any(Path(path).exists() for path in paths), "one has the registry's secret"


def test_controller_gets_the_tests_that_share_a_fixture_from_any_worker() -> None:
    file, sharing = HandoverFile(), CollectedTest(id="a.py::test_b", name="test_b", shares=True)
    assert file.sharing_tests() == {}

    for _ in range(2):
        HandoverFile.report_sharing(file.paths, [sharing])

    assert file.sharing_tests() == {"a.py::test_b": "a.py"}
    file.remove()


def test_what_only_a_run_needs_is_not_imported_with_the_plugin() -> None:
    late = ["allure_commons", "rich", "critests.images.registry", "critests.report.exports"]
    code = f"import sys, critests.plugin; print([name for name in {late} if name in sys.modules])"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == "[]"
