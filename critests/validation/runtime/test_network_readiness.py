"""The runtime follows changes of the CNI configuration: its removal, its return, and frequent rewrites."""

import json
import re
from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    HOST_NETWORK,
    Blocked,
    ConditionNotMet,
    OwnRuntime,
    disruptive,
    may_be_refused,
    must_be_refused,
    requirement,
    unsupported,
)

pytestmark = disruptive

Readiness = dict[str, bool]
READINESS_SECONDS = 15.0
"""For a runtime to follow a change: some wait a while before they report the network as not ready."""
CHANGES = 100  # a deadlock of two threads is a race, which takes many tries
CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")


@pytest.fixture
def readiness(own_runtime: OwnRuntime) -> Callable[[], Readiness]:
    """Return a function that returns the conditions of Status, by type."""

    def conditions() -> Readiness:
        status = own_runtime.stub.Status(cri.StatusRequest()).status
        return {condition.type: condition.status for condition in status.conditions}

    return conditions


@pytest.fixture
def without_network(own_runtime: OwnRuntime, readiness: Callable[[], Readiness]) -> str:
    """A runtime that has noticed the removal of its CNI configuration; return the configuration's text."""
    text = own_runtime.conflist.read_text(encoding="utf-8")
    own_runtime.conflist.unlink()
    try:
        own_runtime.eventually(
            "NetworkReady to become false",
            readiness,
            READINESS_SECONDS,
            lambda now: not now["NetworkReady"],
        )
    except ConditionNotMet as error:
        raise Blocked(str(error), by="RT-09") from error
    return text


@requirement("RT-09")
def test_network_is_not_ready_without_its_configuration(
    own_runtime: OwnRuntime, readiness: Callable[[], Readiness]
) -> None:
    """NetworkReady MUST become false without a CNI configuration, RuntimeReady MUST stay true, and a pod on
    the host's network MUST still start.

    Source: RuntimeCondition: NetworkReady concerns the pod network, RuntimeReady containers that need only
    the host's network. The kubelet starts the pods of the network add-on this way.
    """
    config = own_runtime.requests.sandbox(namespaces=HOST_NETWORK)

    own_runtime.conflist.unlink()
    own_runtime.eventually(
        "NetworkReady to become false", readiness, READINESS_SECONDS, lambda now: not now["NetworkReady"]
    )
    response = own_runtime.stub.RunPodSandbox(own_runtime.sandboxes.creation(config))

    pod = own_runtime.sandboxes.adopt(response.pod_sandbox_id, config)
    conditions = readiness()
    assert (conditions["RuntimeReady"], conditions["NetworkReady"]) == (True, False)
    assert pod.state() == cri.SANDBOX_READY


@requirement("RT-10")
def test_network_is_ready_again_with_its_configuration(
    own_runtime: OwnRuntime, readiness: Callable[[], Readiness], without_network: str
) -> None:
    """NetworkReady SHOULD become true again, without a restart of the daemon, when a valid CNI configuration
    is put in place.

    Source: RuntimeCondition. Not stated by the CRI; on a new node the configuration is installed after the
    runtime.
    """
    own_runtime.conflist.write_text(without_network, encoding="utf-8")
    own_runtime.eventually(
        "NetworkReady to become true", readiness, READINESS_SECONDS, lambda now: now["NetworkReady"]
    )

    config = own_runtime.requests.sandbox()
    response = own_runtime.stub.RunPodSandbox(own_runtime.sandboxes.creation(config))

    assert own_runtime.sandboxes.adopt(response.pod_sandbox_id, config).status().network.ip
    assert not own_runtime.damage()


@requirement("RT-10")
def test_status_succeeds_while_the_network_configuration_changes(own_runtime: OwnRuntime) -> None:
    """Status MUST succeed while the CNI configuration is rewritten again and again, and RunPodSandbox MUST
    succeed afterwards.

    Source: Status. Not stated by the CRI; a deadlock between the two would make the node unusable.
    """
    text = own_runtime.conflist.read_text(encoding="utf-8")
    calls = []

    for _ in range(CHANGES):
        calls += [own_runtime.stub.Status.future(cri.StatusRequest()) for _ in range(2)]
        # atomically, as the installers of networks do it; a runtime does not read files with this suffix
        written = own_runtime.conflist.with_suffix(".new")
        written.write_text(text, encoding="utf-8")
        written.replace(own_runtime.conflist)

    assert [call.code() for call in calls] == [grpc.StatusCode.OK] * len(calls)
    own_runtime.retry_until_ok(
        "RunPodSandbox after many changes",
        lambda: own_runtime.sandboxes.attempt(own_runtime.requests.sandbox()),
    )
    assert not own_runtime.damage()


@requirement("SBX-13")
def test_pod_of_a_cni_configuration_without_a_version_can_be_stopped(own_runtime: OwnRuntime) -> None:
    """StopPodSandbox MUST release the address of a pod whose CNI configuration has no cniVersion, if the
    runtime creates such a pod.

    Source: StopPodSandbox; old versions of the CNI specification, in which cniVersion is optional.
    """
    configuration = json.loads(own_runtime.conflist.read_text(encoding="utf-8"))
    del configuration["cniVersion"]
    own_runtime.conflist.write_text(json.dumps(configuration), encoding="utf-8")
    # a runtime need not report when it has read a changed configuration
    own_runtime.restart()
    config = own_runtime.sandboxes.marked_config()
    with may_be_refused():
        own_runtime.sandboxes.attempt(config, timeout=own_runtime.one_try)
    created = [
        entry for entry in own_runtime.sandboxes.created_from(config) if entry.state == cri.SANDBOX_READY
    ]
    if not created:
        unsupported("the runtime creates no pods with a CNI configuration without cniVersion")

    own_runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=created[0].id))

    assert own_runtime.daemon.leases == set()


@requirement("SBX-38")
@pytest.mark.usefixtures("without_network")
def test_pod_is_refused_while_the_network_is_not_ready(own_runtime: OwnRuntime) -> None:
    """RunPodSandbox of a pod on the pod network SHOULD fail by its deadline while NetworkReady is false, and
    no sandbox SHOULD be READY.

    Source: RuntimeCondition. Not stated by the CRI for the call; the kubelet starts no such pods while
    NetworkReady is false.
    """
    config = own_runtime.sandboxes.marked_config()

    with must_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        own_runtime.sandboxes.attempt(config, timeout=own_runtime.one_try)

    ready = [
        entry for entry in own_runtime.sandboxes.created_from(config) if entry.state == cri.SANDBOX_READY
    ]
    assert ready == []
    assert not own_runtime.damage()


@requirement("RT-08")
@pytest.mark.usefixtures("without_network")
def test_false_condition_has_a_reason_and_a_message(own_runtime: OwnRuntime) -> None:
    """A false condition of Status SHOULD have a reason, one word in CamelCase, and a message.

    Source: RuntimeCondition.reason, RuntimeCondition.message.
    """
    conditions = own_runtime.stub.Status(cri.StatusRequest()).status.conditions

    # the network's condition is false here, and has to say why
    false = [(each.reason, each.message) for each in conditions if each.type == "NetworkReady"]
    assert [reason for reason, _ in false if not CAMEL_CASE.fullmatch(reason)] == []
    assert [message for _, message in false if not message.strip()] == []
    assert false
