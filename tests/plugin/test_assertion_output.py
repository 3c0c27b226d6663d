"""Comparisons in tests of the suite are shown in full, those of others as pytest shows them."""

from pathlib import Path

from tests.criserver import CriServer, serve
from tests.plugin.command import record_in, run_own_test

SUITE = '''
from critests.api import api_pb2 as cri

LATE = [1795348013500000000, 1795348012000000000, 1795348014000000000]


def test_ours(runtime):
    """They are in order."""
    runtime.stub.UpdateRuntimeConfig(cri.UpdateRuntimeConfigRequest(runtime_config=cri.RuntimeConfig()))
    runtime.stub.Version(cri.VersionRequest())
    assert LATE[:] == sorted(LATE)


def test_of_others():
    assert LATE[:] == sorted(LATE)
'''


def test_timestamps_are_shown_in_full(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        result = run_own_test(SUITE, tmp_path, "--runtime-endpoint", endpoint)

    (ours,) = record_in(tmp_path / "results")["tests"]
    assert ours["seen"] == (
        "LATE[:][0]: expected the same time as sorted(LATE)[0], observed 1.5 s after it;"
        " LATE[:][1]: expected the same time as sorted(LATE)[1], observed 1.5 s before it"
    ), result.stdout
    assert ours["after"] == "UpdateRuntimeConfig"
    whole, shortened = (line for line in result.stdout.splitlines() if line.startswith("E       assert"))
    assert "1795348013500000000, 1795348012000000000, 1795348014000000000] == [" in whole
    assert "..." in shortened
