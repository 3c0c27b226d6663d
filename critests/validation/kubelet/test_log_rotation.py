"""K8S: how the kubelet rotates the log of a container while a client follows it."""

from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.testing import Container, Runtime, requirement
from critests.validation.kubelet.log_following import Follower, Rotation
from critests.validation.kubelet.pods import KubeletPod

COUNTING = "i=0; while :; do i=$((i + 1)); echo $i; usleep 5000; done"


@pytest.fixture
def counting(pod: KubeletPod) -> Container:
    """A container that prints the numbers from 1; its log has some of them already."""
    container = pod.run(pod.start(), "app", script=COUNTING)
    container.wait_for_log("5")
    return container


@pytest.fixture
def rotation(counting: Container) -> Rotation:
    """Rotates the log of that container."""
    return Rotation(counting.log_path)


@pytest.fixture
def follower(counting: Container) -> Iterator[Follower]:
    """Follows the log of that container from its beginning."""
    opened = Follower(counting.log_path)
    opened.look()
    yield opened
    opened.close()


@requirement("K8S-10")
def test_a_follower_reads_every_line_across_rotations(
    runtime: Runtime, counting: Container, rotation: Rotation, follower: Follower
) -> None:
    """ReopenContainerLog MUST lose and duplicate no line, neither for a client that follows the log nor in
    the rotated files, while the kubelet renames and compresses logs.

    Source: ReopenContainerLog; how the kubelet rotates logs.
    """
    for _ in range(3):
        rotation.rename()
        runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=counting.id))
        rotation.compress()
        runtime.eventually("a new file at the path of the log", counting.log_path.exists)
        follower.grows(runtime)
    counting.kill()
    counting.exited()
    # waits until the log is complete
    counting.log()

    followed = [int(line) for line in follower.look()]
    assert followed == list(range(1, len(followed) + 1))
    assert [int(line) for line in rotation.lines()] == followed
