import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.floors.null_server import NullServer, NullServerFailed, start_null_server
from critests.client.endpoint import Endpoint
from critests.client.plain import PlainConnection, plain_stubs
from critests.lifecycle.process import stat_of

SECONDS = 20.0
METHODS = [method for service in cri.DESCRIPTOR.services_by_name.values() for method in service.methods]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NullServer]:
    with start_null_server(tmp_path_factory.mktemp("null")) as started:
        yield started


@pytest.fixture
def null(server: NullServer) -> Iterator[PlainConnection]:
    connection = plain_stubs(Endpoint.parse(server.endpoint))
    yield connection
    connection.close()


@pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])
def test_every_rpc_is_answered_with_all_that_it_can_say(
    server: NullServer, null: PlainConnection, method: "object"
) -> None:
    name, output = method.name, method.output_type  # type: ignore[attr-defined]  # a MethodDescriptor
    server.answer(name, entries=250)
    call = getattr(null.runtime if hasattr(null.runtime, name) else null.images, name)
    answer = call(getattr(cri, method.input_type.name)(), timeout=SECONDS)  # type: ignore[attr-defined]  # likewise
    messages = list(answer) if name.startswith(("Stream", "GetContainerEvents")) else [answer]
    empty = {"exit_code", "stdout"} if name == "ExecSync" else set()
    wanted = {field.name for field in output.fields} - empty
    assert [wanted - {field.name for field, _ in each.ListFields()} for each in messages] == [set()] * len(
        messages
    )
    if name.startswith("Stream"):
        assert [len(each.ListFields()[0][1]) for each in messages] == [100, 100, 50]
    elif name.startswith("List"):
        assert len(answer.ListFields()[0][1]) == 250


def test_output_larger_than_every_window_arrives_whole(server: NullServer, null: PlainConnection) -> None:
    server.answer("ExecSync", payload=3 << 20)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(null.runtime.ExecSync, cri.ExecSyncRequest(), timeout=SECONDS) for _ in range(8)]
    assert {call.result().stdout for call in calls} == {b"x" * (3 << 20)}


def test_requests_larger_than_every_window_are_taken(server: NullServer, null: PlainConnection) -> None:
    server.answer("RunPodSandbox")
    big = cri.RunPodSandboxRequest(config=cri.PodSandboxConfig(labels={"big": "y" * (2 << 20)}))
    for _ in range(3):
        assert len(null.runtime.RunPodSandbox(big, timeout=SECONDS).pod_sandbox_id) == 64


def test_it_ends_with_whoever_started_it(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from critests.benchmark.floors.null_server import start_null_server
server = start_null_server(Path({str(tmp_path)!r}))
print(server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    starter = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert starter.returncode == -signal.SIGKILL
    pid = int(starter.stdout)
    deadline = time.monotonic() + SECONDS
    while list(tmp_path.iterdir()) or stat_of(pid)[:1] not in ([], ["Z"]):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_stopping_twice_is_no_harm_and_nothing_is_left(tmp_path: Path) -> None:
    server = start_null_server(tmp_path)
    server.stop()
    server.stop()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


def test_a_server_that_cannot_listen_says_so(tmp_path: Path) -> None:
    with pytest.raises(NullServerFailed, match=r"cannot listen at .*No such file"):
        start_null_server(tmp_path / "absent")
