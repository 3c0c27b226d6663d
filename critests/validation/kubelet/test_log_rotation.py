"""K8S: how the kubelet rotates the log of a container that somebody follows."""

from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.runtime import Runtime
from critests.lifecycle.containers import Container
from critests.run.marks import requirement
from critests.validation.kubelet.log_following import Follower, Rotation
from critests.validation.kubelet.pods import Pod

COUNTING = "i=0; while :; do i=$((i + 1)); echo $i; usleep 5000; done"


@pytest.fixture
def counting(pod: Pod) -> Container:
    """A container that prints the numbers from 1; some stand in its log."""
    container = pod.run(pod.start(), "app", script=COUNTING)
    container.wait_for_log("5")
    return container


@pytest.fixture
def rotation(counting: Container) -> Rotation:
    """Moves the log of that container aside."""
    return Rotation(counting.log_path)


@pytest.fixture
def follower(counting: Container) -> Iterator[Follower]:
    """Follows the log of that container from its beginning."""
    opened = Follower(counting.log_path)
    opened.look()
    yield opened
    opened.close()


@requirement("K8S-10")
def test_a_follower_sees_every_line_over_rotations(
    runtime: Runtime, counting: Container, rotation: Rotation, follower: Follower
) -> None:
    """Whoever follows a log MUST see every line once, and the rotated files MUST hold every line once, while
    the kubelet moves the log aside, has it reopened and compresses what is old.

    Source: ReopenContainerLog; how the kubelet rotates logs.
    """
    for _ in range(3):
        rotation.move_aside()
        runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=counting.id))
        rotation.compress()
        runtime.eventually("a new file in the place of the log", counting.log_path.exists)
        follower.grows(runtime)
    counting.kill()
    counting.exited()
    counting.log()

    followed = [int(line) for line in follower.look()]
    assert followed == list(range(1, len(followed) + 1))
    assert [int(line) for line in rotation.lines()] == followed
