"""The Sonobuoy plugin on a plain machine: its files, the results and the done file, and what it changes."""

import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from critests.node.network.cni import PLUGIN_DIRECTORIES
from critests.runtimes.known_runtimes import programs, well_known_sockets
from tests.criserver import CriServer, serve
from tests.plugin.command import SECONDS, environment
from tests.programs import program

DEPLOY = Path(__file__).parent.parent / "deploy" / "sonobuoy"
ENTRY = DEPLOY / "critests-sonobuoy"
JUNIT = "junit_cri-validation_01.xml"


def sonobuoy(*arguments: str, folder: Path, once: str = "1") -> "subprocess.Popen[str]":
    critests = program(folder / "path" / "critests", f'exec {sys.executable} -m critests.cli "$@"')
    variables = environment() | {
        "PATH": f"{critests.parent}:{os.environ['PATH']}",
        "SONOBUOY_RESULTS_DIR": str(folder / "out"),
        "NODE_ROOT": str(folder),
        "NODE_PID": str(os.getpid()),
        "ONCE": once,
    }
    return subprocess.Popen(
        [ENTRY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables
    )


def cases(results: Path) -> dict[str, list[str]]:
    """Read what Sonobuoy would: the tarball that `done` names, and the JUnit file in it."""
    with tarfile.open((results / "done").read_text()) as tar:
        file = tar.extractfile(JUNIT)
        assert file is not None
        root = ET.fromstring(file.read())  # noqa: S314 - our own document
    return {str(case.get("name")): [element.tag for element in case] for case in root.iter("testcase")}


def test_a_run_changes_nothing_and_hands_over(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        run = sonobuoy("--runtime-endpoint", endpoint, "--select", "RT-01,SBX-01", folder=tmp_path)
        said, _ = run.communicate(timeout=SECONDS)

    assert "critests run --read-only" in said
    assert "skipped" in cases(tmp_path / "out")["test_run_pod_sandbox_returns_a_ready_sandbox"]
    with tarfile.open(tmp_path / "out" / "critests.tar.gz") as tar:
        assert [name for name in tar.getnames() if name.endswith("/run.json")]


def test_without_a_runtime_there_are_results_all_the_same(tmp_path: Path) -> None:
    run = sonobuoy(folder=tmp_path)
    run.communicate(timeout=SECONDS)

    assert run.returncode == 3
    assert cases(tmp_path / "out") == {"the run": ["error"]}
    assert "no runtime listens" in (tmp_path / "out" / JUNIT).read_text()


def test_a_run_that_cannot_begin_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "containerd"
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "containerd.sock"))
        run = sonobuoy(folder=tmp_path)
        run.communicate(timeout=SECONDS)

    assert run.returncode == 5
    assert "left no record" in (tmp_path / "out" / JUNIT).read_text()


def test_it_sleeps_after_done_until_it_is_stopped(tmp_path: Path) -> None:
    run = sonobuoy(folder=tmp_path, once="")
    try:
        deadline = time.monotonic() + SECONDS
        while not (tmp_path / "out" / "done").exists():
            assert time.monotonic() < deadline, "no done file"
            assert run.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        assert run.poll() is None
    finally:
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=SECONDS)
    assert run.returncode == 3


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="starts a private containerd")
def test_a_private_instance_of_the_nodes_binary_is_tested_in_full(tmp_path: Path) -> None:
    run = sonobuoy("--private", "containerd", "--select", "SBX-01", folder=tmp_path)
    said, _ = run.communicate(timeout=SECONDS)

    assert run.returncode == 0, said
    assert cases(tmp_path / "out") == {"test_run_pod_sandbox_returns_a_ready_sandbox": ["properties"]}


def test_the_entry_point_knows_what_the_suite_knows() -> None:
    text = ENTRY.read_text(encoding="utf-8")

    assert not [name for name in programs() if name not in text and name != "cri-dockerd"]
    assert not [path for path in well_known_sockets() if str(path)[1:] not in text]
    assert not [path for path in PLUGIN_DIRECTORIES if str(path) not in text]


@pytest.mark.parametrize("name", ["critests.yaml", "critests-private.yaml"])
def test_the_plugin_file_fits_the_command(name: str) -> None:
    plugin = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))

    head, container = plugin["sonobuoy-config"], plugin["spec"]
    assert head["driver"] == "DaemonSet"
    assert head["result-format"] == "junit"
    assert head["result-files"] == [JUNIT]
    assert container["command"][0] == ENTRY.name
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["results"] == "/tmp/sonobuoy/results"  # the default of the command
    if "private" in name:
        assert container["command"][1:] == ["--private", "containerd"]
        volumes = {volume["name"]: volume["hostPath"]["path"] for volume in plugin["podSpec"]["volumes"]}
        assert {path: mounts[volume] for volume, path in volumes.items()} == {
            path: path for path in volumes.values()
        }
        assert plugin["podSpec"]["hostPID"] is True


def test_the_containerfile_builds_from_what_is_there() -> None:
    lines = (DEPLOY / "Containerfile").read_text(encoding="utf-8").splitlines()

    copied = [
        word
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert f"deploy/sonobuoy/{ENTRY.name}" in copied
    assert all((DEPLOY.parent.parent / word).exists() for word in copied)
    assert lines[-1] == f'ENTRYPOINT ["{ENTRY.name}"]'
