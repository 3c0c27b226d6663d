"""STP: how a container is asked to end, and made to. Every process here handles or ignores its stop signal on
purpose.
"""

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import FOREVER, Containers
from critests.fixtures.runtime import Runtime, may_be_refused, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.clocks import CLOCKS_DIFFER_NS
from critests.lifecycle.containers import Container
from critests.lifecycle.freezer import Freezer
from critests.lifecycle.process import ProcessTree
from critests.node.capabilities import NO_SUCH_ID
from critests.run.marks import requirement, requires, slow
from critests.run.outcomes import blocked, setting_up


@requirement("STP-01")
def test_stop_sends_sigterm_to_the_first_process(runtime: Runtime, containers: Containers) -> None:
    """StopContainer MUST send SIGTERM to the first process where nothing else is configured, and MUST wait
    for its end.

    Source: StopContainer.
    """
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
    """A process that handles the stop signal MUST keep its own exit code, and the stop MUST return before the
    grace period is over.

    Source: StopContainerRequest.timeout.
    """
    container = containers.running(on_term="exit 7")

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=30)
    )

    assert container.status().exit_code == 7
    # it ends at once, and a busy machine may be seconds late
    assert call.seconds < min(30, 5 * runtime.scale)


@requirement("STP-03")
def test_stop_kills_after_the_grace_period(runtime: Runtime, containers: Containers) -> None:
    """A process that ignores the stop signal MUST be killed when the grace period is over, and neither
    earlier nor much later.

    Source: StopContainerRequest.timeout.
    """
    container = containers.running(on_term="")

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=1)
    )

    status = container.status()
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, 137)
    # a timer of the runtime may be a few hundredths early, and a busy machine seconds late
    assert 0.95 <= call.seconds < 1 + 5 * runtime.scale


@requirement("STP-04")
def test_stop_without_grace_kills_at_once(runtime: Runtime, containers: Containers) -> None:
    """StopContainer with the timeout 0 MUST end even a process that ignores the stop signal at once.

    Source: StopContainerRequest.timeout.
    """
    container = containers.running(on_term="")

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=0)
    )

    assert container.state() == cri.CONTAINER_EXITED
    assert call.seconds < 5 * runtime.scale  # a busy machine needs seconds for what takes milliseconds


@requirement("STP-05")
def test_a_very_long_grace_period_does_not_overflow(runtime: Runtime, containers: Containers) -> None:
    """StopContainer SHOULD take a grace period of more seconds than 31 bits hold, and not kill at once.

    Source: StopContainerRequest.timeout, which has 64 bits.
    """
    # its end takes a moment, in which a time-out that has wrapped round to zero or below would kill it
    container = containers.running(on_term="sleep 0.3; exit 9")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=2**31))

    assert container.status().exit_code == 9


@requirement("STP-06")
def test_a_negative_grace_period_does_not_hang(
    runtime: Runtime, containers: Containers, observe: Observe
) -> None:
    """StopContainer with a negative timeout MAY be refused or kill at once, but does not hang.

    Source: StopContainerRequest.timeout; the CRI does not say what a negative one means.
    """
    container = containers.running(on_term="")

    try:
        runtime.stub.StopContainer(
            cri.StopContainerRequest(container_id=container.id, timeout=-1), timeout=20 * runtime.scale
        )
    except grpc.RpcError as error:
        # an error of another kind is a form that this test records
        assert error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED, (  # noqa: PT017 - see above
            "StopContainer with a negative timeout hangs"
        )
        observe(f"fails with {refused_with(error).name}")
        return

    assert container.state() == cri.CONTAINER_EXITED
    observe("kills at once")


@requirement("STP-07")
def test_stop_of_an_ended_container_changes_nothing(runtime: Runtime, containers: Containers) -> None:
    """StopContainer of a container that has ended MUST succeed and keep its exit code and the time of its
    end.

    Source: StopContainer, which is idempotent.
    """
    container = containers.exited(script="exit 4")
    before = container.status()

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))

    after = container.status()
    assert after.state == cri.CONTAINER_EXITED
    assert (after.exit_code, after.finished_at) == (4, before.finished_at)


@requirement("STP-08")
def test_stop_of_a_container_that_never_ran(runtime: Runtime, container: Container, observe: Observe) -> None:
    """StopContainer of a container that was never started MAY fail or succeed; it stays CREATED or becomes
    EXITED, and can be removed.

    Source: StopContainer; the CRI does not say.
    """
    try:
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))
        answer = "succeeds"
    except grpc.RpcError as error:
        answer = f"fails with {refused_with(error).name}"

    state = container.state()
    observe(f"{answer}; {cri.ContainerState.Name(state)}")
    assert state in {cri.CONTAINER_CREATED, cri.CONTAINER_EXITED}
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))


@requirement("STP-09")
def test_stop_of_an_unknown_container_succeeds(runtime: Runtime) -> None:
    """StopContainer of an id that no container has SHOULD succeed.

    Source: StopContainer, which is idempotent; a container that was removed meanwhile is no error for the
    kubelet.
    """
    answer = runtime.stub.StopContainer(cri.StopContainerRequest(container_id=NO_SUCH_ID, timeout=1))

    assert answer == cri.StopContainerResponse()


@requirement("STP-15/grace")
def test_a_stop_that_the_client_gives_up_does_not_kill(runtime: Runtime, containers: Containers) -> None:
    """A stop whose client gives up MUST NOT kill the container before the grace period is over, and a later
    stop MUST work.

    Source: StopContainer; not stated by the CRI, a kubelet that restarts must not take the grace period from
    a container.
    """
    container = containers.running(on_term="echo asked; sleep 1; exit 5")
    given_up = runtime.stub.StopContainer.future(
        cri.StopContainerRequest(container_id=container.id, timeout=60)
    )
    container.wait_for_log("asked")

    given_up.cancel()  # sends RST_STREAM, from which the daemon sees that nobody waits any more
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=60))

    status = container.status()
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, 5)


@slow
@requirement("STP-15/continuation")
def test_a_stop_that_the_client_gives_up_may_go_on(
    runtime: Runtime, containers: Containers, observe: Observe
) -> None:
    """A stop whose client gives up MAY go on in the background or end with the call; a later stop ends the
    container in either case.

    Source: StopContainer; the CRI does not say.
    """
    container = containers.running(on_term="echo asked")
    given_up = runtime.stub.StopContainer.future(
        cri.StopContainerRequest(container_id=container.id, timeout=1)
    )
    with setting_up(awaits="STP-01"):
        container.wait_for_log("asked")
    given_up.cancel()

    try:
        container.exited(2.5)  # the grace period of a second, and what a busy machine adds
        observe("goes on in the background")
    except AssertionError:
        observe("ends with the call")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))
    assert container.state() == cri.CONTAINER_EXITED


@requirement("STP-16")
def test_a_second_stop_with_less_grace_shortens_the_first(runtime: Runtime, containers: Containers) -> None:
    """A second StopContainer with a shorter grace period SHOULD end the container by then, and the first call
    with it.

    Source: StopContainerRequest.timeout; not stated by the CRI, it is how a pod is deleted by force.
    """
    container = containers.running(on_term="echo asked")
    first = runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=container.id, timeout=60))
    container.wait_for_log("asked")

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=1)
    )

    assert container.state() == cri.CONTAINER_EXITED
    assert call.seconds < 1 + 5 * runtime.scale
    runtime.eventually("an answer to the first StopContainer", first.done)


@requirement("STP-17")
def test_stops_at_the_same_time_all_succeed(runtime: Runtime, containers: Containers) -> None:
    """StopContainer called several times at once MUST succeed for every caller when the container has ended.

    Source: StopContainer, which is idempotent.
    """
    container = containers.running(on_term="sleep 0.3; exit 5")
    request = cri.StopContainerRequest(container_id=container.id, timeout=30)

    calls = [runtime.stub.StopContainer.future(request) for _ in range(4)]

    assert [call.result() for call in calls] == [cri.StopContainerResponse()] * 4
    status = container.status()
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, 5)


@requirement("STP-18")
def test_exec_works_during_the_grace_period(runtime: Runtime, containers: Containers) -> None:
    """ExecSync SHOULD work in a container that has been asked to stop, until it ends.

    Source: ExecSync, StopContainer; not stated by the CRI, preStop hooks and probes of a pod that is going
    rely on it.
    """
    container = containers.running(on_term="echo asked; while [ ! -e /go ]; do sleep 0.05; done; exit 4")
    stop = runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=container.id, timeout=10))
    container.wait_for_log("asked")

    answer = runtime.stub.ExecSync(container.exec_request("echo", "alive", timeout=5))

    assert (answer.exit_code, answer.stdout) == (0, b"alive\n")
    with may_be_refused(grpc.StatusCode.UNAVAILABLE):
        # the container may end before the command that lets it end
        container.exec("touch", "/go")
    stop.result()
    assert container.status().exit_code == 4


@requirement("STP-18")
def test_a_command_under_way_goes_on_during_the_grace_period(
    runtime: Runtime, containers: Containers
) -> None:
    """A command that was begun before StopContainer SHOULD go on until the container ends.

    Source: ExecSync, StopContainer; not stated by the CRI, a preStop hook may last longer than that.
    """
    container = containers.running(on_term="touch /asked; while [ ! -e /done ]; do sleep 0.05; done; exit 4")
    script = "touch /begun; while [ ! -e /asked ]; do sleep 0.05; done; sleep 1; echo whole; touch /done"
    command = runtime.stub.ExecSync.future(container.script_request(script, timeout=30))
    runtime.eventually(
        "the command to have begun", lambda: container.exec("test", "-e", "/begun").exit_code == 0
    )

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=20))

    answer = command.result()
    assert answer.stdout == b"whole\n"
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
    """StopContainer MUST end every process of the container, also those that left its session, whosever PID
    namespace they are in.

    Source: StopContainer, NamespaceOption.pid; seen in this machine's process table.
    """
    tree = ProcessTree()
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=mode, ipc=cri.POD))
    container = containers.running(script=tree.script, in_sandbox=pod, wait_for_log="ready")
    runtime.eventually(
        "three processes in the machine's table",
        tree.alive,
        holds=lambda found: len(found) >= tree.SIZE,
    )

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))

    runtime.eventually("no process of the container", tree.alive, 5, holds=lambda found: not found)


@requirement("STP-20")
@requires(Capability.SHARED_PROCESSES)
def test_stop_spares_the_others_of_a_shared_pid_namespace(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """StopContainer of one container in a PID namespace of the whole pod MUST leave the other containers
    running.

    Source: StopContainer, NamespaceOption.pid.
    """
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=cri.POD, ipc=cri.POD))
    neighbour = containers.running(in_sandbox=pod)
    container = containers.running(in_sandbox=pod)

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))

    assert container.state() == cri.CONTAINER_EXITED
    assert neighbour.state() == cri.CONTAINER_RUNNING
    assert neighbour.output("echo", "alive") == "alive"


@requirement("STP-21")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_frozen_container_can_be_stopped(runtime: Runtime, containers: Containers) -> None:
    """StopContainer SHOULD end a container whose cgroup somebody has frozen.

    Source: StopContainer; not stated by the CRI, a process that is frozen does not even notice that it was
    killed.
    """
    tree = ProcessTree()
    container = containers.running(script=tree.script, wait_for_log="ready")
    # all of its processes are in one cgroup, so that any of them leads to it
    of_the_container = min(tree.alive(), default=0) or blocked("its processes cannot be seen from here")
    freezer = Freezer.of_process(of_the_container) or blocked("the cgroup cannot be frozen from here")

    with freezer.held():
        runtime.stub.StopContainer(
            cri.StopContainerRequest(container_id=container.id, timeout=0), timeout=10 * runtime.scale
        )

        assert container.state() == cri.CONTAINER_EXITED


@requirement("STP-23")
def test_the_end_lies_between_the_stop_and_its_answer(runtime: Runtime, containers: Containers) -> None:
    """The end of a stopped container SHOULD be a time between the call of StopContainer and its
    answer.

    Source: ContainerStatus.finished_at. Half a second is left for clocks of another resolution.
    """
    container = containers.running()

    call = runtime.timed(
        runtime.stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=0)
    )

    finished_at = container.status().finished_at
    assert call.started_ns - CLOCKS_DIFFER_NS <= finished_at <= call.ended_ns + CLOCKS_DIFFER_NS
