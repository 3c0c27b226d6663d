"""CNC: many concurrent calls, about different objects and about the same one."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import grpc

from critests.api import api_pb2 as cri
from critests.testing import (
    Containers,
    OwnRuntime,
    Runtime,
    Sandbox,
    Sandboxes,
    disruptive,
    requirement,
    setting_up,
    slow,
)
from critests.validation.runtime.concurrent_calls import all_of, settled

AT_ONCE = 8


@requirement("CNC-01")
def test_sandboxes_can_be_created_concurrently(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST succeed for several different sandboxes at the same time, each with a unique id.

    Source: RunPodSandbox.
    """
    configs = [sandboxes.config() for _ in range(AT_ONCE)]

    calls = [runtime.stub.RunPodSandbox.future(sandboxes.creation(config)) for config in configs]

    pods = [
        sandboxes.adopt(response.pod_sandbox_id, config)
        for response, config in zip(all_of(calls), configs, strict=True)
    ]
    assert len({pod.id for pod in pods}) == AT_ONCE
    assert [pod.status().metadata.uid for pod in pods] == [config.metadata.uid for config in configs]
    assert {pod.state() for pod in pods} == {cri.SANDBOX_READY}


@requirement("CNC-06")
def test_container_can_be_removed_while_it_starts(runtime: Runtime, containers: Containers) -> None:
    """Concurrent StartContainer and RemoveContainer calls for one container MUST both end, and the container
    MUST be removable.

    Source: StartContainer, RemoveContainer.
    """
    container = containers.created()
    removal = cri.RemoveContainerRequest(container_id=container.id)
    stub = runtime.stub

    calls = [
        stub.StartContainer.future(cri.StartContainerRequest(container_id=container.id)),
        stub.RemoveContainer.future(removal, timeout=runtime.one_try),
    ]

    # some runtimes block until the process exits or the client cancels
    settled(calls, grpc.StatusCode.DEADLINE_EXCEEDED)
    runtime.retry_until_ok("RemoveContainer", lambda: stub.RemoveContainer(removal, timeout=runtime.one_try))
    assert container.entries() == []


@requirement("CNC-06")
@disruptive
def test_sandbox_removed_during_create_container_leaves_no_container(own_runtime: OwnRuntime) -> None:
    """CreateContainer calls in a sandbox that is being removed MUST end, and no container MUST be left when
    the sandbox is gone.

    Source: CreateContainer, RemovePodSandbox. The test has a runtime of its own, as some daemons do not
    survive it.
    """
    pod, containers = own_runtime.sandbox(), own_runtime.containers
    removal = cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id)
    stub = own_runtime.stub

    calls = [
        *(stub.CreateContainer.future(containers.creation(containers.config(), pod)) for _ in range(4)),
        stub.StopPodSandbox.future(
            cri.StopPodSandboxRequest(pod_sandbox_id=pod.id), timeout=own_runtime.one_try
        ),
        stub.RemovePodSandbox.future(removal, timeout=own_runtime.one_try),
    ]

    # some runtimes block until the process exits or the client cancels
    settled(calls, grpc.StatusCode.DEADLINE_EXCEEDED)
    own_runtime.retry_until_ok(
        "RemovePodSandbox", lambda: stub.RemovePodSandbox(removal, timeout=own_runtime.one_try)
    )
    assert _containers_of(pod, own_runtime) == []
    assert pod.entries() == []


@requirement("CNC-06")
@disruptive
def test_container_created_during_removal_of_its_sandbox_does_not_outlive_it(own_runtime: OwnRuntime) -> None:
    """RemovePodSandbox MUST leave no container of the sandbox, although containers are created in it, one
    after another, during the removal, whichever of these calls succeed.

    Source: CreateContainer, RemovePodSandbox, which removes the containers in the sandbox. The test has a
    runtime of its own, as some daemons do not survive further calls about such a container.
    """
    pod, containers = own_runtime.sandbox(), own_runtime.containers
    containers.created(in_sandbox=pod)
    removal = cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id)
    stub = own_runtime.stub

    call = stub.RemovePodSandbox.future(removal, timeout=own_runtime.one_try)
    while not call.done():
        settled([stub.CreateContainer.future(containers.creation(containers.config(), pod))])

    settled([call], grpc.StatusCode.DEADLINE_EXCEEDED)
    own_runtime.retry_until_ok(
        "RemovePodSandbox", lambda: stub.RemovePodSandbox(removal, timeout=own_runtime.one_try)
    )
    assert _containers_of(pod, own_runtime) == []
    assert pod.entries() == []


@requirement("CNC-06")
def test_container_started_during_stop_of_its_sandbox_does_not_keep_running(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A container that is started while its sandbox is being stopped MUST NOT run once StopPodSandbox has
    succeeded.

    Source: StopPodSandbox, which terminates running containers by force. Of two concurrent calls, either the
    start comes first, or it comes too late and is rejected (SBX-30). The order is random, so the test starts
    several.
    """
    stub = runtime.stub
    for _ in range(3):
        pod = sandboxes.ready()
        # a running container that must be killed, so that the stop takes as long as the starts
        containers.running(in_sandbox=pod)
        others = [containers.created(in_sandbox=pod) for _ in range(4)]
        stop = cri.StopPodSandboxRequest(pod_sandbox_id=pod.id)

        call = stub.StopPodSandbox.future(stop, timeout=runtime.one_try)
        for each in others:
            settled([stub.StartContainer.future(cri.StartContainerRequest(container_id=each.id))])

        if not settled([call], grpc.StatusCode.DEADLINE_EXCEEDED):
            runtime.retry_until_ok("StopPodSandbox", partial(stub.StopPodSandbox, stop, runtime.one_try))
        assert _containers_of(pod, runtime, cri.CONTAINER_RUNNING) == []


@requirement("CNC-07")
@slow
def test_execs_in_progress_do_not_delay_a_kill(runtime: Runtime, containers: Containers) -> None:
    """A container MUST be killed when the grace period of StopContainer is over, also while many ExecSync
    calls are in progress in it.

    Source: StopContainerRequest.timeout.
    """
    container = containers.running(on_term="")  # ignores SIGTERM
    commands = [
        runtime.stub.ExecSync.future(container.exec_request("sleep", "50", timeout=60))
        for _ in range(AT_ONCE)
    ]

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=2)
    )

    # the grace period, and far less than the 50 seconds of the commands
    assert call.seconds < 2 + 8 * runtime.scale
    # 128 + SIGKILL
    assert container.status().exit_code == 137
    for command in commands:
        command.cancel()


@requirement("CNC-08")
def test_lists_are_complete_while_containers_are_created_and_removed(
    runtime: Runtime, sandbox: Sandbox, containers: Containers
) -> None:
    """Lists MUST be returned, with complete entries, while containers are created and removed.

    Source: ListContainers, ListPodSandbox, ListContainerStats, ListImages.
    """
    stub = runtime.stub

    def create_and_remove() -> None:
        with setting_up():
            for _ in range(AT_ONCE):
                containers.running(in_sandbox=sandbox).discard()

    with ThreadPoolExecutor(1) as thread:
        # the lists are read until the other thread has created and removed all containers
        churn = thread.submit(create_and_remove)
        while not churn.done():
            listed = stub.ListContainers(cri.ListContainersRequest()).containers
            pods = stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
            stub.ListContainerStats(cri.ListContainerStatsRequest())
            runtime.images.ListImages(cri.ListImagesRequest())

            assert [
                each for each in listed if not (each.id and each.pod_sandbox_id and each.metadata.name)
            ] == []
            assert [each for each in pods if not (each.id and each.metadata.uid)] == []
        churn.result()


@requirement("CNC-17")
def test_containers_created_concurrently_run_their_own_commands(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """CreateContainer and StartContainer MUST succeed for several containers of a pod at the same time, each
    with its own command.

    Source: CreateContainer, StartContainer.
    """
    configs = [containers.config(script=f"exit {code}") for code in range(AT_ONCE)]
    requests = [containers.creation(config, own_sandbox) for config in configs]

    responses = all_of([runtime.stub.CreateContainer.future(request) for request in requests])
    created = [
        containers.adopt(response.container_id, config, own_sandbox)
        for response, config in zip(responses, configs, strict=True)
    ]
    all_of(
        [
            runtime.stub.StartContainer.future(cri.StartContainerRequest(container_id=each.id))
            for each in created
        ]
    )

    assert [each.exited().exit_code for each in created] == list(range(AT_ONCE))


@requirement("CNC-17")
def test_containers_stopped_concurrently_report_their_own_exit_codes(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopContainer MUST succeed for several containers of a pod at the same time, and each container MUST
    report the exit code of its own process.

    Source: StopContainer, ContainerStatus.exit_code.
    """
    # neither 0 nor the code of a signal
    running = [containers.running(in_sandbox=own_sandbox, on_term=f"exit {10 + n}") for n in range(AT_ONCE)]

    all_of(
        [
            runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=each.id, timeout=30))
            for each in running
        ]
    )

    assert [each.status().exit_code for each in running] == [10 + n for n in range(AT_ONCE)]


@requirement("CNC-17")
def test_containers_can_be_removed_concurrently(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """RemoveContainer MUST succeed for several containers of a pod at the same time.

    Source: RemoveContainer.
    """
    ended = [containers.exited(in_sandbox=own_sandbox) for _ in range(AT_ONCE)]

    all_of(
        [
            runtime.stub.RemoveContainer.future(cri.RemoveContainerRequest(container_id=each.id))
            for each in ended
        ]
    )

    inside = cri.ContainerFilter(pod_sandbox_id=own_sandbox.id)
    assert list(runtime.stub.ListContainers(cri.ListContainersRequest(filter=inside)).containers) == []


def _containers_of(pod: Sandbox, runtime: Runtime, *states: "cri.ContainerState") -> list[str]:
    """Return the ids of a sandbox's containers, of all or of those in a state, from an unfiltered list: a
    list filtered by a removed sandbox may be empty although its containers are still there.
    """
    listed = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    return [
        each.id for each in listed if each.pod_sandbox_id == pod.id and (not states or each.state in states)
    ]
