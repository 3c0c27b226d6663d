"""`critests-proof`."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from command import COMMAND, proof
from critests_proof.derived import derived_faults

from critests.api import api_pb2 as cri
from critests.client.connection import connect
from critests.client.endpoint import Endpoint
from tests.criserver import CriServer, serve
from tests.plugin.command import SECONDS, environment


def test_faults_are_listed_by_kind() -> None:
    listed = proof("faults", "StopContainer", "list")

    lists = sum(fault.kind == "list" for fault in derived_faults())
    assert listed.returncode == 0, listed.stderr
    assert "  StopContainer.request.timeout:ignored  ignores timeout [" in listed.stdout
    assert f"\nlist: {lists} (" in listed.stdout
    assert listed.stdout.splitlines()[-1].endswith(f"{lists} list")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("faults", "StopC"), "no fault matches 'StopC'"),
        (("proxy", "--runtime-endpoint", "/run/none.sock", "NoSuchCall: swallow"), "NoSuchCall"),
        (("nosuch",), "No such command 'nosuch'"),
    ],
    ids=["a word", "a fault", "a command"],
)
def test_wrong_usage(arguments: tuple[str, ...], says: str) -> None:
    ended = proof(*arguments)

    assert ended.returncode == 4
    assert says in ended.stderr


def test_reports_of_several_runtimes_are_read_together(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"verdicts": [], "honest": {}, "unnoticed": []}), encoding="utf-8")

    ended = proof("proven", str(report))

    assert ended.returncode == 1
    assert "0 tests turned red" in ended.stdout


def test_the_proxy_applies_its_faults(tmp_path: Path) -> None:
    socket = tmp_path / "proxy.sock"
    with serve(CriServer()) as endpoint:
        fault = "Version.response.runtime_name: set broken"
        proxy = subprocess.Popen(
            [*COMMAND, "proxy", "--runtime-endpoint", endpoint, "--listen", str(socket), fault],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        try:
            assert proxy.stdout is not None
            proxy.stdout.readline()
            connection = connect(Endpoint.parse(str(socket)))
            name = connection.runtime.Version(cri.VersionRequest(version="0.1.0")).runtime_name
            connection.close()
        finally:
            proxy.send_signal(signal.SIGTERM)
            proxy.communicate(timeout=SECONDS)

    assert name == "broken"
    assert proxy.returncode == 0
