"""The audit of a suite as a pytest plugin, on a small suite in front of our small CRI server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from critests_proof.derived.choice import chosen
from critests_proof.oci_faults import all_faults

from tests.criserver import CriServer, serve

pytestmark = pytest.mark.nightly("many runs, each with a fault")

SUITE = """
import pathlib

import pytest
from critests.api import api_pb2 as cri
from critests.run.marks import requirement


@pytest.fixture(scope="module")
def shared(runtime):
    return runtime.stub.Version(cri.VersionRequest()).runtime_name


@pytest.fixture
def version(runtime):
    return lambda: runtime.stub.Version(cri.VersionRequest())


@pytest.fixture
def ran():
    with pathlib.Path("ran").open("a") as file:
        file.write("+")


@requirement("RT-01")
def test_the_name(ran, version):
    assert version().runtime_name == "criserver"


@requirement("RT-02")
def test_that_looks_away(ran, version, shared):
    version()
    assert shared == "criserver"


@requirement("RT-03")
def test_that_is_red_anyway(runtime):
    runtime.stub.Status(cri.StatusRequest())
    assert False
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve(CriServer()) as endpoint:
        yield endpoint


def sweep(
    directory: Path, endpoint: str, *arguments: str, suite: str = SUITE, read_only: bool = True
) -> tuple[int, str, dict[str, Any]]:
    (directory / "test_small.py").write_text(suite, encoding="utf-8")
    (directory / "pytest.ini").write_text(
        "[pytest]\naddopts = -p no:cacheprovider -p no:locust\n", encoding="utf-8"
    )
    report = directory / "report.json"
    command = [sys.executable, "-m", "pytest", "-qq", "test_small.py", "-p", "critests_proof.pytest_sweep"]
    command += ["-p", "critests.plugin"]
    command += ["--cri-sweep", f"--cri-json={report}", "--runtime-endpoint", endpoint]
    command += ["--cri-results", str(directory / "results"), "--cri-deadline-scale", "0.1"]
    command += ["--cri-read-only"] if read_only else []
    ended = subprocess.run(
        [*command, *arguments],
        cwd=directory,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return ended.returncode, ended.stdout + ended.stderr, found


def runs(directory: Path) -> int:
    """Return how often a test of the small suite began that asks for `ran`."""
    return len((directory / "ran").read_text(encoding="utf-8"))


def test_every_outcome_and_that_it_goes_on_where_it_stopped(tmp_path: Path, endpoint: str) -> None:
    wanted = "Version.response.runtime_name,Version.response.version:missing,Status:hangs,Version:hangs"
    faults = [f"--cri-sweep-faults={word}" for word in wanted.split(",")]

    status, output, report = sweep(tmp_path, endpoint, *faults)

    outcomes = {fault["fault"]: (fault["outcome"], fault["by"]) for fault in report["faults"]}
    # whichever test was the quicker one
    assert outcomes.pop("Version:hangs")[0] == "noticed"
    assert outcomes == {
        "Version.response.version:missing": ("survived", ""),
        "Version.response.runtime_name:missing": ("noticed", "test_the_name"),
        "Version.response.runtime_name:wrong": ("noticed", "test_the_name"),
        "Status:hangs": ("not reached", ""),
    }, output
    assert status == 1
    assert "survived Version.response.version:missing" in output
    assert "Status:hangs: only tests get there that do not pass without a fault: test_that_is_red" in output
    assert "[5/5]" in output
    assert report["coverage"]["response"]["seen"] > 0
    stored = tmp_path / "results" / "audit" / "criserver-1.0.0"
    assert json.loads((stored / "audit.json").read_text(encoding="utf-8")) == report
    assert [folder.name for folder in (tmp_path / "results").iterdir()] == ["audit"]
    began = runs(tmp_path)

    # what tests exercise is known by now, and what became of the faults
    status, output, again = sweep(tmp_path, endpoint, *faults, "--cri-sweep-resume")

    assert runs(tmp_path) == began
    assert again["faults"] == report["faults"]
    assert status == 1


def test_a_set_up_that_is_refused_is_held_against_the_step_that_the_test_is_about(
    tmp_path: Path, endpoint: str
) -> None:
    suite = """
import pytest
from critests.api import api_pb2 as cri
from critests.run.marks import requirement
from critests.run.outcomes import setting_up


@pytest.fixture
def version(runtime):
    with setting_up():
        return runtime.stub.Version(cri.VersionRequest()).version


@requirement("{0}")
def test_that_needs_it(version):
    assert version
"""
    refused = ["--cri-sweep-faults=Version:unimplemented", "--cri-sweep-faults=Version:hangs"]
    outcomes = {}
    for judged in ("RT-30", "RT-06"):
        folder = tmp_path / judged
        folder.mkdir()
        _, output, report = sweep(folder, endpoint, *refused, suite=suite.replace("{0}", judged))
        outcomes[judged] = {fault["fault"]: fault["outcome"] for fault in report["faults"]}, output

    # Version is what RT-30 is about; a hang is nobody's but the call's
    assert outcomes["RT-30"][0] == {"Version:unimplemented": "noticed", "Version:hangs": "noticed"}
    assert outcomes["RT-06"][0] == {"Version:unimplemented": "survived", "Version:hangs": "noticed"}


LEAVES_SOMETHING = """
import pytest
from critests.api import api_pb2 as cri
from critests.run.marks import requirement


@pytest.fixture(scope="module")
def left():
    return []


@requirement("RT-01")
def test_a(runtime, left):
    found = list(left)
    if not runtime.stub.Version(cri.VersionRequest()).version:
        left.append("something")
    # as it changes something, its faults take along what tests share
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id="unknown"))
    assert not found
"""


@pytest.mark.parametrize(
    "later", ["Version.response.runtime_version:missing", "RemovePodSandbox:does-nothing"]
)
def test_a_test_that_fails_by_what_an_earlier_fault_left_behind_has_noticed_nothing(
    tmp_path: Path, endpoint: str, later: str
) -> None:
    wanted = ["Version.response.version:missing", later]
    faults = [f"--cri-sweep-faults={fault}" for fault in wanted]
    _, output, report = sweep(tmp_path, endpoint, *faults, suite=LEAVES_SOMETHING, read_only=False)
    outcomes = {fault["fault"]: fault["outcome"] for fault in report["faults"]}
    assert outcomes == dict.fromkeys(wanted, "survived"), output


def test_what_the_tests_of_a_module_share_is_in_the_time_of_each(tmp_path: Path, endpoint: str) -> None:
    suite = """
import time

import pytest
from critests.api import api_pb2 as cri
from critests.run.marks import requirement


@pytest.fixture(scope="module")
def slow():
    time.sleep(0.5)


@requirement("RT-01")
def test_a(runtime, slow):
    runtime.stub.Version(cri.VersionRequest())


@requirement("RT-01")
def test_b(runtime, slow):
    runtime.stub.Version(cri.VersionRequest())
"""
    sweep(tmp_path, endpoint, "--cri-sweep-record-only", suite=suite)
    stored = tmp_path / "results" / "audit" / "criserver-1.0.0"
    recorded = json.loads((stored / "exercise.json").read_text(encoding="utf-8"))
    seconds = {test["test"]: test["seconds"] for test in recorded["tests"]}
    assert min(seconds["test_a"], seconds["test_b"]) >= 0.5


def test_several_processes_find_what_one_finds(tmp_path: Path, endpoint: str) -> None:
    wanted = "--cri-sweep-faults=Version"
    status, output, report = sweep(tmp_path, endpoint, wanted, "--cri-sweep-workers=2")
    assert status == 1
    ids = [fault["fault"] for fault in report["faults"]]
    assert ids == [fault.id for fault in chosen(all_faults(), ["Version"])]
    assert f"[{len(ids)}/{len(ids)}]" in output
    stored = tmp_path / "results" / "audit" / "criserver-1.0.0"
    assert (stored / "verdicts-1.jsonl").read_text(encoding="utf-8").count("\n") == len(ids) // 2
    assert (stored / "verdicts.jsonl").read_text(encoding="utf-8").count("\n") == len(ids)


PART = """
import os
import pathlib
import sys

import pytest
from critests.api import api_pb2 as cri
from critests.run.marks import requirement


@requirement("RT-01")
@pytest.mark.parametrize("case", range(40))
def test_{name}(runtime, case):
    if {dies} and case == 5 and any("sweep-part" in option for option in sys.argv):
        pytest.exit("early", 9)
    with pathlib.Path("by-{name}").open("a") as file:
        print(os.getpid(), file=file)
    runtime.stub.Version(cri.VersionRequest())
"""


@pytest.mark.parametrize("dies", [False, True], ids=["whole", "one ends early"])
def test_several_processes_record_what_one_records(tmp_path: Path, endpoint: str, *, dies: bool) -> None:
    """Each module is recorded by one of them; where that ends early, the first does its part as well."""
    for name in ("first", "second"):
        (tmp_path / f"test_{name}.py").write_text(PART.format(name=name, dies=dies), encoding="utf-8")
    modules = ["test_first.py", "test_second.py"]
    options = ["--cri-sweep-record-only", "--cri-sweep-workers=2"]

    status, output, _ = sweep(tmp_path, endpoint, *modules, *options)

    assert status == 0, output
    stored = tmp_path / "results" / "audit" / "criserver-1.0.0"
    recorded = json.loads((stored / "exercise.json").read_text(encoding="utf-8"))["tests"]
    passed = [test["test"] for test in recorded if test["outcome"] == "passed"]
    assert len([name for name in passed if name.startswith(("test_first[", "test_second["))]) == 80
    first, second = ({*(tmp_path / f"by-{each}").read_text().split()} for each in ("first", "second"))
    assert (len(first), len(second), first <= second) == (1, 2 if dies else 1, dies)
    assert ("part 1 ended with 9" in output) is dies
    assert not (stored / "exercise-1.json").exists()


def test_a_module_that_has_changed_is_recorded_anew(tmp_path: Path, endpoint: str) -> None:
    sweep(tmp_path, endpoint, "--cri-sweep-record-only")
    began = runs(tmp_path)
    sweep(tmp_path, endpoint, "--cri-sweep-record-only", suite=SUITE + "\n# another one\n")
    assert runs(tmp_path) == 2 * began


def test_what_is_noticed_by_all_ends_well(tmp_path: Path, endpoint: str) -> None:
    status, output, _ = sweep(tmp_path, endpoint, "--cri-sweep-faults=Version:unimplemented")
    assert status == 0, output
    assert "1 of 1 faults that a test reached were noticed (100 %)" in output


def test_only_what_tests_exercise(tmp_path: Path, endpoint: str) -> None:
    status, output, report = sweep(tmp_path, endpoint, "--cri-sweep-record-only")
    assert status == 0, output
    assert "request fields are set by a test on criserver" in output
    assert not report["faults"]
    assert "Version.response.runtime_name" not in report["coverage"]["response"]["missing"]


def test_a_word_that_means_no_fault(tmp_path: Path, endpoint: str) -> None:
    status, output, _ = sweep(tmp_path, endpoint, "--cri-sweep-faults=StopContaine")
    assert status == 4
    assert "no fault matches 'StopContaine' (did you mean StopContainer" in output


def test_several_processes_need_a_runtime_each(tmp_path: Path, endpoint: str) -> None:
    status, output, _ = sweep(tmp_path, endpoint, "--cri-sweep-workers=2", read_only=False)
    assert status == 4
    assert "takes --cri-node" in output
