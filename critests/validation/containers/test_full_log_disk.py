"""LOG: a container that prints more than the file system of its log holds."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FOREVER,
    Container,
    Containers,
    HostMounts,
    Runtime,
    Sandbox,
    Sandboxes,
    requirement,
    unsupported,
)

DISK = "size=256k"
FLOOD = (
    "line=$(head -c 8000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 500 ]; do echo $line; i=$((i+1)); done"
)
"""Prints sixteen times the size of the disk, also more than all pipes and buffers hold, in long lines."""
# the default of terminationGracePeriodSeconds
GRACE_SECONDS = 30


@dataclass(frozen=True)
class SmallLogDisk:
    """A READY sandbox whose log directory is on a small disk.

    Attributes:
        pod: the sandbox.
        containers: creates its containers.
    """

    pod: Sandbox
    containers: Containers

    def running(self, script: str) -> Container:
        """Run a container in the sandbox; unsupported if its log is a link to another disk."""
        container = self.containers.running(in_sandbox=self.pod, script=script)
        log = container.log_path
        if log.is_symlink() and log.stat().st_dev != Path(self.pod.log_directory).stat().st_dev:
            unsupported(f"logs in the directory of the pod: the log is a link to {log.readlink()}")
        return container

    def is_full(self) -> bool:
        """Return whether the disk has no space left."""
        return os.statvfs(self.pod.log_directory).f_bavail == 0


@pytest.fixture
def small_log_disk(
    sandboxes: Sandboxes, containers: Containers, host_mounts: HostMounts, host_folder: Path
) -> SmallLogDisk:
    """A READY sandbox whose log directory is on a small disk."""
    config = sandboxes.config()
    config.log_directory = str(host_mounts.tmpfs(host_folder / "logs", DISK))
    return SmallLogDisk(sandboxes.ready(config), containers)


@requirement("LOG-31/serves")
def test_container_whose_log_disk_is_full_can_be_used_and_stopped(
    runtime: Runtime, small_log_disk: SmallLogDisk
) -> None:
    """A container whose output fills the disk of its log MUST accept ExecSync, and StopContainer MUST grant
    it the grace period.

    Source: ExecSync, StopContainerRequest.timeout. Not stated by the CRI for this case; the kubelet frees the
    space.
    """
    # the flood is in the background, so that a blocked write does not keep the shell from its trap
    container = small_log_disk.running(f"trap 'exit 7' TERM; ({FLOOD}) & {FOREVER}")
    runtime.eventually("the disk of the log to be full", small_log_disk.is_full)

    printed = runtime.stub.ExecSync(container.exec_request("echo", "alive")).stdout
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=GRACE_SECONDS))

    assert printed == b"alive\n"
    assert container.status().exit_code == 7


@requirement("LOG-31/ends")
def test_container_whose_log_disk_is_full_exits(runtime: Runtime, small_log_disk: SmallLogDisk) -> None:
    """A container whose output fills the disk of its log SHOULD exit in the end, and ContainerStatus SHOULD
    report the exit code of its process.

    Source: ContainerStatus.exit_code. Not stated by the CRI for this case: the runtime may lose output or
    block the process for a while.
    """
    container = small_log_disk.running(f"{FLOOD}; exit 7")

    runtime.eventually(
        "the exit of the process", container.state, holds=lambda state: state == cri.CONTAINER_EXITED
    )

    assert container.status().exit_code == 7


@requirement("LOG-31/after")
def test_log_continues_once_there_is_space(runtime: Runtime, small_log_disk: SmallLogDisk) -> None:
    """ReopenContainerLog SHOULD continue the log in a new file after the old one was removed from a full
    disk.

    Source: ReopenContainerLog. Not stated by the CRI for this case; the kubelet rotates logs that are too
    large.
    """
    container = small_log_disk.running(f"{FLOOD}; touch /done; while :; do echo later; sleep 0.1; done")
    # the rest of the flood would fill the disk again
    runtime.eventually("the end of the flood", lambda: container.exec("ls", "/done").exit_code == 0)
    # the kernel frees the space once the runtime has closed the file, too
    container.written_log.unlink()

    runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container.id))

    runtime.eventually("later output in the log", container.log_lines, holds=lambda lines: "later" in lines)
