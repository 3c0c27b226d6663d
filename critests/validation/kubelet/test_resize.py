"""K8S: in-place resize of a pod: the kubelet writes the pod's cgroup, the runtime the containers'."""

import secrets
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    INSIDE,
    Capability,
    CgroupValues,
    Container,
    Runtime,
    Sandbox,
    blocked,
    cgroup_facts,
    first_process,
    folders_of_process,
    host_processes,
    may_be_refused,
    requirement,
    requires,
)
from critests.validation.kubelet.pods import KubeletPod

MIB = 1 << 20
SMALL, LARGE, LIMIT_OF_THE_POD = 64 * MIB, 128 * MIB, 256 * MIB
LIMIT_FILES = ("memory.limit_in_bytes", "memory.max")
"""The file with the memory limit in cgroup version 1, and in 2."""


@dataclass(frozen=True)
class LimitedPod:
    """A pod with one container that has a memory limit.

    Attributes:
        sandbox: the sandbox of the pod.
        container: the container.
        limit_file: the file with the limit of the pod's cgroup, which the kubelet writes.
    """

    sandbox: Sandbox
    container: Container
    limit_file: Path

    def limit_inside(self) -> int | None:
        """Return the memory limit that the container reads from its cgroup."""
        return CgroupValues.printed(self.container.output("/bin/sh", "-c", INSIDE)).memory


@pytest.fixture
def limited_pod(runtime: Runtime, pod: KubeletPod) -> LimitedPod:
    """A pod with a container with the limit `SMALL`, and the file with the limit of the pod's cgroup."""
    facts = cgroup_facts()
    if "memory" not in facts.controllers:
        blocked(
            f"needs the cgroup controller memory, which this machine (version {facts.version}) does not have"
        )
    sandbox = pod.start()
    mark = "sized-" + secrets.token_hex(8)
    container = pod.run(
        sandbox, "app", first=f": {mark}", resources=cri.LinuxContainerResources(memory_limit_in_bytes=SMALL)
    )
    runtime.eventually("the container's first process in the process table", lambda: host_processes(mark))
    name = PurePosixPath(sandbox.config.linux.cgroup_parent).name
    limit_files = [
        above / file
        for folder in folders_of_process(first_process(mark))
        # runtimes may put further levels between the cgroups of pod and container
        for above in folder.parents
        for file in LIMIT_FILES
        if name and above.name == name and (above / file).exists()
    ]
    if not limit_files:
        blocked("the cgroup of the pod is not found above its container's")
    return LimitedPod(sandbox, container, limit_files[0])


@requirement("K8S-08")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_pod_is_resized_in_place(runtime: Runtime, pod: KubeletPod, limited_pod: LimitedPod) -> None:
    """UpdateContainerResources MUST raise a container's memory limit without a restart after the kubelet has
    raised that of the pod's cgroup, ContainerStatus MUST report it, and the pod's limit MUST NOT change.

    Source: UpdateContainerResources, ContainerStatus.resources; what the kubelet does for an in-place resize.
    It sends the pod's new resources with UpdatePodSandboxResources, and ignores a runtime that does not
    have it.
    """
    before = limited_pod.container.status()

    # the kubelet raises the limit of the pod first, as it bounds those of its containers
    limited_pod.limit_file.write_text(str(LIMIT_OF_THE_POD), encoding="ascii")
    resources = cri.LinuxContainerResources(memory_limit_in_bytes=LARGE, oom_score_adj=1000)
    runtime.stub.UpdateContainerResources(
        cri.UpdateContainerResourcesRequest(container_id=limited_pod.container.id, linux=resources)
    )
    with may_be_refused(grpc.StatusCode.UNIMPLEMENTED):
        runtime.stub.UpdatePodSandboxResources(
            cri.UpdatePodSandboxResourcesRequest(
                pod_sandbox_id=limited_pod.sandbox.id,
                resources=cri.LinuxContainerResources(memory_limit_in_bytes=LIMIT_OF_THE_POD),
            )
        )

    after = limited_pod.container.status()
    assert limited_pod.limit_inside() == LARGE
    assert after.resources.linux.memory_limit_in_bytes == LARGE
    assert after.started_at == before.started_at
    assert int(limited_pod.limit_file.read_text(encoding="ascii")) == LIMIT_OF_THE_POD
    pod.await_states("app/0 RUNNING", "sandbox/0 READY")
