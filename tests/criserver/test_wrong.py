"""The small CRI server, where it is wrong in chosen ways, and the impostors."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from tests.criserver import CriServer, impostors, serve
from tests.criserver.clients import code_of, connect, eventually
from tests.criserver.ways import choose


def version_code(endpoint: str, seconds: float = 5) -> grpc.StatusCode:
    with connect(endpoint) as client:
        try:
            client.runtime.Version(cri.VersionRequest(), timeout=seconds)
        except grpc.RpcError as error:
            return code_of(error)
    return grpc.StatusCode.OK


@pytest.mark.parametrize("text", ["no-such-way", "fails", "filters-ignored=x"])
def test_a_bad_way_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text.partition("=")[0])):
        choose([text])


def test_filters_ignored_and_huge_answer() -> None:
    with serve(CriServer(wrong=["filters-ignored", "huge=Status"])) as endpoint, connect(endpoint) as client:
        client.run_sandbox()
        assert client.runtime.ListPodSandbox(
            cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id="none"))
        ).items
        assert client.runtime.Status(cri.StatusRequest()).ByteSize() > 16 << 20


def test_remove_that_does_nothing() -> None:
    with serve(CriServer(wrong=["remove-does-nothing"])) as endpoint, connect(endpoint) as client:
        box = client.run_sandbox()
        client.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=box))
        assert client.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items


@pytest.mark.parametrize(
    ("impostor", "codes"),
    [
        (impostors.not_grpc, {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN}),
        (impostors.hanging_up, {grpc.StatusCode.UNAVAILABLE}),
        (impostors.silent, {grpc.StatusCode.DEADLINE_EXCEEDED}),
        (impostors.dead_socket, {grpc.StatusCode.UNAVAILABLE}),
    ],
)
def test_impostors(impostor: impostors.Impostor, codes: set[grpc.StatusCode]) -> None:
    with impostor() as endpoint:
        # only the silent one is not waited for: the others' answers are
        assert version_code(endpoint, 0.5 if impostor is impostors.silent else 20) in codes


@pytest.fixture
def own_process(tmp_path: Path) -> subprocess.Popen[str]:
    socket = tmp_path / "cri.sock"
    return subprocess.Popen(
        [sys.executable, "-m", "tests.criserver", "--socket", str(socket), "--wrong", "dies-after=1"],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_own_process_is_killed(own_process: subprocess.Popen[str]) -> None:
    with own_process:
        assert own_process.stdout
        endpoint = own_process.stdout.readline().strip()
        assert version_code(endpoint) == grpc.StatusCode.OK
        assert version_code(endpoint) == grpc.StatusCode.UNAVAILABLE
        assert own_process.wait(10) == -signal.SIGKILL


def test_processes_end_with_the_server(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint, connect(endpoint, str(tmp_path)) as client:
        container = client.run_container(client.run_sandbox(), ["sleep", "100"])
        request = cri.ContainerStatusRequest(container_id=container, verbose=True)
        pid = int(re.findall(r"\d+", client.runtime.ContainerStatus(request).info["info"])[0])
        os.kill(pid, 0)
    eventually(lambda: Path(f"/proc/{pid}").exists(), lambda exists: not exists)
