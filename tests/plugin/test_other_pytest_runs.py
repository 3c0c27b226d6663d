"""critests in the pytest runs of an environment in which it is installed."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from tests.criserver.server import CriServer, serve
from tests.plugin.command import captured, record_in

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")

VENDOR_TEST = '''
from critests.testing import Runtime, cri


def test_version(runtime: Runtime) -> None:
    """It MUST have a name."""
    assert runtime.stub.Version(cri.VersionRequest()).runtime_name
'''

# every plugin, fixture and option of critests comes from one of its modules
MODULES = """
import sys


def pytest_sessionfinish(session):
    options = [name for name in vars(session.config.option) if name.startswith("cri_")]
    modules = [name for name in sys.modules if name.split(".")[0] in ("critests", "grpc")]
    print("loaded:", options + modules)
"""


def run(place: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    return captured([*PYTEST, *more], place)


def test_other_pytest_runs_do_not_load_critests(tmp_path: Path) -> None:
    points = importlib.metadata.entry_points(group="pytest11")
    assert not [point for point in points if point.value.startswith("critests")]
    (tmp_path / "conftest.py").write_text(MODULES, encoding="utf-8")
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n", encoding="utf-8")

    result = run(tmp_path, "-q", "-s", "-p", "no:benchmark")

    assert result.returncode == 0, result.stdout + result.stderr
    assert "loaded: []" in result.stdout


@pytest.mark.parametrize("more", [(), ("-n", "1")], ids=["alone", "a worker"])
def test_vendor_loads_the_plugin_in_the_root_conftest(more: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["critests.testing"]\n', encoding="utf-8")
    (tmp_path / "test_mine.py").write_text(VENDOR_TEST, encoding="utf-8")
    with serve(CriServer()) as endpoint:
        words = ("--runtime-endpoint", endpoint, "--cri-allow-kubelet", "--cri-results", "results")
        result = run(tmp_path, "-W", "error", *words, *more)

    assert result.returncode == 0, result.stdout + result.stderr
    (test,) = record_in(tmp_path / "results")["tests"]
    assert test["outcome"] == "passed"


def test_plain_pytest_runs_the_suite_as_documented(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        words = ("--runtime-endpoint", endpoint, "--cri-select", "RT-01", "--cri-results", "results")
        suite = ("-p", "critests.plugin", "--pyargs", "critests.validation")
        result = run(tmp_path, *suite, *words, "--cri-allow-kubelet")

    assert result.returncode == 0, result.stdout + result.stderr
    assert {test["outcome"] for test in record_in(tmp_path / "results")["tests"]} >= {"passed"}
