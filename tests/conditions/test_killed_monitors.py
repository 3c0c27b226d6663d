"""Which processes are killed as shims and monitors."""

from pathlib import Path

import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.conditions.killed_monitors import MonitorDraws, kill_monitors, pod_of
from tests.node.waiting_process import waiting_process


def test_only_monitors_of_the_pod_are_killed(tmp_path: Path) -> None:
    # paths that no other process of the machine names stand for the ids
    own, other = f"{tmp_path}/own", f"{tmp_path}/other"
    with (
        waiting_process("conmon", own) as monitor,
        waiting_process("containerd-shim-runc-v2", other) as shim,
        waiting_process("sleep", own) as neither,
    ):
        assert kill_monitors([own, "absent-from-this-machine"]) == 1

        assert monitor.wait(10) == -9
        assert shim.poll() is neither.poll() is None


@pytest.mark.parametrize(
    ("request_", "fewest", "most"),
    [
        (cri.StopPodSandboxRequest(), 400, 600),
        (cri.ExecSyncRequest(), 70, 130),
        (cri.CreateContainerRequest(), 70, 130),
        (cri.ListContainersRequest(), 0, 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_calls_about_a_pod_are_drawn_until_one_was(request_: Message, fewest: int, most: int) -> None:
    draws = MonitorDraws(1)
    assert not any(draws.is_due(request_) for _ in range(100))

    draws.test_begins("test")
    drawn = [draws.is_due(request_) for _ in range(1000)]
    draws.over()

    assert fewest <= sum(drawn) <= most
    assert not any(draws.is_due(request_) for _ in range(100))


@pytest.mark.parametrize(
    ("request_", "pod"),
    [
        (cri.PodSandboxStatusRequest(pod_sandbox_id="pod"), "pod"),
        (cri.StopContainerRequest(container_id="container"), "pod"),
        (cri.StopContainerRequest(container_id="another"), ""),
        (cri.StatusRequest(), ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_pod_of_a_call_is_the_one_that_it_names_or_that_of_its_container(
    request_: Message, pod: str
) -> None:
    assert pod_of(request_, [cri.Container(id="container", pod_sandbox_id="pod")]) == pod
