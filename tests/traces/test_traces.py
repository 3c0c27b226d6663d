"""Traffic is recorded without secrets, and played again on another runtime."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client import Endpoint, connect
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder, pulling
from critests.lifecycle.run_label import RunIdentity
from critests.traces.differences import ABSENT, Difference, differences, times
from critests.traces.recording import TraceProxy
from critests.traces.redaction import without_secrets
from critests.traces.replaying import SKIPPED, Played, Replay
from critests.traces.trace import Entry, Origin, TraceUnreadable, read, write
from tests.criserver import CriServer, serve
from tests.criserver import clients as plain_client

ORIGIN = Origin("a runtime 1.0", 1.0)


def recorded(logs: Path) -> list[Entry]:
    """What passes in the life of a pod."""
    entries: list[Entry] = []
    with (
        serve(CriServer()) as endpoint,
        TraceProxy(endpoint, None, entries.append) as proxy,
        plain_client.connect(proxy.endpoint, str(logs)) as client,
    ):
        box = client.run_sandbox("pod")
        container = client.run_container(box, ["sleep", "1000"])
        client.status(container)
        client.runtime.StopContainer(cri.StopContainerRequest(container_id=container), timeout=10)
        client.status(container)
        client.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=box), timeout=10)
        with pytest.raises(grpc.RpcError):
            client.status(container)
        client.runtime.ListPodSandbox(cri.ListPodSandboxRequest(), timeout=10)
    return entries


@contextmanager
def replay_on(logs: Path, *wrong: str) -> Iterator[Replay]:
    run = RunIdentity.new()
    requests = RequestBuilder(run, logs, CgroupParents(run, CgroupDriver.UNKNOWN))
    with serve(CriServer(wrong=wrong)) as endpoint:
        connection = connect(Endpoint.parse(endpoint))
        image = connection.images.PullImage(pulling(plain_client.IMAGE)).image_ref
        try:
            yield Replay(connection, requests, ImageName(image, plain_client.IMAGE), speed=0)
        finally:
            connection.close()


def played(logs: Path, entries: list[Entry], *wrong: str) -> tuple[list[Played], list[Difference]]:
    """What came of the calls, and what was answered otherwise."""
    with replay_on(logs, *wrong) as replay:
        calls = replay.run(entries)
        return calls, list(differences(calls, replay.ids))


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    entries = [Entry(0.0, 0.1, "Version"), Entry(0.5, 0.1, "ListImages", {"filter": {}}, "UNKNOWN")]
    for name in ("a.jsonl", "a.jsonl.gz"):
        write(tmp_path / name, ORIGIN, entries)

        assert read(tmp_path / name) == (ORIGIN, entries)


@pytest.mark.parametrize("content", ["", "no trace", '{"trace": 2, "runtime": "", "begun": 0}\n'])
def test_what_is_no_trace_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_text(content, encoding="utf-8")

    with pytest.raises(TraceUnreadable, match="file"):
        read(tmp_path / "file")


def test_no_secret_stands_in_a_trace() -> None:
    pull = cri.PullImageRequest(auth=cri.AuthConfig(password="hush", auth="hush", identity_token="hush"))
    create = cri.CreateContainerRequest(
        config=cri.ContainerConfig(
            envs=[cri.KeyValue(key="TOKEN", value=b"hush"), cri.KeyValue(key="PATH", value=b"/bin")],
            annotations={"kubectl.kubernetes.io/last-applied-configuration": "hush"},
        )
    )
    answers = [cri.ExecSyncResponse(stdout=b"hush"), cri.ContainerStatusResponse(info={"info": "hush"})]

    cleaned = [without_secrets(message) for message in (pull, create, *answers)]

    assert not any("hush" in str(message) for message in cleaned)
    assert "/bin" in str(cleaned[1])
    assert create.config.envs[0].value == b"hush", "what passes on stays as it is"


def test_what_passes_is_written_down(tmp_path: Path) -> None:
    entries = recorded(tmp_path)

    assert [entry.rpc for entry in entries] == [
        "RunPodSandbox",
        "PullImage",
        "CreateContainer",
        "StartContainer",
        "ContainerStatus",
        "StopContainer",
        "ContainerStatus",
        "RemovePodSandbox",
        "ContainerStatus",
        "ListPodSandbox",
    ]
    assert [entry.code for entry in entries][-3:] == ["OK", "NOT_FOUND", "OK"]
    assert entries[0].response["pod_sandbox_id"] == entries[2].request["pod_sandbox_id"]


def test_a_trace_is_played_with_ids_of_its_own(tmp_path: Path) -> None:
    entries = recorded(tmp_path)

    again, found = played(tmp_path, entries)

    assert [each.code for each in again] == [entry.code for entry in entries]
    assert again[0].response["pod_sandbox_id"] != entries[0].response["pod_sandbox_id"]
    assert [str(each) for each in found if each.what != "exit code"] == []
    assert {rpc: count for rpc, count, *_ in times(again)}["ContainerStatus"] == 3


def test_what_is_answered_otherwise_is_told(tmp_path: Path) -> None:
    _, found = played(tmp_path, recorded(tmp_path), "lost=StopContainer")

    states = [(each.recorded, each.played) for each in found if each.what == "state"]
    assert states == [("CONTAINER_EXITED", "CONTAINER_RUNNING")]


def test_what_a_list_does_not_hold_any_more_is_told(tmp_path: Path) -> None:
    entries = recorded(tmp_path)

    _, found = played(tmp_path, entries, "lost=RemovePodSandbox")

    box = entries[0].response["pod_sandbox_id"]
    assert [(each.recorded, each.played) for each in found if each.what == box] == [(ABSENT, "SANDBOX_READY")]


def test_what_was_not_made_is_not_named(tmp_path: Path) -> None:
    """The recorded id could be somebody's on the runtime on which it is played."""
    again, _ = played(tmp_path, recorded(tmp_path), "fails=RunPodSandbox")

    assert {each.code for each in again if "container_id" in each.recorded.request} == {SKIPPED}
