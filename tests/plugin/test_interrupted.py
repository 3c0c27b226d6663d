"""Ctrl-C inside hooks of other plugins ends the run as interrupted, and not with an internal error."""

import subprocess
import sys
from pathlib import Path

import pytest

import critests
from tests.plugin.command import SECONDS

SUITE = Path(critests.__file__).parent
CONFTEST = """
import pytest


class Old:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self):
        (yield).get_result()


class Interrupted:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call):
        if call.when == "call":
            raise KeyboardInterrupt


def pytest_configure(config):
    config.pluginmanager.register(Old())
    config.pluginmanager.register(Interrupted())
"""


@pytest.mark.parametrize("kind", ["validation", "benchmark"])
def test_ctrl_c_inside_a_hook_wrapper_of_another_plugin_interrupts_the_run(kind: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
    command = [sys.executable, "-P", "-m", "pytest", "-c", str(SUITE / kind / "pytest.ini")]
    command += ["-p", "critests.plugin", "test_one.py"]

    result = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert result.returncode == pytest.ExitCode.INTERRUPTED, result.stdout + result.stderr


OPENING = """
import gc


def test_one():
    gc.disable()
    opened = open("/proc/self/stat")
    opened.itself = opened
    del opened
    raise KeyboardInterrupt
"""


def test_ctrl_c_with_an_unclosed_file_interrupts_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(OPENING, encoding="utf-8")
    command = [sys.executable, "-P", "-m", "pytest", "-c", str(SUITE / "validation/pytest.ini")]

    result = subprocess.run(
        [*command, "-p", "critests.plugin", "test_one.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert result.returncode == pytest.ExitCode.INTERRUPTED, result.stdout + result.stderr
