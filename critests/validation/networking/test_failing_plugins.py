"""SBX, NET: CNI plugins that fail, hang, answer nonsense or are missing, and what is left of a pod then."""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.failing_steps import FailingSteps
from critests.fixtures.runtime import Refusal, must_be_refused
from critests.lifecycle.requests import HOST_NETWORK
from critests.lifecycle.sandboxes import Sandbox
from critests.node.remains import mount_table
from critests.node.wrappers.actions import ALL, Action, Edit, Fail, Record
from critests.run.marks import disruptive, requirement, requires
from critests.run.outcomes import unsupported

pytestmark = disruptive

TOLD = "no address is left for anybody"
AFTER_THE_ADDRESS = {"portmap/ADD": [Fail(101, TOLD)]}
"""Fails once the plugin before has given an address."""
PROMPT_SECONDS = 5.0
"""For what a plugin that hangs is none of the business of."""
GIVEN_UP_SECONDS = 3.0
"""After which the client of a call that hangs leaves."""
CLEARED_SECONDS = 20.0


@pytest.fixture
def pod(steps: FailingSteps) -> Sandbox:
    """A READY sandbox on a runtime whose plugins can fail."""
    return steps.runtime.sandbox()


@pytest.fixture
def config(steps: FailingSteps) -> cri.PodSandboxConfig:
    """The configuration of a pod on the pods' network."""
    return steps.runtime.sandboxes.marked_config()


def refused(
    steps: FailingSteps, config: cri.PodSandboxConfig, plan: Mapping[str, Sequence[Action]]
) -> Refusal:
    """Call RunPodSandbox while plugins do what is planned, and return how it was refused."""
    with steps.cni.planned(plan), must_be_refused() as refusal:
        steps.runtime.stub.RunPodSandbox(steps.runtime.sandboxes.creation(config))
    return refusal


def pins_of(steps: FailingSteps, pod: Sandbox) -> list[Path]:
    """Return the files that hold the network namespace of a pod; end the test as unsupported where there are
    none.
    """
    namespace = steps.runtime.container(pod).output("readlink", "/proc/self/ns/net")
    pins = [Path(point) for root, point, _ in mount_table() if root == namespace]
    if not pins:
        unsupported(f"the runtime keeps no file for a pod's network namespace: no mount of {namespace}")
    return pins


def unpin(pins: Sequence[Path]) -> None:
    """Take the files away that hold a namespace."""
    for pin in pins:
        # lazily: a mount that is in use would not go otherwise
        subprocess.run(["umount", "--lazy", pin], check=True)
        pin.unlink(missing_ok=True)


def until_given_back(steps: FailingSteps, leases: set[str]) -> None:
    """Wait until no other addresses are given away than before."""
    steps.runtime.eventually(
        "every address of the pod to be given back",
        lambda: steps.runtime.daemon.leases - leases,
        CLEARED_SECONDS,
        holds=lambda kept: not kept,
    )


@requirement("NET-19/refused")
@requires(Capability.POD_NETWORK)
def test_pod_whose_network_cannot_be_made_is_refused(
    steps: FailingSteps, config: cri.PodSandboxConfig
) -> None:
    """RunPodSandbox MUST fail where a CNI plugin fails, and no sandbox be READY.

    Source: RunPodSandbox, whose success means a ready sandbox.
    """
    refused(steps, config, AFTER_THE_ADDRESS)

    ready = [
        entry.id for entry in steps.runtime.sandboxes.made_from(config) if entry.state == cri.SANDBOX_READY
    ]
    assert ready == []


@requirement("NET-19/message")
@requires(Capability.POD_NETWORK)
def test_the_message_of_a_failing_plugin_is_reported(
    steps: FailingSteps, config: cri.PodSandboxConfig
) -> None:
    """What a failing CNI plugin says SHOULD stand in the error of RunPodSandbox.

    Source: not stated by the CRI; the kubelet shows it with the pod, and nobody else would find it.
    """
    refusal = refused(steps, config, AFTER_THE_ADDRESS)

    assert TOLD in refusal.words


@requirement("NET-19/cleaned")
@requires(Capability.POD_NETWORK)
def test_nothing_is_left_of_a_pod_whose_network_could_not_be_made(
    steps: FailingSteps, config: cri.PodSandboxConfig
) -> None:
    """After a RunPodSandbox that failed for its network the address that it had got MUST be free once what is
    listed is removed, and the same pod can be made.

    Source: not stated by the CRI; a node runs out of addresses.
    """
    leases = steps.runtime.daemon.leases

    refused(steps, config, AFTER_THE_ADDRESS)

    for half in steps.runtime.sandboxes.made_from(config):
        steps.remove(half.id)
    until_given_back(steps, leases)
    assert steps.runtime.sandboxes.attempt(config).state() == cri.SANDBOX_READY


@requirement("SBA-03")
@requires(Capability.POD_NETWORK)
def test_what_is_left_of_a_pod_without_a_network_has_its_time(
    steps: FailingSteps, config: cri.PodSandboxConfig
) -> None:
    """A sandbox that stays listed after a RunPodSandbox that failed for its network MUST have the time at
    which it was made, in list and status.

    Source: PodSandbox.created_at and PodSandboxStatus.created_at.
    """
    began = time.time_ns()

    # where the network cannot be taken down again, the sandbox has to stay
    refused(steps, config, {**AFTER_THE_ADDRESS, "DEL": [Fail(101, TOLD)]})

    left = steps.runtime.sandboxes.made_from(config)
    request = [cri.PodSandboxStatusRequest(pod_sandbox_id=entry.id) for entry in left]
    told = [steps.runtime.stub.PodSandboxStatus(each).status.created_at for each in request]
    times = [*told, *(entry.created_at for entry in left)]
    for entry in left:
        steps.remove(entry.id)
    # clocks of the two may differ by a little
    assert [when for when in times if abs(when - began) > CLEARED_SECONDS * 1e9 * steps.runtime.scale] == []


@requirement("SBX-10")
@requires(Capability.POD_NETWORK)
def test_address_of_a_pod_whose_process_could_not_be_made_is_given_back(
    steps: FailingSteps, config: cri.PodSandboxConfig
) -> None:
    """After a RunPodSandbox that failed behind its network, in the OCI runtime, no address MUST stay taken
    once what is listed is removed.

    Source: RunPodSandbox, whose sandbox is not there; StopPodSandbox, which reclaims what it had.
    """
    leases = steps.runtime.daemon.leases

    broken = {"create": [Fail(1, "the runtime has broken down")]}
    with steps.oci.planned(broken), must_be_refused():
        steps.runtime.containers.attempt(
            steps.runtime.containers.config(), in_sandbox=steps.runtime.sandboxes.attempt(config)
        )

    for half in steps.runtime.sandboxes.made_from(config):
        steps.remove(half.id)
    until_given_back(steps, leases)


@pytest.fixture
def _hanging_pod(steps: FailingSteps, config: cri.PodSandboxConfig) -> Iterator[None]:
    """A call of RunPodSandbox that waits for a CNI plugin that hangs."""
    with steps.hanging(steps.cni, "portmap/ADD"):
        call = steps.runtime.stub.RunPodSandbox.future(steps.runtime.sandboxes.creation(config))
        steps.until_held(steps.cni)
        yield
    call.cancel()


@requirement("NET-20/others")
@requires(Capability.POD_NETWORK)
@pytest.mark.usefixtures("_hanging_pod")
def test_a_plugin_that_hangs_holds_up_nobody_else(steps: FailingSteps) -> None:
    """While a CNI plugin hangs, lists and Status MUST be answered.

    Source: not stated by the CRI; the kubelet would take the whole node for dead.
    """
    stub = steps.runtime.stub

    seconds = [
        steps.runtime.timed(stub.ListPodSandbox, cri.ListPodSandboxRequest()).seconds,
        steps.runtime.timed(stub.ListContainers, cri.ListContainersRequest()).seconds,
        steps.runtime.timed(stub.Status, cri.StatusRequest()).seconds,
    ]

    assert max(seconds) < PROMPT_SECONDS * steps.runtime.scale


@requirement("NET-20/after")
@requires(Capability.POD_NETWORK)
def test_pod_whose_network_hung_can_be_removed_and_made(
    steps: FailingSteps, config: cri.PodSandboxConfig
) -> None:
    """What a RunPodSandbox leaves whose client went while a CNI plugin hung MUST be removable once the plugin
    has ended: the same pod can be made then, and no address is kept.

    Source: not stated by the CRI; the kubelet's own deadline is minutes, and it calls again.
    """
    runtime, request = steps.runtime, steps.runtime.sandboxes.creation(config)
    leases = runtime.daemon.leases

    with steps.hanging(steps.cni, "portmap/ADD"):
        call = runtime.stub.RunPodSandbox.future(request, timeout=GIVEN_UP_SECONDS * runtime.scale)
        steps.until_held(steps.cni)
        with must_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
            call.result()

    def clear_and_make() -> Sandbox:
        for half in runtime.sandboxes.made_from(config):
            steps.remove(half.id)
        # a call that comes while the one before ends may wait for that as long as it is let
        return runtime.sandboxes.attempt(config, timeout=GIVEN_UP_SECONDS * runtime.scale)

    # what is under way may still come to its end
    again = runtime.until_answered("RunPodSandbox of the same pod", clear_and_make)
    steps.remove(again.id)
    until_given_back(steps, leases)


@requirement("NET-21")
@requires(Capability.POD_NETWORK)
def test_every_plugin_that_was_called_to_add_is_called_to_delete(
    steps: FailingSteps, config: cri.PodSandboxConfig
) -> None:
    """For every CNI ADD of a pod StopPodSandbox MUST call the same plugin's DEL with the same id.

    Source: the CNI specification's DEL; StopPodSandbox.
    """
    steps.cni.take()
    with steps.cni.planned({ALL: [Record()]}):
        pod = steps.runtime.sandboxes.attempt(config)
        steps.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    calls = steps.cni.take()
    added = {(call.program, call.id) for call in calls if call.operation == "ADD"}
    assert added, "no plugin was called"
    assert added <= {(call.program, call.id) for call in calls if call.operation == "DEL"}


@requirement("NET-21")
@requires(Capability.POD_NETWORK)
def test_no_plugin_is_called_for_a_pod_on_the_network_of_the_host(steps: FailingSteps) -> None:
    """A pod on the node's network MUST NOT be added to another by a CNI plugin.

    Source: NamespaceOption.network; a plugin would change the interfaces of the node.
    """
    config = steps.runtime.sandboxes.config(namespaces=HOST_NETWORK)
    steps.cni.take()

    with steps.cni.planned({ALL: [Record()]}):
        steps.remove(steps.runtime.sandboxes.attempt(config).id)

    assert [call for call in steps.cni.take() if call.operation == "ADD"] == []


@requirement("NET-24")
@requires(Capability.POD_NETWORK)
def test_pod_is_refused_without_the_program_of_its_plugin(
    steps: FailingSteps, config: cri.PodSandboxConfig
) -> None:
    """RunPodSandbox MUST fail where the program of a CNI plugin is missing, and work once it is there again.

    Source: RunPodSandbox, whose success means a ready sandbox with its network.
    """
    runtime, request = steps.runtime, steps.runtime.sandboxes.creation(config)
    bridge = steps.cni.directory / "bin" / "bridge"
    away = bridge.rename(bridge.with_name("bridge.away"))

    try:
        runtime.refusal(runtime.stub.RunPodSandbox, request)
    finally:
        away.rename(bridge)

    for half in runtime.sandboxes.made_from(config):
        steps.remove(half.id)
    answer = runtime.until_answered(
        "RunPodSandbox with the plugin in place", lambda: runtime.stub.RunPodSandbox(request)
    )
    assert runtime.sandboxes.adopt(answer.pod_sandbox_id, config).state() == cri.SANDBOX_READY


@requirement("NET-25")
@requires(Capability.POD_NETWORK)
def test_pod_without_an_address_is_refused(steps: FailingSteps, config: cri.PodSandboxConfig) -> None:
    """RunPodSandbox SHOULD fail where the result of the CNI plugins has no address.

    Source: PodSandboxNetworkStatus.ip. Not stated by the CRI; nobody could reach the pod.
    """
    no_address = {"ADD": [Edit('"ips"', '"others"')]}

    assert refused(steps, config, no_address).code is not grpc.StatusCode.OK


@requirement("SBX-13")
@requires(Capability.POD_NETWORK)
def test_stop_of_a_sandbox_gives_its_address_back(steps: FailingSteps, pod: Sandbox) -> None:
    """StopPodSandbox MUST give back the address of the pod.

    Source: StopPodSandbox, which reclaims what the sandbox has of the network.
    """
    address = pod.status().network.ip
    assert address in steps.runtime.daemon.leases

    steps.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert address not in steps.runtime.daemon.leases


@requirement("SBX-19")
@requires(Capability.POD_NETWORK)
def test_stop_whose_network_cannot_be_taken_down_can_be_repeated(steps: FailingSteps, pod: Sandbox) -> None:
    """StopPodSandbox SHOULD fail where a CNI plugin fails, and give the address back when it is called again
    and the plugin works.

    Source: StopPodSandbox, which reclaims what the sandbox has of the network.
    """
    stop = cri.StopPodSandboxRequest(pod_sandbox_id=pod.id)
    address = pod.status().network.ip

    with steps.cni.planned({"DEL": [Fail(101, TOLD)]}), must_be_refused():
        steps.runtime.stub.StopPodSandbox(stop)
    steps.runtime.stub.StopPodSandbox(stop)

    assert address not in steps.runtime.daemon.leases


@requirement("NET-40")
@requires(Capability.POD_NETWORK, Capability.SHARED_KERNEL, Capability.ROOT)
def test_address_is_given_back_without_the_network_namespace(steps: FailingSteps, pod: Sandbox) -> None:
    """StopPodSandbox MUST give back the address of the pod, also where the file that held the pod's network
    namespace has gone.

    Source: StopPodSandbox, which reclaims what the sandbox has of the network.
    """
    address = pod.status().network.ip
    pins = pins_of(steps, pod)

    unpin(pins)
    steps.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert address not in steps.runtime.daemon.leases


@requirement("NET-40")
@requires(Capability.POD_NETWORK, Capability.SHARED_KERNEL, Capability.ROOT)
def test_address_is_given_back_after_the_network_namespace_went_with_the_daemon(
    steps: FailingSteps, pod: Sandbox
) -> None:
    """Where the file that held a pod's network namespace went while there was no daemon, the first
    StopPodSandbox afterwards MUST succeed, and give back the address of the pod.

    Source: StopPodSandbox, which reclaims what the sandbox has of the network, and is no error for what is
    gone already.
    """
    address = pod.status().network.ip
    pins = pins_of(steps, pod)

    with steps.runtime.down():
        unpin(pins)
    steps.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert address not in steps.runtime.daemon.leases
