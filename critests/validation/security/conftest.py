"""Fixtures of the security tests."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.run.context import RunContext
from critests.validation.security.seccomp_profiles import all_profiles


@pytest.fixture(scope="session")
def profiles(run_context: RunContext) -> Iterator[Path]:
    """A directory of the node with `NAME.json` for each seccomp profile, and `broken.json`."""
    run_context.run.data_directory.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="seccomp-", dir=run_context.run.data_directory))
    for name, profile in all_profiles().items():
        (folder / f"{name}.json").write_text(json.dumps(profile), encoding="utf-8")
    (folder / "broken.json").write_text('{"defaultAction": "SCMP_ACT_ALLOW", ', encoding="utf-8")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
