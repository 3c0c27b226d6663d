"""SBX: making a sandbox, making it again, and what can be made in it."""

import os
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers, lingering
from critests.fixtures.runtime import Runtime, may_be_refused, must_be_refused, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires
from critests.run.outcomes import blocked

IMPOSSIBLE_SYSCTLS = {"net.critests.there_is_no_such_switch": "1"}
"""A pod with these cannot come to life: the name is one that pods may set, but the kernel has no such
switch.
"""


def run_in_vain(runtime: Runtime, config: cri.PodSandboxConfig) -> None:
    """Let RunPodSandbox fail with an impossible sysctl; where it does not, nothing can be said about
    failures.
    """
    impossible = cri.PodSandboxConfig()
    impossible.CopyFrom(config)
    impossible.linux.sysctls.update(IMPOSSIBLE_SYSCTLS)
    with may_be_refused():
        answer = runtime.stub.RunPodSandbox(
            cri.RunPodSandboxRequest(config=impossible, runtime_handler=runtime.handler)
        )
        blocked(
            "nothing is known that makes RunPodSandbox fail: with an impossible sysctl it made"
            f" {answer.pod_sandbox_id}"
        )


@requirement("SBX-01")
def test_run_pod_sandbox_returns_a_ready_sandbox(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST return only when the sandbox is ready.

    Source: RunPodSandbox, PodSandboxStatus.state.
    """
    config = sandboxes.config()

    answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    assert sandboxes.adopt(answer.pod_sandbox_id, config).state() == cri.SANDBOX_READY


@requirement("SBX-02")
@requires(Capability.SHARED_PROCESSES)
def test_run_pod_sandbox_takes_the_least_that_a_pod_can_say(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST work with metadata, hostname, log directory and a Linux part that names no more than
    the pod's cgroup.

    Source: PodSandboxConfig. The cgroup is named because no kubelet leaves it out; the label says whose pod
    it is.
    """
    config = sandboxes.config()
    least = cri.PodSandboxConfig(
        metadata=config.metadata,
        hostname=config.hostname,
        log_directory=config.log_directory,
        labels=config.labels,
        linux=cri.LinuxPodSandboxConfig(cgroup_parent=config.linux.cgroup_parent),
    )

    answer = runtime.stub.RunPodSandbox(sandboxes.creation(least))

    sandboxes.adopt(answer.pod_sandbox_id, least)
    listed = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=answer.pod_sandbox_id))
    ).items
    assert [(item.id, item.state) for item in listed] == [(answer.pod_sandbox_id, cri.SANDBOX_READY)]


@requirement("SBX-05/never-two")
def test_one_identity_never_has_two_live_sandboxes(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """A second RunPodSandbox with the metadata of a live sandbox MUST NOT make a second live one.

    Source: PodSandboxMetadata, which identifies a sandbox.
    """
    config = sandboxes.marked_config()
    request = sandboxes.creation(config)
    first = sandboxes.adopt(runtime.stub.RunPodSandbox(request).pod_sandbox_id, config)

    with may_be_refused():
        sandboxes.adopt(runtime.stub.RunPodSandbox(request).pod_sandbox_id, config)

    assert [item.id for item in sandboxes.made_from(config) if item.state == cri.SANDBOX_READY] == [first.id]


@requirement("SBX-05/form")
def test_second_run_of_one_identity_is_answered(
    runtime: Runtime, sandboxes: Sandboxes, observe: Observe
) -> None:
    """A second RunPodSandbox with the metadata of a live sandbox MAY be refused or be answered with the id of
    the first.

    Source: PodSandboxMetadata; runtimes differ.
    """
    config = sandboxes.config()
    request = sandboxes.creation(config)
    first = sandboxes.adopt(runtime.stub.RunPodSandbox(request).pod_sandbox_id, config)

    try:
        second = runtime.stub.RunPodSandbox(request).pod_sandbox_id
    except grpc.RpcError as error:
        observe(f"refuses with {refused_with(error).name}")
        return

    sandboxes.adopt(second, config)
    observe("answers with the id of the first")
    assert second == first.id


@requirement("SBX-06")
def test_next_attempt_of_a_pod_lives_beside_the_first(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """Two sandboxes that differ in nothing but the attempt MUST coexist.

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
def test_sandboxes_of_one_name_live_side_by_side(
    runtime: Runtime, sandboxes: Sandboxes, differs: str
) -> None:
    """Two sandboxes of the same name that differ in nothing but namespace or uid MUST coexist.

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
def test_identity_of_a_removed_sandbox_can_be_used_again(
    runtime: Runtime, own_sandbox: Sandbox, sandboxes: Sandboxes
) -> None:
    """The metadata of a removed sandbox MUST be free for a new one at once.

    Source: PodSandboxMetadata. Not stated by the CRI; a pod of a fixed name could not be started again.
    """
    config = own_sandbox.config
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    assert sandboxes.adopt(answer.pod_sandbox_id, config).state() == cri.SANDBOX_READY
    assert answer.pod_sandbox_id != own_sandbox.id


@requirement("SBX-09")
def test_identity_of_a_failed_sandbox_can_be_used_again(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """The metadata of a sandbox that could not be made MUST be free for the next try, once what the failure
    left is removed.

    Source: PodSandboxMetadata. Not stated by the CRI; a pod would be lost after one passing trouble.
    """
    config = sandboxes.marked_config()
    run_in_vain(runtime, config)
    for left in sandboxes.made_from(config):
        runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=left.id))

    answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    assert sandboxes.adopt(answer.pod_sandbox_id, config).state() == cri.SANDBOX_READY


@requirement("SBX-10")
def test_failed_run_leaves_at_most_what_can_be_removed(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """A RunPodSandbox that fails MUST leave nothing in the list but a sandbox that is not ready and can be
    removed.

    Source: RunPodSandbox, ListPodSandbox.
    """
    config = sandboxes.marked_config()
    run_in_vain(runtime, config)

    left = sandboxes.made_from(config)
    assert [item.id for item in left if item.state != cri.SANDBOX_NOTREADY] == []
    for item in left:
        runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=item.id))
    assert sandboxes.made_from(config) == []


@requirement("SBX-10")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_failed_run_leaves_no_cgroup(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """A RunPodSandbox that fails MUST NOT leave a cgroup below that of the pod.

    Source: LinuxPodSandboxConfig.cgroup_parent. The pod's own cgroup is the kubelet's to remove.
    """
    config = sandboxes.config()
    pod = Path(config.linux.cgroup_parent).name
    if not pod:
        blocked("the cgroup driver is not known, so that a pod's cgroup cannot be named")

    run_in_vain(runtime, config)

    # with cgroup v1 it has a directory in every hierarchy
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
def test_run_pod_sandbox_can_be_tried_again_after_a_deadline(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """After a RunPodSandbox that the client gave up, there MUST be one working sandbox: that one in the end,
    or the next.

    Source: RunPodSandbox. Not stated by the CRI; the kubelet looks, clears away what is not ready, and asks
    again until it has its pod.
    """
    config = sandboxes.marked_config()
    request = sandboxes.creation(config)
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        # long enough to reach the runtime, and too short for a pod
        runtime.stub.RunPodSandbox(request, timeout=0.03)

    def look_or_ask_again() -> str:
        mine = [item for item in sandboxes.made_from(config) if item.metadata == config.metadata]
        for item in mine:
            if item.state == cri.SANDBOX_READY:
                return item.id
            runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=item.id))
            runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=item.id))
        return runtime.stub.RunPodSandbox(request, timeout=runtime.one_try).pod_sandbox_id

    answered = runtime.until_answered("RunPodSandbox asked again", look_or_ask_again, seconds=60)
    made = sandboxes.adopt(answered, config).id
    assert [item.id for item in sandboxes.made_from(config) if item.state == cri.SANDBOX_READY] == [made]


@requirement("SBX-29")
def test_no_container_is_made_in_a_stopped_sandbox(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """CreateContainer in a sandbox that is not ready SHOULD fail.

    Source: CreateContainer. Not stated by the CRI; such a container could never be started.
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
    # what waits to become the container's process may ignore SIGTERM, and be given nearly all of the deadline
    runtime.until_answered("StopPodSandbox", lambda: runtime.stub.StopPodSandbox(stopping))

    with must_be_refused():
        container.start()

    assert container.state() != cri.CONTAINER_RUNNING
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
    listed = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=own_sandbox.id))
    ).containers
    assert list(listed) == []


@requirement("SBX-31")
def test_log_directory_outlives_the_sandbox(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox and RemovePodSandbox SHOULD leave the log directory and the logs in it alone.

    Source: PodSandboxConfig.log_directory. Not stated by the CRI; the kubelet made the directory and still
    reads it.
    """
    container = containers.exited(script=lingering("echo kept"), in_sandbox=own_sandbox)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert container.log_path.exists()
    assert container.log_lines() == ["kept"]


@requirement("SBX-32")
def test_missing_log_directory_is_no_obstacle(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A log directory that does not exist SHOULD be made, at the latest for the first container that logs
    there.

    Source: PodSandboxConfig.log_directory.
    """
    config = sandboxes.config()
    config.log_directory = str(Path(config.log_directory) / "missing")

    answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    home = sandboxes.adopt(answer.pod_sandbox_id, config)
    container = containers.created(first="echo logged", in_sandbox=home)
    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))
    assert container.wait_for_log("logged") == ["logged"]
