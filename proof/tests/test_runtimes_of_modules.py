"""The audit of tests that share a runtime of their own, on a real containerd."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.runtime,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("containerd") is None, reason="needs root and a containerd"
    ),
]
SUITE = """
import pytest
from critests.api import api_pb2 as cri
from critests.run.marks import disruptive


def version(runtime):
    return runtime.stub.Version(cri.VersionRequest())


@pytest.fixture(scope="module")
def before(module_runtime):
    module_runtime.used_up = False
    return version(module_runtime).runtime_name


@disruptive
def test_that_looks(module_runtime, before):
    assert version(module_runtime).runtime_name == before


@disruptive
def test_that_uses_up(module_runtime, before):
    assert not module_runtime.used_up
    module_runtime.used_up = True
    assert version(module_runtime).runtime_name == before
"""
MATRIX = """
[[fault]]
id = "other-name"
break = "Version.response.runtime_name: set other"
promise = "Version tells the name"
turns_red = ["test_that_looks", "test_that_uses_up"]

[[fault]]
id = "other-version"
break = "Version.response.runtime_version: set other"
promise = "Version tells the version"
turns_red = ["test_that_looks", "test_that_uses_up"]
"""


def test_they_are_broken_for_each_case_and_made_anew_when_used_up(tmp_path: Path) -> None:
    """What the fixtures of the module asked before is honest; a test that finds what another has used up
    would turn red without the fault's doing.
    """
    (tmp_path / "test_small.py").write_text(SUITE, encoding="utf-8")
    (tmp_path / "test_small.faults.toml").write_text(MATRIX, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -p no:cacheprovider -p no:locust\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "pytest", "-q", "test_small.py", "-p", "critests_proof.pytest_audit"]
    command += ["-p", "critests.plugin"]
    command += ["--cri-audit", "--cri-audit-report", "report.json", "--cri-node", "containerd"]
    command += ["--cri-results", str(tmp_path / "results")]

    ended = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    output = ended.stdout + ended.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    noticed = {(verdict["fault"], verdict["test"]): verdict["noticed"] for verdict in report["verdicts"]}
    assert noticed == {
        ("other-name", "test_that_looks"): True,
        ("other-name", "test_that_uses_up"): True,
        ("other-version", "test_that_looks"): False,
        ("other-version", "test_that_uses_up"): False,
    }, output
    assert set(report["honest"].values()) == {"passed"}, output
