"""CKP: CheckpointPod, which checkpoints several containers of a pod at the same moment."""

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc
from critests.client.connection import open_channel
from critests.testing import (
    NO_SUCH_ID,
    Capability,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    may_be_refused,
    refused_with,
    requirement,
    requires,
)
from critests.validation.containers.counting import COUNT
from critests.validation.containers.pod_checkpoints import CountingPod

offers_checkpoints = requires(Capability.POD_CHECKPOINT, Capability.SAME_HOST)
takes_checkpoints = requires(Capability.POD_CHECKPOINT, Capability.SAME_HOST, Capability.CRIU)
PAUSE_NS = 50_000_000
"""A gap in the output that counts as a freeze: a checkpoint takes longer, and a process that prints every 20
ms rarely pauses so long otherwise.
"""
UNLIMITED_SECONDS = 30.0
"""After this time, before scaling, the test cancels a call without a deadline."""


@pytest.fixture
def pod(runtime: Runtime, own_sandbox: Sandbox, containers: Containers, host_folder: Path) -> CountingPod:
    """A pod with two running containers that count, and an empty directory for its checkpoint."""
    counting = [containers.running(script=COUNT, in_sandbox=own_sandbox, wait_for_log="3") for _ in range(2)]
    folder = host_folder / "checkpoint"
    folder.mkdir()
    return CountingPod(runtime, own_sandbox, counting, folder)


def pauses(container: Container, call: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the start and end of each gap in a container's output that overlaps a call, in nanoseconds since
    the epoch.
    """
    times = [record.time_ns for record in container.log()]
    return [
        (start, end)
        for start, end in itertools.pairwise(times)
        if end - start >= PAUSE_NS and start < call[1] and end > call[0]
    ]


@requirement("CKP-08")
@takes_checkpoints
def test_a_pod_continues_after_its_checkpoint(runtime: Runtime, pod: CountingPod) -> None:
    """CheckpointPod MUST write a checkpoint of the requested containers, and leave them running.

    Source: CheckpointPodRequest.
    """
    runtime.stub.CheckpointPod(pod.request())

    assert pod.digests() != {}
    pod.wait_for_progress()


@requirement("CKP-08")
@offers_checkpoints
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "exited"])
def test_a_pod_checkpoint_needs_running_containers(
    runtime: Runtime, pod: CountingPod, containers: Containers, state: "cri.ContainerState"
) -> None:
    """CheckpointPod MUST fail if one of the containers does not run, and write nothing.

    Source: CheckpointPodRequest.container_ids.
    """
    idle = containers.in_state(state, in_sandbox=pod.sandbox)

    runtime.refusal(runtime.stub.CheckpointPod, pod.request(idle.id))

    assert pod.digests() == {}
    pod.wait_for_progress()


@requirement("CKP-08")
@offers_checkpoints
def test_a_checkpoint_of_a_stopped_pod_is_refused(runtime: Runtime, pod: CountingPod) -> None:
    """CheckpointPod MUST fail for a stopped sandbox, and write nothing.

    Source: CheckpointPodRequest.pod_sandbox_id.
    """
    pod.sandbox.stop()

    runtime.refusal(runtime.stub.CheckpointPod, pod.request())

    assert pod.digests() == {}


@offers_checkpoints
@pytest.mark.parametrize(
    "case",
    [
        *(
            pytest.param(case, marks=requirement("CKP-09"))
            for case in ("none", "twice", "unknown", "of another pod")
        ),
        pytest.param("unknown option", marks=requirement("CKP-14")),
        pytest.param("unknown pod", marks=requirement("CKP-15")),
    ],
)
def test_an_invalid_pod_checkpoint_request_is_refused(
    runtime: Runtime, pod: CountingPod, running_container: Container, case: str
) -> None:
    """CheckpointPod MUST fail without `container_ids`, with one that is repeated, unknown or of another pod,
    with an unknown option, and with an unknown sandbox id, and write nothing.

    Source: CheckpointPodRequest.container_ids, options and pod_sandbox_id.
    """
    requests = {
        "none": cri.CheckpointPodRequest(pod_sandbox_id=pod.sandbox.id, output_path=str(pod.folder)),
        "twice": pod.request(pod.containers[0].id),
        "unknown": pod.request(NO_SUCH_ID),
        "of another pod": pod.request(running_container.id),
        "unknown option": pod.request(),
        "unknown pod": pod.request(),
    }
    requests["unknown option"].options["critests.example/nobody-knows-this"] = "true"
    requests["unknown pod"].pod_sandbox_id = NO_SUCH_ID

    runtime.refusal(runtime.stub.CheckpointPod, requests[case])

    assert pod.digests() == {}


PLACES: dict[str, Callable[[Path], str]] = {
    "none": lambda _: "",
    "relative": lambda folder: folder.name,
    "missing": lambda folder: str(folder / "missing"),
    "a file": lambda folder: str(folder / "earlier"),
    "not empty": str,
}


@requirement("CKP-10")
@offers_checkpoints
@pytest.mark.parametrize("place", PLACES)
def test_a_pod_checkpoint_needs_an_empty_directory(runtime: Runtime, pod: CountingPod, place: str) -> None:
    """CheckpointPod MUST fail unless `output_path` is the absolute path of an empty directory, and change
    nothing there.

    Source: CheckpointPodRequest.output_path.
    """
    (pod.folder / "earlier").write_text("earlier", encoding="utf-8")
    before = pod.digests()
    request = pod.request()
    request.output_path = PLACES[place](pod.folder)

    runtime.refusal(runtime.stub.CheckpointPod, request)

    assert pod.digests() == before


@requirement("CKP-10")
@takes_checkpoints
def test_a_pod_checkpoint_is_written_below_its_directory(runtime: Runtime, pod: CountingPod) -> None:
    """CheckpointPod MUST write below `output_path` without replacing that directory, and write nothing next
    to it.

    Source: CheckpointPodRequest.output_path.
    """
    before = pod.folder.stat().st_ino

    runtime.stub.CheckpointPod(pod.request())

    # another inode would be another directory under the same name
    assert pod.folder.stat().st_ino == before
    assert pod.digests() != {}
    assert [path.name for path in pod.folder.parent.iterdir()] == [pod.folder.name]


@requirement("CKP-11")
@offers_checkpoints
def test_a_failed_pod_checkpoint_leaves_nothing(runtime: Runtime, pod: CountingPod) -> None:
    """CheckpointPod MUST leave the directory empty when it fails.

    Source: CheckpointPodRequest.output_path.
    """
    runtime.refusal(runtime.stub.CheckpointPod, pod.request(NO_SUCH_ID))

    assert list(pod.folder.iterdir()) == []


@requirement("CKP-12")
@takes_checkpoints
def test_the_containers_of_a_pod_are_frozen_together(runtime: Runtime, pod: CountingPod) -> None:
    """CheckpointPod MUST freeze all its containers at the same moment, so that their checkpoints are
    consistent.

    Source: CheckpointPod.
    """
    call = runtime.timed(runtime.stub.CheckpointPod, pod.request())

    pod.wait_for_progress()
    window = (call.started_ns, call.ended_ns)
    first, second = (pauses(container, window) for container in pod.containers)
    assert [
        # two intervals that overlap
        (one, other)
        for one in first
        for other in second
        if max(one[0], other[0]) < min(one[1], other[1])
    ]


@requirement("CKP-12")
@takes_checkpoints
def test_a_pod_continues_when_its_checkpoint_exceeds_the_deadline(runtime: Runtime, pod: CountingPod) -> None:
    """CheckpointPod MUST leave the containers running when its deadline is exceeded before the checkpoint is
    taken.

    Source: CheckpointPod.
    """
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        # 50 ms are less than a checkpoint takes, see PAUSE_NS
        runtime.stub.CheckpointPod(pod.request(), timeout=0.05)

    pod.wait_for_progress()


@pytest.fixture
def without_deadline(runtime: Runtime) -> Callable[[cri.CheckpointPodRequest], str]:
    """Calls CheckpointPod without a deadline, and returns how the call ended."""

    def call(request: cri.CheckpointPodRequest) -> str:
        # a channel of its own: the suite sets a deadline for every call on its channels
        with contextlib.closing(open_channel(runtime.connection.endpoint)) as channel:
            pending = cri_grpc.RuntimeServiceStub(channel).CheckpointPod.future(request)
            try:
                pending.result(timeout=UNLIMITED_SECONDS * runtime.scale)
            except grpc.FutureTimeoutError:
                pending.cancel()
                return "is not over in time"
            except grpc.RpcError as error:
                return f"fails with {refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED).name}"
        return "succeeds"

    return call


@requirement("CKP-13/form")
@takes_checkpoints
def test_a_checkpoint_of_a_pod_without_a_deadline(
    pod: CountingPod,
    without_deadline: Callable[[cri.CheckpointPodRequest], str],
    record_variant: RecordVariant,
) -> None:
    """CheckpointPod without a deadline MAY succeed or fail, but it does not hang.

    Source: CheckpointPod; callers must set a deadline.
    """
    form = without_deadline(pod.request())

    record_variant(form)
    assert form != "is not over in time"


@requirement("CKP-13/not-frozen")
@takes_checkpoints
def test_a_pod_continues_after_a_checkpoint_without_a_deadline(
    pod: CountingPod, without_deadline: Callable[[cri.CheckpointPodRequest], str]
) -> None:
    """CheckpointPod without a deadline MUST leave the containers running, whether it succeeds or fails.

    Source: CheckpointPod; callers must set a deadline.
    """
    without_deadline(pod.request())

    pod.wait_for_progress()
