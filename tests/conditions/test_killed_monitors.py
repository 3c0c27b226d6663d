"""Which processes are killed as shims and monitors."""

import shutil
import subprocess
from pathlib import Path

import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.conditions.killed_monitors import MonitorDraws, kill_monitors, pod_of


def test_only_monitors_of_the_pod_are_killed(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    started = {}
    for name, pod in (("conmon", "11.25"), ("containerd-shim-runc-v2", "12.25"), ("sleep", "11.25")):
        program = tmp_path / name
        program.symlink_to(sleep)
        # its argument stands for the id, which no other process of the machine has
        started[name] = subprocess.Popen([str(program), f"1{tmp_path.stat().st_ino}{pod}"])
    try:
        assert kill_monitors([f"1{tmp_path.stat().st_ino}11.25", "absent-from-this-machine"]) == 1

        assert started["conmon"].wait(10) == -9
        assert [name for name, process in started.items() if process.poll() is None] == [
            "containerd-shim-runc-v2",
            "sleep",
        ]
    finally:
        for process in started.values():
            process.kill()
            process.wait()


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
