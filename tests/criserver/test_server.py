"""Those properties of the small CRI server that no other test would check: an exploration that must find
nothing, and tests of the suite that run on it, check most of it.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from tests.criserver import CriServer, serve
from tests.criserver.clients import Client, code_of, connect, eventually
from tests.criserver.ways import choose


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with serve(CriServer()) as endpoint, connect(endpoint, str(tmp_path)) as client:
        yield client


def test_long_lines_are_split(client: Client) -> None:
    container = client.run_container(
        client.run_sandbox(), ["sh", "-c", "head -c 40000 /dev/zero | tr '\\0' x; echo"]
    )
    log = Path(client.wait_exited(container).log_path).read_bytes().splitlines()
    assert [line.split(b" ")[2] for line in log] == [b"P", b"P", b"F"]
    assert sum(len(line.split(b" ", 3)[3]) for line in log) == 40000


def test_streaming_lists_equal_the_unary_ones(client: Client) -> None:
    assert not list(client.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest()))
    for name in "abc":
        client.run_sandbox(name)
    streamed = [
        item.id
        for piece in client.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest())
        for item in piece.pod_sandboxes
    ]
    assert streamed == [item.id for item in client.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items]
    assert len(list(client.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest()))) == 2


def test_stats(client: Client) -> None:
    box = client.run_sandbox()
    container = client.run_container(box, ["sleep", "100"])
    assert (
        client.runtime.ContainerStats(
            cri.ContainerStatsRequest(container_id=container)
        ).stats.memory.working_set_bytes.value
        > 0
    )
    (stats,) = client.runtime.ListPodSandboxStats(cri.ListPodSandboxStatsRequest()).stats
    assert [one.attributes.id for one in stats.linux.containers] == [container]
    (metrics,) = client.runtime.ListPodSandboxMetrics(cri.ListPodSandboxMetricsRequest()).pod_metrics
    assert metrics.container_metrics[0].container_id == container


def test_an_omitted_rpc_is_unimplemented() -> None:
    without = ["RuntimeConfig", "CheckpointContainer"]
    with serve(CriServer(without=without)) as endpoint, connect(endpoint) as client:
        for call in (
            lambda: client.runtime.RuntimeConfig(cri.RuntimeConfigRequest()),
            lambda: client.runtime.CheckpointContainer(cri.CheckpointContainerRequest()),
        ):
            with pytest.raises(grpc.RpcError) as error:
                call()
            assert code_of(error.value) == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("text", ["no-such-way", "fails", "filters-ignored=x"])
def test_an_unknown_way_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text.partition("=")[0])):
        choose([text])


def test_processes_end_with_the_server(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint, connect(endpoint, str(tmp_path)) as client:
        container = client.run_container(client.run_sandbox(), ["sleep", "100"])
        request = cri.ContainerStatusRequest(container_id=container, verbose=True)
        pid = int(re.findall(r"\d+", client.runtime.ContainerStatus(request).info["info"])[0])
        os.kill(pid, 0)
    eventually(lambda: Path(f"/proc/{pid}").exists(), lambda exists: not exists)
