"""The suite can be collected on machines for which it has no programs."""

import sys
from pathlib import Path

import critests
from tests.plugin.command import captured

COLLECT = """
import platform, sys
platform.machine = lambda: {machine!r}
import pytest
command = ["-c", {ini!r}, "--pyargs", "critests.validation", "-p", "critests.plugin", "-q", "--co"]
sys.exit(pytest.main(command))
"""


def test_every_test_is_collected_on_another_architecture(tmp_path: Path) -> None:
    ini = str(Path(critests.__file__).parent / "validation" / "pytest.ini")
    collected = captured([sys.executable, "-c", COLLECT.format(machine="loongarch64", ini=ini)], tmp_path)

    assert collected.returncode == 0, collected.stdout[-2000:] + collected.stderr
