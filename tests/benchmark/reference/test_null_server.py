import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.reference.null_server import NullServer, NullServerFailed, null_server
from critests.client.endpoint import Endpoint
from critests.client.plain_connection import PlainConnection, plain_stubs
from critests.lifecycle.process import stat_of

SECONDS = 20.0
ID = "f" * 64
RESPONSE = cri.RunPodSandboxResponse(pod_sandbox_id=ID).SerializeToString()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NullServer]:
    with null_server(tmp_path) as started:
        yield started


@pytest.fixture
def null(server: NullServer) -> Iterator[PlainConnection]:
    connection = plain_stubs(Endpoint.parse(server.endpoint))
    yield connection
    connection.close()


def test_responses_to_concurrent_calls_may_exceed_the_flow_control_window(
    server: NullServer, null: PlainConnection
) -> None:
    server.set_response(cri.ExecSyncResponse(stdout=b"x" * 8000).SerializeToString())
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(null.runtime.ExecSync, cri.ExecSyncRequest(), timeout=SECONDS) for _ in range(200)
        ]

    assert {call.result().stdout for call in calls} == {b"x" * 8000}


def test_a_request_larger_than_the_flow_control_window_is_accepted(
    server: NullServer, null: PlainConnection
) -> None:
    server.set_response(RESPONSE)
    big = cri.RunPodSandboxRequest(config=cri.PodSandboxConfig(labels={"big": "y" * (2 << 20)}))
    for _ in range(3):
        assert null.runtime.RunPodSandbox(big, timeout=SECONDS).pod_sandbox_id == ID


def test_a_response_that_is_too_large_is_rejected(server: NullServer) -> None:
    with pytest.raises(ValueError, match="larger"):
        server.set_response(b"x" * 10_000)


def test_the_server_exits_with_its_parent(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from critests.benchmark.reference.null_server import null_server
with null_server(Path({str(tmp_path)!r})) as server:
    print(server.process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    starter = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert starter.returncode == -signal.SIGKILL
    pid = int(starter.stdout)
    deadline = time.monotonic() + SECONDS
    while list(tmp_path.iterdir()) or stat_of(pid)[:1] not in ([], ["Z"]):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_server_that_cannot_listen_reports_why(tmp_path: Path) -> None:
    with (
        pytest.raises(NullServerFailed, match=r"cannot listen at .*No such file"),
        null_server(tmp_path / "no"),
    ):
        pass
