"""CKP: CheckpointContainer, which saves the state of a running container, and restoring from its archive."""

import time
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    NO_SUCH_ID,
    Capability,
    Containers,
    ImageName,
    RecordVariant,
    Runtime,
    Sandboxes,
    may_be_refused,
    must_be_refused,
    refused_with,
    requirement,
    requires,
    setting_up,
    unsupported,
)
from critests.validation.containers.counting import COUNT, CountingContainer

needs_checkpoints = requires(Capability.CHECKPOINT, Capability.CRIU, Capability.SAME_HOST)
"""For tests that take checkpoints and read the archive."""


@pytest.fixture
def counter(runtime: Runtime, containers: Containers, host_folder: Path) -> CountingContainer:
    """A running container that counts."""
    # it has counted before the checkpoint: a process that starts anew would begin with 1
    container = containers.running(script=COUNT, wait_for_log="3")
    return CountingContainer(runtime, container, host_folder / "checkpoint.tar")


@requirement("CKP-01")
@needs_checkpoints
def test_a_checkpoint_is_an_archive_and_the_container_continues(
    runtime: Runtime, counter: CountingContainer
) -> None:
    """CheckpointContainer MUST write an archive to the requested location, and the container MUST continue to
    run as the same process.

    Source: CheckpointContainerRequest.location.
    """
    before = counter.container.status()

    runtime.stub.CheckpointContainer(counter.request())

    assert counter.archive.exists()
    assert counter.archive.stat().st_size > 0
    counter.wait_for_progress()
    after = counter.container.status()
    assert (after.state, after.started_at) == (cri.CONTAINER_RUNNING, before.started_at)
    # a process that was started anew would have printed 1 again
    printed = counter.numbers()
    assert printed == list(range(1, len(printed) + 1))


@requirement("CKP-02/timeout")
@needs_checkpoints
def test_a_timeout_bounds_a_checkpoint(runtime: Runtime, counter: CountingContainer) -> None:
    """CheckpointContainer with a timeout SHOULD return within that time, with success or an error.

    Source: CheckpointContainerRequest.timeout.
    """
    request = counter.request(timeout=1)

    def attempt(request: cri.CheckpointContainerRequest, timeout: float | None) -> None:
        with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
            runtime.stub.CheckpointContainer(request, timeout=timeout)

    call = runtime.timed(attempt, request)

    # the timeout, and a margin for a busy machine
    assert call.seconds < 1 + 5 * runtime.scale


@requirement("CKP-02/timeout")
@needs_checkpoints
def test_checkpoint_timeout_of_zero_means_the_default(runtime: Runtime, counter: CountingContainer) -> None:
    """CheckpointContainer with the timeout 0 SHOULD use the runtime's default timeout, and succeed.

    Source: CheckpointContainerRequest.timeout.
    """
    runtime.stub.CheckpointContainer(counter.request(timeout=0))

    assert counter.archive.exists()


@requirement("CKP-02/negative")
@needs_checkpoints
def test_a_negative_timeout_of_a_checkpoint(
    runtime: Runtime, counter: CountingContainer, record_variant: RecordVariant
) -> None:
    """CheckpointContainer with a negative timeout MAY fail or succeed; the container continues to run.

    Source: CheckpointContainerRequest.timeout; the CRI does not state what a negative timeout means.
    """
    try:
        runtime.stub.CheckpointContainer(counter.request(timeout=-1))
        record_variant("succeeds")
    except grpc.RpcError as error:
        record_variant(f"fails with {refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED).name}")

    counter.wait_for_progress()


@requirement("CKP-03")
@requires(Capability.CHECKPOINT)
def test_a_checkpoint_of_an_unknown_container_is_refused(runtime: Runtime, host_folder: Path) -> None:
    """CheckpointContainer MUST fail for an unknown container id, and write nothing.

    Source: CheckpointContainerRequest.container_id.
    """
    archive = host_folder / "checkpoint.tar"

    runtime.refusal(
        runtime.stub.CheckpointContainer,
        cri.CheckpointContainerRequest(container_id=NO_SUCH_ID, location=str(archive)),
    )

    assert not archive.exists()


@requirement("CKP-03")
@requires(Capability.CHECKPOINT)
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "exited"])
def test_a_checkpoint_of_a_container_that_does_not_run_is_refused(
    runtime: Runtime, containers: Containers, host_folder: Path, state: "cri.ContainerState"
) -> None:
    """CheckpointContainer MUST fail for a container that does not run, and leave it unchanged.

    Source: CheckpointContainer, which saves a running container.
    """
    archive = host_folder / "archive"
    request = cri.CheckpointContainerRequest(
        container_id=containers.in_state(state).id, location=str(archive)
    )

    runtime.refusal(runtime.stub.CheckpointContainer, request)

    assert not archive.exists()


@requirement("CKP-04/unwritable")
@needs_checkpoints
@pytest.mark.parametrize(
    "place", ["missing/checkpoint.tar", "file/checkpoint.tar"], ids=["missing", "a file"]
)
def test_a_checkpoint_that_cannot_be_written_fails(
    runtime: Runtime, counter: CountingContainer, host_folder: Path, place: str
) -> None:
    """CheckpointContainer SHOULD fail if the directory of the archive does not exist or is a file, and the
    container SHOULD continue to run.

    Source: CheckpointContainerRequest.location; the kubelet creates the directory before the call.
    """
    (host_folder / "file").touch()
    request = counter.request()
    request.location = str(host_folder / place)

    runtime.refusal(runtime.stub.CheckpointContainer, request)

    assert not (host_folder / "missing").exists()
    counter.wait_for_progress()


@requirement("CKP-04/existing")
@needs_checkpoints
def test_a_checkpoint_to_an_existing_file(
    runtime: Runtime, counter: CountingContainer, record_variant: RecordVariant
) -> None:
    """CheckpointContainer MAY replace an existing file or fail; the container continues to run.

    Source: CheckpointContainerRequest.location; not stated by the CRI.
    """
    counter.archive.write_text("earlier", encoding="utf-8")

    try:
        runtime.stub.CheckpointContainer(counter.request())
        record_variant(
            "it is replaced" if counter.archive.read_bytes() != b"earlier" else "it is left unchanged"
        )
    except grpc.RpcError as error:
        record_variant(f"fails with {refused_with(error).name}")

    counter.wait_for_progress()


@requirement("CKP-05")
@needs_checkpoints
def test_a_checkpoint_is_readable_by_root_only(runtime: Runtime, counter: CountingContainer) -> None:
    """The archive of CheckpointContainer SHOULD be readable by root only, as the memory may hold secrets.

    Source: KEP-2008.
    """
    runtime.stub.CheckpointContainer(counter.request())

    assert counter.archive.exists()
    archive = counter.archive.stat()
    assert (archive.st_uid, oct(archive.st_mode & 0o077)) == (0, "0o0")


@requirement("CKP-06")
def test_an_unsupported_checkpoint_leaves_the_container_running(
    runtime: Runtime, counter: CountingContainer
) -> None:
    """CheckpointContainer MUST fail with a message if it is disabled or not implemented, MUST write nothing,
    and the container MUST continue to run.

    Source: CheckpointContainer.
    """
    if runtime.has(Capability.CHECKPOINT):
        unsupported("the runtime takes checkpoints")

    with must_be_refused(grpc.StatusCode.UNIMPLEMENTED) as refusal:
        runtime.stub.CheckpointContainer(counter.request())

    assert refusal.words != ""
    assert not counter.archive.exists()
    counter.wait_for_progress()


@requirement("CKP-07")
@requires(Capability.CHECKPOINT, Capability.CRIU, Capability.CHECKPOINT_IMAGES, Capability.SAME_HOST)
def test_a_container_continues_from_a_checkpoint(
    runtime: Runtime, containers: Containers, counter: CountingContainer
) -> None:
    """CreateContainer with a checkpoint archive as its image MUST restore the memory of the process.

    Source: ImageSpec.image, as far as a runtime accepts the path of an archive there.
    """
    # it counts on until the checkpoint, so the first number after the restore is larger
    before = len(counter.numbers())
    with setting_up():
        runtime.stub.CheckpointContainer(counter.request())
    counter.container.kill()

    before_restore = time.time_ns()
    # the path of the archive takes the place of the image
    image = ImageName(str(counter.archive), str(counter.archive))
    restored = replace(counter, container=containers.attempt(containers.config(image=image, script=COUNT)))

    restored.wait_for_progress()
    # a runtime may first copy the log of the checkpointed container
    printed = restored.numbers(since_ns=before_restore)
    assert printed[0] > before
    assert printed == list(range(printed[0], printed[0] + len(printed)))


@requirement("CKP-07")
@requires(Capability.CHECKPOINT, Capability.CRIU, Capability.CHECKPOINT_IMAGES, Capability.SAME_HOST)
def test_a_container_is_restored_in_another_pod(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, host_folder: Path
) -> None:
    """A container that is restored from a checkpoint archive MUST be in the pod of the request, with name,
    labels and annotations of the request and the user of the checkpoint, also if the old pod is removed.

    Source: CreateContainerRequest.pod_sandbox_id and config, as far as a runtime accepts the path of an
    archive as the image.
    """
    user = cri.LinuxContainerSecurityContext(run_as_user=cri.Int64Value(value=1000))
    old = sandboxes.ready()
    container = containers.running(
        in_sandbox=old, script=COUNT, wait_for_log="3", labels={"of": "old"}, security_context=user
    )
    counter = CountingContainer(runtime, container, host_folder / "checkpoint.tar")
    with setting_up():
        runtime.stub.CheckpointContainer(counter.request())
        old.discard()
    pod = sandboxes.ready()
    image = ImageName(str(counter.archive), str(counter.archive))
    config = containers.config(
        image=image,
        script=COUNT,
        labels={"of": "new"},
        annotations={"critests.example/of": "new"},
        security_context=user,
    )

    restored = containers.attempt(config, in_sandbox=pod)

    entry = restored.entry()
    assert entry.pod_sandbox_id == pod.id
    assert (entry.metadata, entry.labels["of"]) == (config.metadata, "new")
    assert entry.annotations["critests.example/of"] == "new"
    assert restored.process_status().uids == (1000,) * 4
