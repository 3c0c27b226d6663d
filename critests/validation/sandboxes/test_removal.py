"""SBX: RemovePodSandbox, and that it leaves nothing."""

from collections.abc import Callable
from functools import partial

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    OwnRuntime,
    Runtime,
    Sandbox,
    Sandboxes,
    blocked,
    disruptive,
    may_be_refused,
    mount_table,
    not_under,
    remains_of,
    requirement,
    requires,
    unsupported,
)

Listed = Callable[[Sandbox], list[str]]

CANCELLED_CALLS = 8
"""Spread evenly over the time that a removal takes, so that they interrupt each of its longer steps."""


@pytest.fixture
def listed(runtime: Runtime) -> Listed:
    """Return a function that finds everything of a sandbox in the two lists: its id and those of its
    containers.
    """

    def look(sandbox: Sandbox) -> list[str]:
        sandboxes = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
        containers = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
        ids = [item.id for item in sandboxes if item.id == sandbox.id]
        return ids + [item.id for item in containers if item.pod_sandbox_id == sandbox.id]

    return look


@requirement("SBX-21")
def test_remove_pod_sandbox_removes_it_from_the_lists(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, listed: Listed
) -> None:
    """RemovePodSandbox MUST remove the sandbox and all its containers from the lists.

    Source: RemovePodSandbox.
    """
    containers.exited(in_sandbox=own_sandbox)
    containers.created(in_sandbox=own_sandbox)
    own_sandbox.stop()
    before = listed(own_sandbox)

    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert sorted(before) == sorted([own_sandbox.id, *own_sandbox.container_ids])
    assert listed(own_sandbox) == []


@requirement("SBX-22/removed")
def test_remove_pod_sandbox_stops_and_removes_a_ready_sandbox(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, listed: Listed
) -> None:
    """RemovePodSandbox of a ready sandbox MUST stop and remove it with its running containers, if these
    handle SIGTERM.

    Source: RemovePodSandbox.
    """
    containers.running(on_term="exit 0", in_sandbox=own_sandbox)

    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert listed(own_sandbox) == []


@requirement("SBX-22/removed")
@not_under("killed-monitors", reason="without a monitor it may cancel a removal half-way, as SBX-39 does")
def test_remove_pod_sandbox_kills_what_ignores_sigterm_by_the_second_call(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, listed: Listed
) -> None:
    """RemovePodSandbox MUST remove a ready sandbox whose container ignores SIGTERM, at the latest in the
    second call.

    Source: RemovePodSandbox.
    """
    containers.running(on_term="", in_sandbox=own_sandbox)

    # some runtimes give the processes of a pod the whole seconds of the deadline before they kill them: 0.9 s
    # are left for the removal, as SBX-39 is about removals that are cancelled half-way
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        runtime.stub.RemovePodSandbox(
            cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id), timeout=20 * runtime.scale + 0.9
        )
    runtime.retry_until_ok(
        # the first call may still be running, and block the next
        "RemovePodSandbox called again",
        lambda: runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id)),
    )

    assert listed(own_sandbox) == []


@requirement("SBX-22/first-call")
def test_remove_pod_sandbox_kills_what_ignores_sigterm_in_the_first_call(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, listed: Listed
) -> None:
    """RemovePodSandbox SHOULD remove a ready sandbox whose container ignores SIGTERM in the first call, well
    before the client's deadline.

    Source: RemovePodSandbox.
    """
    containers.running(on_term="", in_sandbox=own_sandbox)

    call = runtime.timed(
        runtime.stub.RemovePodSandbox,
        cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id),
        # 0.9 s for the removal, as above
        timeout=20 * runtime.scale + 0.9,
    )

    assert listed(own_sandbox) == []
    # half of the deadline: a runtime that nearly exhausts it misses it on a busy machine
    assert call.seconds < 10 * runtime.scale


@requirement("SBX-39")
@disruptive
def test_cancelled_remove_pod_sandbox_can_be_repeated(own_runtime: OwnRuntime) -> None:
    """RemovePodSandbox of a ready sandbox MUST succeed when it is repeated, at whatever point the client has
    cancelled the first call.

    Source: RemovePodSandbox.
    """
    measured, *others = (own_runtime.sandbox() for _ in range(CANCELLED_CALLS + 1))
    whole = own_runtime.timed(
        own_runtime.stub.RemovePodSandbox, cri.RemovePodSandboxRequest(pod_sandbox_id=measured.id)
    )

    for number, sandbox in enumerate(others, start=1):
        request = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id)
        with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
            timeout = whole.seconds * number / CANCELLED_CALLS
            own_runtime.stub.RemovePodSandbox(request, timeout=timeout)
        # the first call may still be running, and block the next
        again = partial(own_runtime.stub.RemovePodSandbox, request, timeout=own_runtime.one_try)
        own_runtime.retry_until_ok(f"RemovePodSandbox called again after cancellation {number}", again)

    listed = own_runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    assert {item.id for item in listed} & {sandbox.id for sandbox in others} == set()


@requirement("SBX-23")
def test_remove_pod_sandbox_is_idempotent(runtime: Runtime, own_sandbox: Sandbox, listed: Listed) -> None:
    """RemovePodSandbox MUST succeed for a sandbox that has been removed before.

    Source: RemovePodSandbox.
    """
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert listed(own_sandbox) == []


@requirement("SBX-24")
def test_remove_pod_sandbox_of_an_unknown_id_succeeds(runtime: Runtime, sandbox: Sandbox) -> None:
    """RemovePodSandbox MUST succeed for an id that never existed, and MUST leave other sandboxes as they
    are.

    Source: RemovePodSandbox.
    """
    # formed like an id, but of no object
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id="0" * 64))

    assert sandbox.state() == cri.SANDBOX_READY


@requirement("SBX-25")
def test_remove_pod_sandbox_after_its_containers_are_removed(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, listed: Listed
) -> None:
    """RemovePodSandbox MUST succeed for a stopped sandbox whose containers have been removed one by one.

    Source: RemovePodSandbox, RemoveContainer.
    """
    container = containers.exited(in_sandbox=own_sandbox)
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert listed(own_sandbox) == []


@requirement("SBX-26/error")
def test_removed_sandbox_is_unknown(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """PodSandboxStatus of a removed sandbox MUST fail, and ListPodSandbox MUST NOT list it.

    Source: PodSandboxStatus, ListPodSandbox.
    """
    removed = sandboxes.in_state(cri.SANDBOX_NOTREADY)
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=removed.id))

    runtime.refusal(runtime.stub.PodSandboxStatus, cri.PodSandboxStatusRequest(pod_sandbox_id=removed.id))

    everything = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    assert removed.id not in [item.id for item in everything]


@requirement("SBX-26/code")
def test_status_of_a_removed_sandbox_is_not_found(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """PodSandboxStatus of a removed sandbox SHOULD fail with NotFound.

    Source: PodSandboxStatus. Not stated by the CRI; by this code the kubelet knows that a sandbox is gone.
    """
    removed = sandboxes.in_state(cri.SANDBOX_NOTREADY)
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=removed.id))

    code = runtime.refusal(
        runtime.stub.PodSandboxStatus, cri.PodSandboxStatusRequest(pod_sandbox_id=removed.id)
    )

    assert code is grpc.StatusCode.NOT_FOUND


@requirement("SBX-20")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_pinned_namespaces_are_removed_with_the_sandbox(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """RemovePodSandbox MUST remove the mounts that pin the namespaces of a pod.

    Source: RemovePodSandbox, after which nothing of the sandbox remains: it consists of its namespaces.
    Otherwise every pod leaks a namespace of the machine.
    """
    container = containers.running(in_sandbox=own_sandbox)
    # the mount table shows a mounted namespace with the target of the link as root: `net:[4026532281]`
    namespaces = [container.output("readlink", f"/proc/self/ns/{kind}") for kind in ("net", "ipc", "uts")]
    pins = {point for root, point, _ in mount_table() if root in namespaces}
    if not pins:
        unsupported(
            f"the runtime pins no namespace of a pod: the mount table has none of {', '.join(namespaces)}"
        )

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert pins & {point for _, point, _ in mount_table()} == set()


@requirement("SBX-27")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_removed_sandbox_leaves_nothing_on_the_machine(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """RemovePodSandbox SHOULD leave no mount, no process and no cgroup of the sandbox.

    Source: RemovePodSandbox.
    """
    if not remains_of(own_sandbox.id):
        blocked(
            "no mount, process or cgroup of this machine has the id of a sandbox, so that leftovers cannot be"
            " detected"
        )

    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    runtime.eventually(
        # some runtimes remove mounts and cgroups in the background
        "the traces of the sandbox to go",
        lambda: remains_of(own_sandbox.id),
        seconds=10,
        holds=lambda left: not left,
    )
