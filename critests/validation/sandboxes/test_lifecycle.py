"""SBX: creating sandboxes, also repeatedly and after failures, and containers in them."""

import os
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    blocked,
    lingering,
    may_be_refused,
    must_be_refused,
    refused_with,
    requirement,
    requires,
)

IMPOSSIBLE_SYSCTLS = {"net.critests.there_is_no_such_switch": "1"}
"""RunPodSandbox fails with these: pods may set names below `net.`, but the kernel does not have this one."""


def fail_to_run(runtime: Runtime, config: cri.PodSandboxConfig) -> None:
    """Let RunPodSandbox fail because of an impossible sysctl; block the test if it does not fail."""
    impossible = cri.PodSandboxConfig()
    impossible.CopyFrom(config)
    impossible.linux.sysctls.update(IMPOSSIBLE_SYSCTLS)
    with may_be_refused():
        response = runtime.stub.RunPodSandbox(
            cri.RunPodSandboxRequest(config=impossible, runtime_handler=runtime.handler)
        )
        blocked(
            "no way is known to make RunPodSandbox fail: with an impossible sysctl it created"
            f" {response.pod_sandbox_id}"
        )


@requirement("SBX-01")
def test_run_pod_sandbox_returns_a_ready_sandbox(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST return only once the sandbox is ready.

    Source: RunPodSandbox, PodSandboxStatus.state.
    """
    config = sandboxes.config()

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    assert sandboxes.adopt(response.pod_sandbox_id, config).state() == cri.SANDBOX_READY


@requirement("SBX-02")
@requires(Capability.SHARED_PROCESSES)
def test_run_pod_sandbox_accepts_a_minimal_configuration(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST accept a configuration with only metadata, hostname, log directory and cgroup.

    Source: PodSandboxConfig. Every kubelet sets the cgroup; the labels say which run the pod belongs to.
    """
    config = sandboxes.config()
    least = cri.PodSandboxConfig(
        metadata=config.metadata,
        hostname=config.hostname,
        log_directory=config.log_directory,
        labels=config.labels,
        linux=cri.LinuxPodSandboxConfig(cgroup_parent=config.linux.cgroup_parent),
    )

    response = runtime.stub.RunPodSandbox(sandboxes.creation(least))

    sandboxes.adopt(response.pod_sandbox_id, least)
    listed = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=response.pod_sandbox_id))
    ).items
    assert [(item.id, item.state) for item in listed] == [(response.pod_sandbox_id, cri.SANDBOX_READY)]


@requirement("SBX-05/never-two")
def test_two_ready_sandboxes_never_have_the_same_metadata(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox with the metadata of a ready sandbox MUST NOT create a second ready one.

    Source: PodSandboxMetadata, which identifies a sandbox.
    """
    config = sandboxes.marked_config()
    request = sandboxes.creation(config)
    first = sandboxes.adopt(runtime.stub.RunPodSandbox(request).pod_sandbox_id, config)

    with may_be_refused():
        sandboxes.adopt(runtime.stub.RunPodSandbox(request).pod_sandbox_id, config)

    assert [item.id for item in sandboxes.created_from(config) if item.state == cri.SANDBOX_READY] == [
        first.id
    ]


@requirement("SBX-05/form")
def test_form_of_a_second_run_with_the_same_metadata(
    runtime: Runtime, sandboxes: Sandboxes, record_variant: RecordVariant
) -> None:
    """RunPodSandbox with the metadata of a ready sandbox MAY be rejected or return the id of that sandbox.

    Source: PodSandboxMetadata; runtimes differ.
    """
    config = sandboxes.config()
    request = sandboxes.creation(config)
    first = sandboxes.adopt(runtime.stub.RunPodSandbox(request).pod_sandbox_id, config)

    try:
        second = runtime.stub.RunPodSandbox(request).pod_sandbox_id
    except grpc.RpcError as error:
        record_variant(f"refuses with {refused_with(error).name}")
        return

    sandboxes.adopt(second, config)
    record_variant("answers with the id of the first")
    assert second == first.id


@requirement("SBX-06")
def test_second_attempt_of_a_pod_coexists_with_the_first(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST create a second sandbox that differs from a ready one only in the attempt.

    Source: PodSandboxMetadata.attempt.
    """
    config = sandboxes.config()
    first = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    one = sandboxes.adopt(first.pod_sandbox_id, config)
    config.metadata.attempt += 1

    second = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    other = sandboxes.adopt(second.pod_sandbox_id, config)
    assert one.id != other.id
    assert (one.state(), other.state()) == (cri.SANDBOX_READY, cri.SANDBOX_READY)


@requirement("SBX-07")
@pytest.mark.parametrize("differs", ["namespace", "uid"])
def test_sandboxes_of_one_name_coexist(runtime: Runtime, sandboxes: Sandboxes, differs: str) -> None:
    """RunPodSandbox MUST create a second sandbox of the same name in another namespace or with another uid.

    Source: PodSandboxMetadata.
    """
    config = sandboxes.config()
    first = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    one = sandboxes.adopt(first.pod_sandbox_id, config)
    setattr(config.metadata, differs, f"{getattr(config.metadata, differs)}-other")

    second = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    other = sandboxes.adopt(second.pod_sandbox_id, config)
    assert one.id != other.id
    assert (one.state(), other.state()) == (cri.SANDBOX_READY, cri.SANDBOX_READY)


@requirement("SBX-08")
def test_metadata_of_a_removed_sandbox_can_be_used_again(
    runtime: Runtime, own_sandbox: Sandbox, sandboxes: Sandboxes
) -> None:
    """RunPodSandbox MUST accept the metadata of a removed sandbox immediately.

    Source: PodSandboxMetadata. Not stated by the CRI; otherwise a pod with a fixed name cannot start again.
    """
    config = own_sandbox.config
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    assert sandboxes.adopt(response.pod_sandbox_id, config).state() == cri.SANDBOX_READY
    assert response.pod_sandbox_id != own_sandbox.id


@requirement("SBX-09")
def test_metadata_of_a_failed_sandbox_can_be_used_again(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST accept the metadata of a failed attempt once what that attempt left is removed.

    Source: PodSandboxMetadata. Not stated by the CRI; otherwise a temporary failure would end a pod.
    """
    config = sandboxes.marked_config()
    fail_to_run(runtime, config)
    for left in sandboxes.created_from(config):
        runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=left.id))

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    assert sandboxes.adopt(response.pod_sandbox_id, config).state() == cri.SANDBOX_READY


@requirement("SBX-10")
def test_failed_run_leaves_at_most_what_can_be_removed(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox that fails MUST leave at most a sandbox that is listed as not ready and can be removed.

    Source: RunPodSandbox, ListPodSandbox.
    """
    config = sandboxes.marked_config()
    fail_to_run(runtime, config)

    left = sandboxes.created_from(config)
    assert [item.id for item in left if item.state != cri.SANDBOX_NOTREADY] == []
    for item in left:
        runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=item.id))
    assert sandboxes.created_from(config) == []


@requirement("SBX-10")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_failed_run_leaves_no_cgroup(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox that fails MUST NOT leave a cgroup below the pod's cgroup.

    Source: LinuxPodSandboxConfig.cgroup_parent. The kubelet removes the pod's own cgroup.
    """
    config = sandboxes.config()
    pod = Path(config.linux.cgroup_parent).name
    if not pod:
        blocked("the cgroup driver is not known, so that a pod's cgroup cannot be named")

    fail_to_run(runtime, config)

    # with cgroup v1 the pod has a directory in every hierarchy
    runtime.eventually(
        "the pod's cgroups to be empty",
        lambda: [
            f"{path}: {inside}"
            for path, inside, _ in os.walk("/sys/fs/cgroup")
            if Path(path).name == pod and inside
        ],
        seconds=10,
        holds=lambda left: not left,
    )


@requirement("SBX-11")
@pytest.mark.usefixtures("sandbox")
def test_run_pod_sandbox_can_be_repeated_after_a_deadline(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST lead to one working sandbox after the client has cancelled a first call: either that
    of the first call or that of a later one.

    Source: RunPodSandbox. Not stated by the CRI; the kubelet lists sandboxes, removes those that are not
    ready, and calls again until it has its pod.
    """
    config = sandboxes.marked_config()
    request = sandboxes.creation(config)
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        # 30 ms: long enough to reach the runtime, too short to create a pod
        runtime.stub.RunPodSandbox(request, timeout=0.03)

    def list_or_run_again() -> str:
        listed = [item for item in sandboxes.created_from(config) if item.metadata == config.metadata]
        for item in listed:
            if item.state == cri.SANDBOX_READY:
                return item.id
            runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=item.id))
            runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=item.id))
        return runtime.stub.RunPodSandbox(request, timeout=runtime.one_try).pod_sandbox_id

    # the first call may still be in progress, and reserve the name until it ends
    answered = runtime.retry_until_ok("RunPodSandbox called again", list_or_run_again, seconds=60)
    ready = sandboxes.adopt(answered, config).id
    assert [item.id for item in sandboxes.created_from(config) if item.state == cri.SANDBOX_READY] == [ready]


@requirement("SBX-29")
def test_no_container_is_created_in_a_stopped_sandbox(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """CreateContainer in a sandbox that is not ready SHOULD fail.

    Source: CreateContainer. Not stated by the CRI; such a container can never start.
    """
    stopped = sandboxes.in_state(cri.SANDBOX_NOTREADY)

    runtime.refusal(runtime.stub.CreateContainer, containers.creation(containers.config(), stopped))


@requirement("SBX-30")
def test_no_container_starts_in_a_stopped_sandbox(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StartContainer in a stopped sandbox MUST fail, and the container MUST be removable.

    Source: StartContainer, RemoveContainer.
    """
    container = containers.created(in_sandbox=own_sandbox)
    stopping = cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id)
    # before the start, the OCI runtime's init process may ignore SIGTERM, and get nearly all of the deadline
    runtime.retry_until_ok("StopPodSandbox", lambda: runtime.stub.StopPodSandbox(stopping))

    with must_be_refused():
        container.start()

    assert container.state() != cri.CONTAINER_RUNNING
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
    listed = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=own_sandbox.id))
    ).containers
    assert list(listed) == []


@requirement("SBX-31")
def test_log_directory_is_preserved_after_the_sandbox(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox and RemovePodSandbox SHOULD NOT change the log directory and the logs in it.

    Source: PodSandboxConfig.log_directory. Not stated by the CRI; the kubelet creates the directory and reads
    the logs later.
    """
    container = containers.exited(script=lingering("echo logged"), in_sandbox=own_sandbox)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert container.log_path.exists()
    assert container.log_lines() == ["logged"]


@requirement("SBX-32")
def test_missing_log_directory_is_created(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A log directory that does not exist SHOULD be created, at the latest for the first container that logs
    to it.

    Source: PodSandboxConfig.log_directory.
    """
    config = sandboxes.config()
    # only the last directory of the path is missing
    config.log_directory = str(Path(config.log_directory) / "missing")

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    sandbox = sandboxes.adopt(response.pod_sandbox_id, config)
    container = containers.created(first="echo logged", in_sandbox=sandbox)
    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))
    assert container.wait_for_log("logged") == ["logged"]
