"""The Sonobuoy plugin on a plain machine: its files, the results and the done file, progress, and what it
changes.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

import critests as package
from critests.cli.sonobuoy import hand_over
from critests.node.kinds.table import KINDS
from critests.record.files import write
from tests.criserver import CriServer, serve
from tests.plugin.command import SECONDS, environment
from tests.report.sample_run import sample_run

DEPLOY = Path(package.__file__).parent.parent / "deploy" / "sonobuoy"


@pytest.fixture
def worker() -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """A worker that takes progress; yields its port and what it was told."""
    told: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/progress"
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("localhost", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port, told
    server.shutdown()
    server.server_close()
    thread.join()


def sonobuoy(*arguments: str, results: Path, port: int = 0) -> "subprocess.Popen[str]":
    variables = environment() | {
        "SONOBUOY_RESULTS_DIR": str(results),
        "SONOBUOY_PROGRESS_PORT": str(port or ""),
    }
    command = [sys.executable, "-m", "critests.cli", "sonobuoy", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables
    )


def cases(results: Path) -> dict[str, list[str]]:
    """Read what Sonobuoy would: the tarball that `done` names, and the JUnit file in it."""
    with tarfile.open((results / "done").read_text()) as tar:
        file = tar.extractfile("junit_cri-validation_01.xml")
        assert file is not None
        root = ET.fromstring(file.read())  # noqa: S314 - our own document
    return {str(case.get("name")): [element.tag for element in case] for case in root.iter("testcase")}


def test_a_run_changes_nothing_hands_over_and_tells_its_progress(
    worker: tuple[int, list[dict[str, Any]]], tmp_path: Path
) -> None:
    port, told = worker
    server = CriServer()
    with serve(server) as endpoint:
        run = sonobuoy(
            "--once",
            "--",
            "--runtime-endpoint",
            endpoint,
            "--select",
            "RT-01,SBX-01",
            results=tmp_path / "out",
            port=port,
        )
        said, _ = run.communicate(timeout=SECONDS)

    assert "--read-only" in said
    found = cases(tmp_path / "out")
    assert "skipped" in found["test_run_pod_sandbox_returns_a_ready_sandbox"]  # it would change something
    assert told[0]["total"] == len(found) == told[-1]["completed"]
    assert set(told[-1]) == {"msg", "total", "completed", "failures"}


def test_without_a_runtime_there_are_results_all_the_same(tmp_path: Path) -> None:
    run = sonobuoy("--once", "--node-root", str(tmp_path), results=tmp_path / "out")
    run.communicate(timeout=SECONDS)

    assert run.returncode == 3
    assert cases(tmp_path / "out") == {"the run": ["error"]}
    assert "no runtime listens at" in (tmp_path / "out" / "junit_cri-validation_01.xml").read_text()


def test_a_run_that_cannot_begin_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "containerd"
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "containerd.sock"))
        run = sonobuoy("--once", "--node-root", str(tmp_path), results=tmp_path / "out")
        run.communicate(timeout=SECONDS)

    assert run.returncode == 5
    assert "left no record" in (tmp_path / "out" / "junit_cri-validation_01.xml").read_text()


def test_it_sleeps_after_done_until_it_is_stopped(tmp_path: Path) -> None:
    run = sonobuoy("--node-root", str(tmp_path), results=tmp_path / "out")
    try:
        deadline = time.monotonic() + SECONDS
        while not (tmp_path / "out" / "done").exists():
            assert time.monotonic() < deadline, "no done file"
            assert run.poll() is None
            time.sleep(0.05)
        time.sleep(1)
        assert run.poll() is None
    finally:
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=SECONDS)


def test_the_whole_run_is_in_the_tarball(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "containerd" / "1.6.20~ds1" / "1795000000"
    folder.mkdir(parents=True)
    write(sample_run(tmp_path), folder)
    (folder / "evidence").mkdir()

    done = hand_over(tmp_path / "results", tmp_path / "out", 1, "")

    with tarfile.open(done.read_text()) as tar:
        assert {"junit_cri-validation_01.xml", "run/run.json", "run/evidence"} <= set(tar.getnames())
    assert len(cases(tmp_path / "out")) > 100


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="starts a private containerd")
def test_a_private_instance_of_the_nodes_binary_is_tested_in_full(tmp_path: Path) -> None:
    arguments = (
        "--once",
        "--private",
        "containerd",
        "--node-pid",
        str(os.getpid()),
        "--",
        "--select",
        "SBX-01",
    )
    run = sonobuoy(*arguments, results=tmp_path / "out")
    said, _ = run.communicate(timeout=SECONDS)

    assert run.returncode == 0, said
    assert cases(tmp_path / "out") == {"test_run_pod_sandbox_returns_a_ready_sandbox": ["properties"]}


@pytest.mark.parametrize("name", ["critests.yaml", "critests-private.yaml"])
def test_the_plugin_file_fits_the_command(name: str) -> None:
    plugin = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))

    head, container = plugin["sonobuoy-config"], plugin["spec"]
    assert head["driver"] == "DaemonSet"
    assert head["result-format"] == "junit"
    assert head["result-files"] == ["junit_cri-validation_01.xml"]
    assert container["command"][:2] == ["critests", "sonobuoy"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["results"] == "/tmp/sonobuoy/results"  # the default of the command
    if "private" in name:
        assert container["command"][2:] == ["--private", "containerd"]
        assert container["command"][3] in KINDS
        volumes = {volume["name"]: volume["hostPath"]["path"] for volume in plugin["podSpec"]["volumes"]}
        assert {path: mounts[volume] for volume, path in volumes.items()} == {
            path: path for path in volumes.values()
        }
        assert plugin["podSpec"]["hostPID"] is True


def test_the_containerfile_builds_from_what_is_there() -> None:
    lines = (DEPLOY / "Containerfile").read_text(encoding="utf-8").splitlines()
    root = DEPLOY.parent.parent

    copied = [
        word
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert copied
    assert all((root / word).exists() for word in copied)
    assert lines[-1].startswith("CMD") or lines[-2].startswith("ENTRYPOINT")
    assert not any(":latest" in line for line in lines)
