"""The registry on a machine whose loopback interface has no IPv4 address."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from critests import loopback
from tests.plugin.command import record_in

WITHOUT_IPV4 = (
    *("unshare", "--net", "--mount", "sh", "-ec"),
    'mount --bind "$HOSTS" /etc/hosts; ip link set lo up; ip address delete 127.0.0.1/8 dev lo; exec "$@"',
    "sh",
)
NAMED = "127.0.0.1 localhost\n::1 localhost ip6-localhost # both\n"


@pytest.mark.parametrize(
    ("host", "hosts", "name"),
    [
        ("127.0.0.1", NAMED, "127.0.0.1:5010"),
        ("::1", NAMED, "localhost:5010"),
        ("::1", "127.0.0.1 localhost\n::1 ip6-localhost # localhost\n", "[::1]:5010"),
    ],
)
def test_references_name_a_registry_on_loopback(
    host: str, hosts: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts").write_text(hosts, encoding="ascii")
    monkeypatch.setattr(loopback, "HOSTS", tmp_path / "hosts")

    assert loopback.in_references(host, 5010) == name


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_run_without_ipv4_on_loopback_pulls_and_streams(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(NAMED, encoding="ascii")
    run = subprocess.run(
        [
            *(*WITHOUT_IPV4, sys.executable, "-m", "critests.cli", "run", "--node", "containerd"),
            *("--select", "IMG-01,EXE-01", "--times", "1", "--results", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOSTS": str(hosts)},
        check=False,
    )

    outcomes = {test["requirement_id"]: test["outcome"] for test in record_in(tmp_path)["tests"]}
    assert run.returncode == 0, run.stdout + run.stderr
    assert outcomes["IMG-01"] == outcomes["EXE-01"] == "passed"
