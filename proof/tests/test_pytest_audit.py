"""The audit as a pytest plugin, on a small suite in front of our small CRI server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.criserver import CriServer, serve

SUITE = """
import grpc
import pytest
from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.run.outcomes import unsupported


def version(runtime):
    return runtime.stub.Version(cri.VersionRequest())


@pytest.fixture(scope="module")
def shared(runtime):
    return version(runtime).runtime_name


@pytest.fixture
def own(runtime):
    return version(runtime).runtime_name


def test_in_the_call(runtime):
    assert version(runtime).runtime_name == "criserver"


def test_in_the_set_up(own):
    assert own == "criserver"


def test_shared(shared):
    assert shared == "criserver"


@pytest.mark.parametrize("wanted", ["criserver", ""], ids=["one::case", "other"])
def test_cases(runtime, wanted):
    assert version(runtime).runtime_name.startswith(wanted)


def test_that_looks_away(runtime):
    version(runtime)


def test_that_breaks(runtime):
    {"criserver": 1}[version(runtime).runtime_name]


@pytest.fixture
def probed(runtime):
    return runtime.has(Capability.RUNTIME_HANDLERS)


def test_what_is_found_out_for_all_tests(probed, runtime):
    assert probed
    assert version(runtime).runtime_name == "criserver"


def test_of_what_is_not_offered(runtime):
    unsupported("nobody offers it")


def test_without_a_fault(runtime):
    assert runtime.version.runtime_name == "criserver"
"""

MATRIX = """
[[fault]]
id = "other-name"
break = "Version.response.runtime_name: set other"
promise = "Version tells the name"
turns_red = [
    "test_in_the_call", "test_in_the_set_up", "test_shared", "test_cases", "test_that_looks_away",
    "test_that_breaks", "test_of_what_is_not_offered",
]

[[fault]]
id = "other-name-later"
break = "Version.response.runtime_name: set other"
promise = "Version tells the name"
turns_red = ["test_in_the_set_up", "test_cases[one::case]"]
during = "call"
spoils = true

[[fault]]
id = "no-handlers"
break = ["Status.response.runtime_handlers: clear", "Version.response.runtime_name: set other"]
promise = "Version tells the name"
turns_red = ["test_what_is_found_out_for_all_tests"]

[[fault]]
id = "refused"
break = "Version: error UNAVAILABLE"
promise = "Version answers"
turns_red = ["test_in_the_call"]
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve(CriServer()) as endpoint:
        yield endpoint


def audit(
    directory: Path, endpoint: str, *arguments: str, suite: str = SUITE, matrix: str = MATRIX
) -> tuple[int, str, dict[str, Any]]:
    (directory / "test_small.py").write_text(suite, encoding="utf-8")
    (directory / "test_small.faults.toml").write_text(matrix, encoding="utf-8")
    (directory / "pytest.ini").write_text(
        "[pytest]\naddopts = -p no:cacheprovider -p no:locust\n", encoding="utf-8"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "test_small.py",
        "-p",
        "critests.plugin",
        "-p",
        "critests_proof.pytest_audit",
        "--cri-audit",
    ]
    command += [
        "--cri-audit-report",
        "report.json",
        "--runtime-endpoint",
        endpoint,
    ]
    command += ["--cri-read-only", "--cri-results", str(directory / "results"), *arguments]
    ended = subprocess.run(
        command,
        cwd=directory,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    report = directory / "report.json"
    return (
        ended.returncode,
        ended.stdout + ended.stderr,
        json.loads(report.read_text(encoding="utf-8")) if report.exists() else {},
    )


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_what_is_noticed(tmp_path: Path, endpoint: str, workers: list[str]) -> None:
    status, output, report = audit(tmp_path, endpoint, *workers)
    noticed = {(verdict["fault"], verdict["test"]): verdict["noticed"] for verdict in report["verdicts"]}
    assert noticed == {
        ("other-name", "test_in_the_call"): True,
        ("other-name", "test_in_the_set_up"): True,
        ("other-name", "test_shared"): False,
        ("other-name", "test_cases[one::case]"): True,
        ("other-name", "test_cases[other]"): False,
        ("other-name", "test_that_looks_away"): False,
        ("other-name", "test_that_breaks"): False,
        ("other-name", "test_of_what_is_not_offered"): False,
        ("other-name-later", "test_in_the_set_up"): False,
        ("other-name-later", "test_cases[one::case]"): True,
        ("no-handlers", "test_what_is_found_out_for_all_tests"): True,
        ("refused", "test_in_the_call"): True,
    }, output
    assert sorted(map(tuple, report["unnoticed"])) == [
        ("other-name", "test_shared"),
        ("other-name", "test_that_breaks"),
        ("other-name", "test_that_looks_away"),
        ("other-name-later", "test_in_the_set_up"),
    ]
    assert report["without_fault"] == ["test_without_a_fault"]
    assert report["not_tried"] == ["test_of_what_is_not_offered"]
    assert {name for name, outcome in report["honest"].items() if outcome != "passed"} == {
        "test_of_what_is_not_offered"
    }
    assert "not tried: test_of_what_is_not_offered is unsupported or blocked here" in output
    assert "4 of 9 tests were turned red by a fault; 4 faults went unnoticed" in output
    assert status == 1


def test_what_is_broken_is_tried_until_a_test_notices(tmp_path: Path, endpoint: str) -> None:
    """What tests share is made under such a fault, and no test is tried after the first that noticed."""
    marked = SUITE.replace("def test_", '@requirement("RT-01")\ndef test_').replace(
        "import pytest\n", "import pytest\nfrom critests.run.marks import requirement\n", 1
    )
    faults = """
        [[fault]]
        id = "other-name"
        break = "Version.response.runtime_name: set other"
        promise = "Version tells the name"
        breaks = ["RT-01"]
    """
    (tmp_path / "own.toml").write_text(faults, encoding="utf-8")
    arguments = ["--cri-audit-matrix", "own.toml", "--cri-audit-only"]
    status, output, report = audit(
        tmp_path, endpoint, *arguments, "-k", "looks or shared or call", suite=marked
    )
    assert [(verdict["test"], verdict["noticed"]) for verdict in report["verdicts"]] == [
        ("test_in_the_call", True)
    ]
    assert status == 0, output
    status, output, report = audit(tmp_path, endpoint, *arguments, "-k", "looks or shared", suite=marked)
    assert [(verdict["test"], verdict["noticed"]) for verdict in report["verdicts"]] == [
        ("test_shared", True)
    ]
    status, output, _ = audit(tmp_path, endpoint, *arguments, "-k", "looks", suite=marked)
    assert status == 1
    assert "unnoticed: other-name" in output


def test_faults_below_the_runtime_need_one_that_the_suite_starts(tmp_path: Path, endpoint: str) -> None:
    status, output, _ = audit(tmp_path, endpoint, "--cri-audit-oci")
    assert status == 4
    assert "--cri-audit-oci needs --cri-node" in output


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_a_fault_below_a_runtime_that_cannot_be_disturbed_is_not_tried(
    tmp_path: Path, endpoint: str, workers: list[str]
) -> None:
    faults = """
        [[fault]]
        id = "no-name"
        break = "bundle.hostname: clear"
        promise = "a container has a name"
        turns_red = ["test_in_the_call", "test_in_the_set_up"]

        [[fault]]
        id = "no-name-later"
        break = ["bundle.hostname: clear", "Version.response.runtime_name: set other"]
        promise = "a container has a name"
        turns_red = ["test_in_the_call"]
        during = "call"
    """
    (tmp_path / "own.toml").write_text(faults, encoding="utf-8")

    status, output, report = audit(
        tmp_path, endpoint, "--cri-audit-matrix", "own.toml", "-k", "in_the", *workers
    )

    assert status == 0, output
    assert (report["verdicts"], report["unnoticed"]) == ([], [])
    assert "0 faults went unnoticed" in output
    assert "not tried: no-name, no-name-later: faults below the runtime, which need --cri-node" in output


def test_one_fault_only(tmp_path: Path, endpoint: str) -> None:
    (tmp_path / "own.toml").write_text(MATRIX.replace('"refused"', '"declined"'), encoding="utf-8")
    status, output, report = audit(
        tmp_path,
        endpoint,
        "--cri-audit-matrix",
        "own.toml",
        "--cri-audit-fault",
        "declined",
        "--cri-audit-only",
    )
    assert [verdict["fault"] for verdict in report["verdicts"]] == ["declined"]
    assert status == 0, output


@pytest.mark.parametrize("folder", [".", "build"], ids=["next to tests", "where pytest does not look"])
def test_faults_next_to_other_tests_are_found_where_pytest_finds_tests(
    tmp_path: Path, endpoint: str, folder: str
) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    text = MATRIX.replace('"refused"', '"in-another-file"')
    (tmp_path / folder / "test_other.faults.toml").write_text(text, encoding="utf-8")
    status, output, _ = audit(tmp_path, endpoint, ".", "--cri-audit-only", "--collect-only")
    assert ("the id 'other-name' is taken by" in output) is (folder == ".")
    assert (status == 4) is (folder == ".")


def test_a_test_that_no_fault_is_known_for_is_not_proven(tmp_path: Path, endpoint: str) -> None:
    status, output, report = audit(tmp_path, endpoint, "-k", "without_a_fault")
    assert report["verdicts"] == []
    assert "no fault is known for: test_without_a_fault" in output
    assert status == 1


@pytest.mark.parametrize("adjacent", [True, False], ids=["next to the tests", "elsewhere"])
def test_a_name_that_is_no_test_s_is_an_error(tmp_path: Path, endpoint: str, *, adjacent: bool) -> None:
    text = MATRIX.replace('"test_shared"', '"test_shraed"')
    (tmp_path / "own.toml").write_text(text.replace('id = "', 'id = "own-'), encoding="utf-8")
    arguments = [] if adjacent else ["--cri-audit-matrix", "own.toml"]
    status, output, _ = audit(tmp_path, endpoint, *arguments, matrix=text if adjacent else MATRIX)
    assert status == 4
    assert ".toml:2: turns_red names test_shraed, which is no test (did you mean test_shared?)" in output


def test_a_fault_that_is_tried(tmp_path: Path, endpoint: str) -> None:
    status, output, report = audit(
        tmp_path,
        endpoint,
        "--cri-audit-try",
        "Version: hang",
        "-k",
        "in_the_call or without",
        "--cri-deadline-scale",
        "0.2",
    )
    assert {verdict["test"]: verdict["noticed"] for verdict in report["verdicts"]} == {
        "test_in_the_call": True,
        "test_without_a_fault": False,
    }
    assert "noticed: try (Version: hang) in test_in_the_call: failed, it changed something 1 times" in output
    assert status in {0, 5}, output


@pytest.mark.parametrize("arguments", [["--cri-audit-fault", "none"], ["--cri-audit-try", "nonsense"]])
def test_bad_use(tmp_path: Path, endpoint: str, arguments: list[str]) -> None:
    status, output, _ = audit(tmp_path, endpoint, *arguments)
    assert status == 4
    assert arguments[1] in output
