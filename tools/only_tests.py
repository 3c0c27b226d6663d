"""A pytest plugin for `tools/measure_speed.py --beside`: of what is collected, only tests that a file names
run.
"""

import os
from pathlib import Path

import pytest

VARIABLE = "CRITESTS_ONLY_TESTS"
"""The file with a name on each line, cases in brackets."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep these, and forget the others."""
    names = set(Path(os.environ[VARIABLE]).read_text(encoding="utf-8").splitlines())
    items[:] = [item for item in items if item.name in names]
