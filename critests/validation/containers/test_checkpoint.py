"""CKP: CheckpointContainer, which saves the state of a container that runs, and what is made of it."""

import time
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, may_be_refused, must_be_refused, refused_with
from critests.fixtures.session import Observe
from critests.lifecycle.requests import ImageName
from critests.node.capabilities import NO_SUCH_ID
from critests.run.marks import requirement, requires
from critests.run.outcomes import setting_up, unsupported
from critests.validation.containers.counting import COUNT, Counter

taken = requires(Capability.CHECKPOINT, Capability.CRIU, Capability.SAME_HOST)
"""A checkpoint can be taken, and what was written be looked at."""


@pytest.fixture
def counter(runtime: Runtime, containers: Containers, host_folder: Path) -> Counter:
    """A container that has begun to count."""
    container = containers.running(script=COUNT, wait_for_log="3")
    return Counter(runtime, container, host_folder / "checkpoint.tar")


@requirement("CKP-01")
@taken
def test_a_checkpoint_is_an_archive_of_a_container_that_runs_on(runtime: Runtime, counter: Counter) -> None:
    """CheckpointContainer MUST write an archive where it was told to, and leave the container running as the
    process that it is.

    Source: CheckpointContainerRequest.location.
    """
    before = counter.container.status()

    runtime.stub.CheckpointContainer(counter.request())

    assert counter.archive.exists()
    assert counter.archive.stat().st_size > 0
    counter.goes_on()
    after = counter.container.status()
    assert (after.state, after.started_at) == (cri.CONTAINER_RUNNING, before.started_at)
    seen = counter.numbers()
    assert seen == list(range(1, len(seen) + 1))


@requirement("CKP-02/timeout")
@taken
def test_a_timeout_bounds_a_checkpoint(runtime: Runtime, counter: Counter) -> None:
    """CheckpointContainer with a timeout SHOULD have ended by then, in success or with an error.

    Source: CheckpointContainerRequest.timeout.
    """
    request = counter.request(timeout=1)

    def attempt(request: cri.CheckpointContainerRequest, timeout: float | None) -> None:
        with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
            runtime.stub.CheckpointContainer(request, timeout=timeout)

    call = runtime.timed(attempt, request)

    assert call.seconds < 1 + 5 * runtime.scale


@requirement("CKP-02/timeout")
@taken
def test_no_timeout_of_a_checkpoint_is_not_no_time(runtime: Runtime, counter: Counter) -> None:
    """CheckpointContainer with the timeout 0 SHOULD take the time that the runtime gives it, and succeed.

    Source: CheckpointContainerRequest.timeout.
    """
    runtime.stub.CheckpointContainer(counter.request(timeout=0))

    assert counter.archive.exists()


@requirement("CKP-02/negative")
@taken
def test_a_negative_timeout_of_a_checkpoint(runtime: Runtime, counter: Counter, observe: Observe) -> None:
    """CheckpointContainer with a negative timeout MAY be refused or succeed, and the container runs on.

    Source: CheckpointContainerRequest.timeout; the CRI does not say what a negative one means.
    """
    try:
        runtime.stub.CheckpointContainer(counter.request(timeout=-1))
        observe("succeeds")
    except grpc.RpcError as error:
        observe(f"fails with {refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED).name}")

    counter.goes_on()


@requirement("CKP-03")
@requires(Capability.CHECKPOINT)
def test_a_checkpoint_of_an_unknown_container_is_refused(runtime: Runtime, host_folder: Path) -> None:
    """CheckpointContainer MUST fail for an id that no container has, and write nothing.

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
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "ended"])
def test_a_checkpoint_of_a_container_that_does_not_run_is_refused(
    runtime: Runtime, containers: Containers, host_folder: Path, state: "cri.ContainerState"
) -> None:
    """CheckpointContainer MUST fail for a container that does not run, and leave it as it is.

    Source: CheckpointContainer, which saves a running container.
    """
    archive = host_folder / "archive"
    request = cri.CheckpointContainerRequest(
        container_id=containers.in_state(state).id, location=str(archive)
    )

    runtime.refusal(runtime.stub.CheckpointContainer, request)

    assert not archive.exists()


@requirement("CKP-04/unwritable")
@taken
@pytest.mark.parametrize(
    "place", ["missing/checkpoint.tar", "file/checkpoint.tar"], ids=["missing", "a file"]
)
def test_a_checkpoint_that_cannot_be_written_fails(
    runtime: Runtime, counter: Counter, host_folder: Path, place: str
) -> None:
    """CheckpointContainer SHOULD fail where the directory of the archive is missing or is none, and the
    container SHOULD run on.

    Source: CheckpointContainerRequest.location; the kubelet makes the directory before.
    """
    (host_folder / "file").touch()
    request = counter.request()
    request.location = str(host_folder / place)

    runtime.refusal(runtime.stub.CheckpointContainer, request)

    assert not (host_folder / "missing").exists()
    counter.goes_on()


@requirement("CKP-04/existing")
@taken
def test_a_checkpoint_where_a_file_is(runtime: Runtime, counter: Counter, observe: Observe) -> None:
    """CheckpointContainer MAY replace a file that is there already, or fail; the container runs on.

    Source: CheckpointContainerRequest.location; the CRI does not say.
    """
    counter.archive.write_text("earlier", encoding="utf-8")

    try:
        runtime.stub.CheckpointContainer(counter.request())
        observe("it is replaced" if counter.archive.read_bytes() != b"earlier" else "it is kept")
    except grpc.RpcError as error:
        observe(f"fails with {refused_with(error).name}")

    counter.goes_on()


@requirement("CKP-05")
@taken
def test_a_checkpoint_is_for_its_owner_alone(runtime: Runtime, counter: Counter) -> None:
    """The archive SHOULD be readable for root alone, since what was in memory may be secret.

    Source: KEP-2008.
    """
    runtime.stub.CheckpointContainer(counter.request())

    assert counter.archive.exists()
    found = counter.archive.stat()
    assert (found.st_uid, oct(found.st_mode & 0o077)) == (0, "0o0")


@requirement("CKP-06")
def test_a_checkpoint_that_is_not_offered_leaves_the_container(runtime: Runtime, counter: Counter) -> None:
    """CheckpointContainer where it is switched off or missing MUST fail with a reason, write nothing and let
    the container run on.

    Source: CheckpointContainer.
    """
    if runtime.has(Capability.CHECKPOINT):
        unsupported("checkpoints are offered here")

    with must_be_refused(grpc.StatusCode.UNIMPLEMENTED) as refusal:
        runtime.stub.CheckpointContainer(counter.request())

    assert refusal.words != ""
    assert not counter.archive.exists()
    counter.goes_on()


@requirement("CKP-07")
@requires(Capability.CHECKPOINT, Capability.CRIU, Capability.CHECKPOINT_IMAGES, Capability.SAME_HOST)
def test_a_container_goes_on_from_a_checkpoint(
    runtime: Runtime, containers: Containers, counter: Counter
) -> None:
    """A container that is made from a checkpoint in place of an image MUST go on with what was in memory.

    Source: ImageSpec.image, as far as a runtime takes the path of an archive there.
    """
    before = len(counter.numbers())
    with setting_up():
        runtime.stub.CheckpointContainer(counter.request())
    counter.container.kill()

    begun = time.time_ns()
    image = ImageName(str(counter.archive), str(counter.archive))
    restored = replace(counter, container=containers.attempt(containers.config(image=image, script=COUNT)))

    restored.goes_on()
    # a runtime may put before it what stood in the log of the container that was saved
    seen = restored.numbers(since_ns=begun)
    assert seen[0] > before
    assert seen == list(range(seen[0], seen[0] + len(seen)))
