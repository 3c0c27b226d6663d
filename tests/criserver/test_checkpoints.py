"""Checkpoints of the small CRI server: a process seems to go on, as what it printed before is held back."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from tests.criserver import CriServer, serve
from tests.criserver.clients import IMAGE, Client, code_of, connect, eventually

COUNT = ["sh", "-c", "i=0; while :; do i=$((i + 1)); echo $i; sleep 0.02; done"]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with serve(CriServer()) as endpoint, connect(endpoint, str(tmp_path)) as client:
        yield client


def numbers(log: Path) -> list[int]:
    return [int(line.split(b" ", 3)[3]) for line in log.read_bytes().splitlines()] if log.exists() else []


def counted(log: Path, more: int = 3) -> list[int]:
    before = len(numbers(log))
    return eventually(lambda: numbers(log), lambda seen: len(seen) >= before + more)


def test_a_container_goes_on_from_its_archive(client: Client, tmp_path: Path) -> None:
    box = client.run_sandbox()
    first = client.run_container(box, COUNT)
    before = len(counted(tmp_path / "main.log"))
    archive = tmp_path / "archive"

    client.runtime.CheckpointContainer(
        cri.CheckpointContainerRequest(container_id=first, location=str(archive))
    )

    assert archive.stat().st_mode & 0o777 == 0o600
    seen = counted(tmp_path / "main.log")
    assert seen == list(range(1, len(seen) + 1))
    config = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name="again"),
        image=cri.ImageSpec(image=str(archive)),
        log_path="again.log",
    )
    again = client.runtime.CreateContainer(
        cri.CreateContainerRequest(pod_sandbox_id=box, config=config)
    ).container_id
    client.runtime.StartContainer(cri.StartContainerRequest(container_id=again))
    assert counted(tmp_path / "again.log")[0] > before


def test_a_pod_goes_on_from_its_directory(client: Client, tmp_path: Path) -> None:
    box = client.run_sandbox()
    first = client.run_container(box, COUNT)
    before = len(counted(tmp_path / "main.log"))
    folder = tmp_path / "saved"
    folder.mkdir()
    saving = cri.CheckpointPodRequest(pod_sandbox_id=box, output_path=str(folder), container_ids=[first])

    client.runtime.CheckpointPod(saving)

    config = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name="main"),
        image=cri.ImageSpec(image=IMAGE),
        command=COUNT,
        log_path="restored.log",
    )
    restoring = cri.RestorePodRequest(
        checkpoint_path=str(folder), config=client.sandbox_config("new"), container_configs=[config]
    )
    (restored,) = client.runtime.RestorePod(restoring).restored_containers
    assert restored.name == "main"
    client.runtime.StartContainer(cri.StartContainerRequest(container_id=restored.container_id))
    assert counted(tmp_path / "restored.log")[0] > before


@pytest.mark.parametrize("wrong", ["twice", "not empty", "option"])
def test_a_pod_is_not_saved_by_a_wrong_request(client: Client, tmp_path: Path, wrong: str) -> None:
    box = client.run_sandbox()
    container = client.run_container(box, COUNT)
    folder = tmp_path / "saved"
    folder.mkdir()
    request = cri.CheckpointPodRequest(pod_sandbox_id=box, output_path=str(folder), container_ids=[container])
    if wrong == "twice":
        request.container_ids.append(container)
    elif wrong == "not empty":
        (folder / "earlier").touch()
    else:
        request.options["unknown"] = "true"
    before = sorted(folder.iterdir())

    with pytest.raises(grpc.RpcError) as refused:
        client.runtime.CheckpointPod(request)

    assert code_of(refused.value) in {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
    }
    assert sorted(folder.iterdir()) == before
