"""LOG: a container that prints more than the disk of its log holds."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.containers import FOREVER, Containers
from critests.fixtures.host_mounts import HostMounts
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement
from critests.run.outcomes import unsupported

DISK = "size=256k"
FLOOD = (
    "line=$(head -c 8000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 500 ]; do echo $line; i=$((i+1)); done"
)
"""Prints sixteen times what the disk holds, more than every pipe and buffer on the way, in few lines."""
GRACE_SECONDS = 30


@dataclass(frozen=True)
class Cramped:
    """A READY sandbox whose logs go to a disk that is soon full.

    Attributes:
        pod: it.
        containers: makes containers.
    """

    pod: Sandbox
    containers: Containers

    def running(self, script: str) -> Container:
        """Make a container in it and start it; unsupported where its log leads to another disk."""
        container = self.containers.running(in_sandbox=self.pod, script=script)
        log = container.log_path
        if log.is_symlink() and log.stat().st_dev != Path(self.pod.log_directory).stat().st_dev:
            unsupported(f"logs in the directory of the pod: a log is a link, which leads to {log.readlink()}")
        return container

    def is_full(self) -> bool:
        """Say whether nothing more can be written to a log."""
        return os.statvfs(self.pod.log_directory).f_bavail == 0


@pytest.fixture
def cramped(
    sandboxes: Sandboxes, containers: Containers, host_mounts: HostMounts, host_folder: Path
) -> Cramped:
    """A READY sandbox whose logs go to a disk that is soon full."""
    config = sandboxes.config()
    config.log_directory = str(host_mounts.tmpfs(host_folder / "logs", DISK))
    return Cramped(sandboxes.ready(config), containers)


@requirement("LOG-31/serves")
def test_container_whose_log_disk_is_full_can_be_used_and_stopped(runtime: Runtime, cramped: Cramped) -> None:
    """A container whose output fills the disk of its log MUST take commands, and MUST be given its time to
    handle the stop signal.

    Source: ExecSync, StopContainerRequest.timeout. Not stated by the CRI for this case; who clears up is the
    kubelet.
    """
    container = cramped.running(f"trap 'exit 7' TERM; ({FLOOD}) & {FOREVER}")
    runtime.eventually("the disk of the log to be full", cramped.is_full)

    said = runtime.stub.ExecSync(container.exec_request("echo", "said")).stdout
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=GRACE_SECONDS))

    assert said == b"said\n"
    assert container.status().exit_code == 7


@requirement("LOG-31/ends")
def test_container_whose_log_disk_is_full_comes_to_its_own_end(runtime: Runtime, cramped: Cramped) -> None:
    """A process whose output fills the disk of its log SHOULD NOT be held up for ever, and its own exit code
    SHOULD be told.

    Source: ContainerStatus.exit_code. Not stated by the CRI for this case: output may be lost, or hold up the
    process.
    """
    container = cramped.running(f"{FLOOD}; exit 7")

    runtime.eventually(
        "the end of the process", container.state, holds=lambda state: state == cri.CONTAINER_EXITED
    )

    assert container.status().exit_code == 7


@requirement("LOG-31/after")
def test_log_goes_on_once_there_is_space(runtime: Runtime, cramped: Cramped) -> None:
    """When the log was on a full disk, has been removed and is opened again, what the container prints then
    SHOULD be in it.

    Source: ReopenContainerLog. Not stated by the CRI for this case; the kubelet rotates logs that are too
    large.
    """
    container = cramped.running(f"{FLOOD}; touch /over; while :; do echo later; sleep 0.1; done")
    # what it prints before would fill the disk once more
    runtime.eventually("the end of the flood", lambda: container.exec("ls", "/over").exit_code == 0)
    container.written_log.unlink()

    runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container.id))

    runtime.eventually("what is printed now", container.log_lines, holds=lambda lines: "later" in lines)
