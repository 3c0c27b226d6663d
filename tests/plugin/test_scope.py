"""The scope in the record: which part of the suite a run tested."""

import subprocess
import sys
from pathlib import Path

from critests.run.collected_tests import SUITE
from critests.run.conclusion import SOME_TESTS
from tests.criserver.server import CriServer, serve
from tests.plugin.command import SECONDS, environment, record_in, validate

MODULE = SUITE / "runtime" / "test_version_and_status.py"


def test_scope_of_a_run_by_path_is_partial(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        words = ["--runtime-endpoint", endpoint, f"--cri-results={tmp_path}"]
        command = [sys.executable, "-m", "pytest", "-p", "critests.plugin", str(MODULE), *words]
        subprocess.run(command, timeout=SECONDS, cwd=tmp_path, env=environment(), check=False)

    scope = record_in(tmp_path)["scope"]
    assert scope["selection"] == str(MODULE)
    assert scope["musts_judged"] < scope["musts"]


def test_scope_of_a_run_with_pytest_options_is_partial(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        validate(endpoint, tmp_path, "-- --ignore-glob=**/test_[!v]*")

    assert record_in(tmp_path)["scope"]["selection"] == SOME_TESTS
