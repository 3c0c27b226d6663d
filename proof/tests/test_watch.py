"""What the proxy notes of what passes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from critests_proof.proxy.fault_proxy import FaultProxy
from critests_proof.proxy.watch import Watch

from critests.api import api_pb2 as cri
from tests.criserver import CriServer, serve
from tests.criserver.clients import Client, connect


class Watched:
    """A client whose calls pass a watching proxy."""

    def __init__(self, client: Client, proxy: FaultProxy, watch: Watch) -> None:
        self.client, self.proxy, self.watch = client, proxy, watch


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with contextlib.ExitStack() as stack:
        proxy = stack.enter_context(FaultProxy(stack.enter_context(serve(CriServer()))))
        proxy.watch = Watch()
        yield Watched(stack.enter_context(connect(proxy.endpoint, str(tmp_path))), proxy, proxy.watch)


def test_fields_that_are_set_and_that_come_filled(watched: Watched) -> None:
    watched.client.run_sandbox("a")
    watched.watch.take()

    watched.client.runtime.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(label_selector={})), timeout=5
    )

    places = watched.watch.take()
    assert {"ListPodSandbox", "ListPodSandbox.request", "ListPodSandbox.request.filter"} <= places
    assert {
        "ListPodSandbox.response.items",
        "ListPodSandbox.response.items[]",
        "ListPodSandbox.response.items[].metadata.name",
    } <= places
    assert "ListPodSandbox.request.filter.label_selector" not in places
    assert not watched.watch.take()


def test_errors_and_repetitions(watched: Watched) -> None:
    request = cri.PodSandboxStatusRequest(pod_sandbox_id="nowhere")
    with pytest.raises(grpc.RpcError):
        watched.client.runtime.PodSandboxStatus(request, timeout=5)
    places = watched.watch.take()
    assert "PodSandboxStatus.error" in places
    assert "PodSandboxStatus.repeated" not in places

    for _ in range(2):
        watched.client.runtime.Version(cri.VersionRequest(), timeout=5)
    places = watched.watch.take()
    assert "Version.repeated" in places
    assert not any(place.endswith(".error") for place in places)


def test_the_messages_of_a_stream(watched: Watched) -> None:
    watched.client.run_sandbox("a")

    list(watched.client.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest(), timeout=5))

    assert "StreamPodSandboxes.response.pod_sandboxes[].id" in watched.watch.take()


def test_what_is_let_through_honestly_is_not_noted(watched: Watched) -> None:
    with watched.proxy.honest():
        watched.client.runtime.Version(cri.VersionRequest(), timeout=5)

    assert not watched.watch.take()
