"""STP: StopContainer. Every process in these tests handles or ignores its stop signal on purpose."""

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.freezer import Freezer
from critests.testing import (
    CLOCKS_DIFFER_NS,
    FOREVER,
    NO_SUCH_ID,
    Capability,
    Container,
    Containers,
    ProcessTree,
    RecordVariant,
    Runtime,
    Sandboxes,
    blocked,
    may_be_refused,
    refused_with,
    requirement,
    requires,
    setting_up,
    slow,
)


@requirement("STP-01")
def test_stop_sends_sigterm_to_the_first_process(runtime: Runtime, containers: Containers) -> None:
    """StopContainer MUST send SIGTERM to the first process if no other stop signal is configured, and MUST
    wait for its exit.

    Source: StopContainer.
    """
    # an exit code for each signal that a runtime might send instead
    codes = {"TERM": 41, "INT": 42, "HUP": 43, "QUIT": 44}
    traps = "; ".join(f"trap 'exit {code}' {name}" for name, code in codes.items())
    container = containers.running(script=f"{traps}; echo ready; {FOREVER}", wait_for_log="ready")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=30))

    assert container.state() == cri.CONTAINER_EXITED
    assert container.status().exit_code == codes["TERM"]


@requirement("STP-02")
def test_stop_keeps_the_exit_code_of_a_process_that_handles_the_signal(
    runtime: Runtime, containers: Containers
) -> None:
    """StopContainer MUST let a process that handles the stop signal exit with its own exit code, and MUST
    return before the grace period is over.

    Source: StopContainerRequest.timeout.
    """
    container = containers.running(on_term="exit 7")

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=30)
    )

    assert container.status().exit_code == 7
    # the process exits at once; a busy machine may take seconds
    assert call.seconds < min(30, 5 * runtime.scale)


@requirement("STP-03")
def test_stop_kills_after_the_grace_period(runtime: Runtime, containers: Containers) -> None:
    """StopContainer MUST kill a process that ignores the stop signal when the grace period is over, neither
    earlier nor much later.

    Source: StopContainerRequest.timeout.
    """
    container = containers.running(on_term="")

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=1)
    )

    status = container.status()
    # 128 + SIGKILL
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, 137)
    # a timer of the runtime may fire a few hundredths early, and a busy machine may be seconds late
    assert 0.95 <= call.seconds < 1 + 5 * runtime.scale


@requirement("STP-04")
def test_stop_without_grace_kills_at_once(runtime: Runtime, containers: Containers) -> None:
    """StopContainer with the timeout 0 MUST kill a process that ignores the stop signal at once.

    Source: StopContainerRequest.timeout.
    """
    container = containers.running(on_term="")

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=0)
    )

    assert container.state() == cri.CONTAINER_EXITED
    assert call.seconds < 5 * runtime.scale  # it takes milliseconds, on a busy machine seconds


@requirement("STP-05")
def test_a_very_long_grace_period_does_not_overflow(runtime: Runtime, containers: Containers) -> None:
    """StopContainer SHOULD accept a grace period of more than 2^31 - 1 seconds, and not kill at once.

    Source: StopContainerRequest.timeout, which has 64 bits.
    """
    # it exits after a moment, within which a timeout that has overflowed to zero or below would kill it
    container = containers.running(on_term="sleep 0.3; exit 9")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=2**31))

    assert container.status().exit_code == 9


@requirement("STP-06")
def test_a_negative_grace_period_does_not_hang(
    runtime: Runtime, containers: Containers, record_variant: RecordVariant
) -> None:
    """StopContainer with a negative timeout MAY fail or kill at once, but does not hang.

    Source: StopContainerRequest.timeout; the CRI does not state what a negative timeout means.
    """
    container = containers.running(on_term="")

    try:
        runtime.stub.StopContainer(
            cri.StopContainerRequest(container_id=container.id, timeout=-1), timeout=20 * runtime.scale
        )
    except grpc.RpcError as error:
        # any other error is a form that this test records
        assert error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED, (  # noqa: PT017 - see above
            "StopContainer with a negative timeout hangs"
        )
        record_variant(f"fails with {refused_with(error).name}")
        return

    assert container.state() == cri.CONTAINER_EXITED
    record_variant("kills at once")


@requirement("STP-07")
def test_stop_of_an_exited_container_changes_nothing(runtime: Runtime, containers: Containers) -> None:
    """StopContainer of an exited container MUST succeed, and MUST NOT change its exit code and `finished_at`.

    Source: StopContainer, which is idempotent.
    """
    container = containers.exited(script="exit 4")
    before = container.status()

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))

    after = container.status()
    assert after.state == cri.CONTAINER_EXITED
    assert (after.exit_code, after.finished_at) == (4, before.finished_at)


@requirement("STP-08")
def test_stop_of_a_container_that_never_ran(
    runtime: Runtime, container: Container, record_variant: RecordVariant
) -> None:
    """StopContainer of a container that was never started MAY fail or succeed; the container stays CREATED or
    becomes EXITED, and RemoveContainer removes it.

    Source: StopContainer; not stated by the CRI.
    """
    try:
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))
        response = "succeeds"
    except grpc.RpcError as error:
        response = f"fails with {refused_with(error).name}"

    state = container.state()
    record_variant(f"{response}; {cri.ContainerState.Name(state)}")
    assert state in {cri.CONTAINER_CREATED, cri.CONTAINER_EXITED}
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))


@requirement("STP-09")
def test_stop_of_an_unknown_container_succeeds(runtime: Runtime) -> None:
    """StopContainer of an unknown id SHOULD succeed.

    Source: StopContainer, which is idempotent; the kubelet may stop a container that was removed meanwhile.
    """
    response = runtime.stub.StopContainer(cri.StopContainerRequest(container_id=NO_SUCH_ID, timeout=1))

    assert response == cri.StopContainerResponse()


@requirement("STP-15/grace")
def test_a_stop_that_the_client_cancels_does_not_kill(runtime: Runtime, containers: Containers) -> None:
    """StopContainer MUST NOT kill the container before the grace period is over when the client cancels the
    call, and a later StopContainer MUST work.

    Source: StopContainer; not stated by the CRI, a restart of the kubelet must not shorten the grace period
    of a container.
    """
    # if the cancelled call killed the process, it would be within this second, with another exit code
    container = containers.running(on_term="echo stopping; sleep 1; exit 5")
    cancelled = runtime.stub.StopContainer.future(
        cri.StopContainerRequest(container_id=container.id, timeout=60)
    )
    container.wait_for_log("stopping")

    cancelled.cancel()  # sends RST_STREAM, which cancels the call's context in the daemon
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=60))

    status = container.status()
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, 5)


@slow
@requirement("STP-15/continuation")
def test_a_stop_that_the_client_cancels_may_continue(
    runtime: Runtime, containers: Containers, record_variant: RecordVariant
) -> None:
    """StopContainer MAY continue in the background or end when the client cancels the call; a later
    StopContainer stops the container in either case.

    Source: StopContainer; not stated by the CRI.
    """
    container = containers.running(on_term="echo stopping")
    cancelled = runtime.stub.StopContainer.future(
        cri.StopContainerRequest(container_id=container.id, timeout=1)
    )
    with setting_up(awaits="STP-01"):
        container.wait_for_log("stopping")
    cancelled.cancel()

    try:
        container.exited(2.5)  # the grace period of a second, and a margin for a busy machine
        record_variant("goes on in the background")
    except AssertionError:
        record_variant("ends with the call")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))
    assert container.state() == cri.CONTAINER_EXITED


@requirement("STP-16")
def test_a_second_stop_with_less_grace_shortens_the_first(runtime: Runtime, containers: Containers) -> None:
    """StopContainer with a shorter grace period than an earlier call SHOULD stop the container within it, so
    that both calls return.

    Source: StopContainerRequest.timeout; not stated by the CRI, a pod is deleted by force this way.
    """
    container = containers.running(on_term="echo stopping")
    first = runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=container.id, timeout=60))
    container.wait_for_log("stopping")

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=1)
    )

    assert container.state() == cri.CONTAINER_EXITED
    # the second grace period, and a margin for a busy machine
    assert call.seconds < 1 + 5 * runtime.scale
    runtime.eventually("the first StopContainer to return", first.done)


@requirement("STP-17")
def test_stops_at_the_same_time_all_succeed(runtime: Runtime, containers: Containers) -> None:
    """StopContainer called several times at once MUST succeed for every caller when the container has exited.

    Source: StopContainer, which is idempotent.
    """
    # the signal takes effect while all four calls are under way
    container = containers.running(on_term="sleep 0.3; exit 5")
    request = cri.StopContainerRequest(container_id=container.id, timeout=30)

    calls = [runtime.stub.StopContainer.future(request) for _ in range(4)]

    assert [call.result() for call in calls] == [cri.StopContainerResponse()] * 4
    status = container.status()
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, 5)


@requirement("STP-18")
def test_exec_works_during_the_grace_period(runtime: Runtime, containers: Containers) -> None:
    """ExecSync SHOULD work during the grace period of StopContainer, until the container exits.

    Source: ExecSync, StopContainer; not stated by the CRI, preStop hooks and probes of a terminating pod rely
    on it.
    """
    container = containers.running(on_term="echo stopping; while [ ! -e /go ]; do sleep 0.05; done; exit 4")
    stop = runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=container.id, timeout=10))
    container.wait_for_log("stopping")

    response = runtime.stub.ExecSync(container.exec_request("echo", "alive", timeout=5))

    assert (response.exit_code, response.stdout) == (0, b"alive\n")
    with may_be_refused(grpc.StatusCode.UNAVAILABLE):
        # the container may exit before the command that makes it exit
        container.exec("touch", "/go")
    stop.result()
    assert container.status().exit_code == 4


@requirement("STP-18")
def test_a_running_command_continues_during_the_grace_period(
    runtime: Runtime, containers: Containers
) -> None:
    """A command that ExecSync started before StopContainer SHOULD continue until the container exits.

    Source: ExecSync, StopContainer; not stated by the CRI, a preStop hook may still run then.
    """
    container = containers.running(on_term="touch /term; while [ ! -e /done ]; do sleep 0.05; done; exit 4")
    # a command that is killed with the signal prints nothing in the second after it
    script = "touch /ready; while [ ! -e /term ]; do sleep 0.05; done; sleep 1; echo whole; touch /done"
    command = runtime.stub.ExecSync.future(container.script_request(script, timeout=30))
    runtime.eventually("the command to start", lambda: container.exec("test", "-e", "/ready").exit_code == 0)

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=20))

    response = command.result()
    assert response.stdout == b"whole\n"
    assert container.status().exit_code == 4


@requirement("STP-19")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(cri.CONTAINER, id="its own PID namespace"),
        pytest.param(cri.POD, id="the pod's PID namespace", marks=requires(Capability.SHARED_PROCESSES)),
        pytest.param(cri.NODE, id="the host's PID namespace"),
    ],
)
def test_stop_ends_every_process(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, mode: "cri.NamespaceMode"
) -> None:
    """StopContainer MUST end every process of the container, also those that left its session, in every mode
    of its PID namespace.

    Source: StopContainer, NamespaceOption.pid; observed in the host's process table.
    """
    tree = ProcessTree()
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=mode, ipc=cri.POD))
    container = containers.running(script=tree.script, in_sandbox=pod, wait_for_log="ready")
    runtime.eventually(
        "three processes in the host's process table",
        tree.alive,
        holds=lambda found: len(found) >= tree.SIZE,
    )

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))

    runtime.eventually("no process of the container", tree.alive, 5, holds=lambda found: not found)


@requirement("STP-20")
@requires(Capability.SHARED_PROCESSES)
def test_stop_leaves_others_in_a_shared_pid_namespace_running(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """StopContainer MUST leave other containers of a shared PID namespace running.

    Source: StopContainer, NamespaceOption.pid.
    """
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=cri.POD, ipc=cri.POD))
    # neither first process is process 1 of the namespace, whose end would end all others
    neighbour = containers.running(in_sandbox=pod)
    container = containers.running(in_sandbox=pod)

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))

    assert container.state() == cri.CONTAINER_EXITED
    assert neighbour.state() == cri.CONTAINER_RUNNING
    assert neighbour.output("echo", "alive") == "alive"


@requirement("STP-21")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_frozen_container_can_be_stopped(runtime: Runtime, containers: Containers) -> None:
    """StopContainer SHOULD stop a container whose cgroup is frozen.

    Source: StopContainer; not stated by the CRI. A process in a frozen cgroup of version 1 does not react
    even to SIGKILL.
    """
    tree = ProcessTree()
    container = containers.running(script=tree.script, wait_for_log="ready")
    # all its processes are in one cgroup, so any of them identifies it
    process_id = min(tree.alive(), default=0) or blocked("the test cannot see the container's processes")
    freezer = Freezer.of_process(process_id) or blocked("the test cannot freeze the cgroup")

    with freezer.held():
        runtime.stub.StopContainer(
            cri.StopContainerRequest(container_id=container.id, timeout=0), timeout=10 * runtime.scale
        )

        assert container.state() == cri.CONTAINER_EXITED


@requirement("STP-23")
def test_finish_time_is_within_the_stop_call(runtime: Runtime, containers: Containers) -> None:
    """`finished_at` of a stopped container SHOULD be a time during the StopContainer call.

    Source: ContainerStatus.finished_at. The margin of half a second is for clocks of another resolution.
    """
    container = containers.running()

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=0)
    )

    finished_at = container.status().finished_at
    assert call.started_ns - CLOCKS_DIFFER_NS <= finished_at <= call.ended_ns + CLOCKS_DIFFER_NS
