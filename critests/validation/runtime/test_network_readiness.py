"""Whether the runtime follows the CNI configuration that is taken away and put back under it."""

import json
import re
from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import may_be_refused, must_be_refused
from critests.lifecycle.requests import HOST_NETWORK
from critests.lifecycle.waiting import ConditionNotMet
from critests.run.marks import disruptive, requirement
from critests.run.outcomes import Blocked, unsupported

pytestmark = disruptive

Readiness = dict[str, bool]
READINESS_SECONDS = 15.0
"""How long a runtime may take to follow: some wait a while before they believe that the network has gone."""
CHANGES = 100
CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")


@pytest.fixture
def readiness(own_runtime: OwnRuntime) -> Callable[[], Readiness]:
    """Return what asks Status for its conditions, by type."""

    def look() -> Readiness:
        status = own_runtime.stub.Status(cri.StatusRequest()).status
        return {condition.type: condition.status for condition in status.conditions}

    return look


@pytest.fixture
def without_network(own_runtime: OwnRuntime, readiness: Callable[[], Readiness]) -> str:
    """A runtime whose CNI configuration has been taken away, and which has noticed; return the
    configuration.
    """
    text = own_runtime.conflist.read_text(encoding="utf-8")
    own_runtime.conflist.unlink()
    try:
        own_runtime.eventually(
            "NetworkReady to turn false", readiness, READINESS_SECONDS, lambda seen: not seen["NetworkReady"]
        )
    except ConditionNotMet as error:
        raise Blocked(str(error), by="RT-09") from error
    return text


@requirement("RT-09")
def test_network_is_not_ready_without_its_configuration(
    own_runtime: OwnRuntime, readiness: Callable[[], Readiness]
) -> None:
    """Without a CNI configuration NetworkReady MUST turn false, RuntimeReady stay true, and a pod on the
    host's network still start.

    Source: RuntimeCondition, where NetworkReady is about the pods' network, and RuntimeReady about containers
    that need only the host's. The kubelet starts the pods that bring the network this way.
    """
    config = own_runtime.requests.sandbox(namespaces=HOST_NETWORK)

    own_runtime.conflist.unlink()
    own_runtime.eventually(
        "NetworkReady to turn false", readiness, READINESS_SECONDS, lambda seen: not seen["NetworkReady"]
    )
    answer = own_runtime.stub.RunPodSandbox(own_runtime.sandboxes.creation(config))

    pod = own_runtime.sandboxes.adopt(answer.pod_sandbox_id, config)
    seen = readiness()
    assert (seen["RuntimeReady"], seen["NetworkReady"]) == (True, False)
    assert pod.state() == cri.SANDBOX_READY


@requirement("RT-10")
def test_network_is_ready_again_with_its_configuration(
    own_runtime: OwnRuntime, readiness: Callable[[], Readiness], without_network: str
) -> None:
    """With a valid CNI configuration put in place NetworkReady SHOULD turn true again, without a restart of
    the daemon.

    Source: RuntimeCondition. Not stated by the CRI; on a new node the configuration comes after the runtime.
    """
    own_runtime.conflist.write_text(without_network, encoding="utf-8")
    own_runtime.eventually(
        "NetworkReady to turn true", readiness, READINESS_SECONDS, lambda seen: seen["NetworkReady"]
    )

    config = own_runtime.requests.sandbox()
    answer = own_runtime.stub.RunPodSandbox(own_runtime.sandboxes.creation(config))

    assert own_runtime.sandboxes.adopt(answer.pod_sandbox_id, config).status().network.ip
    assert not own_runtime.damage()


@requirement("RT-10")
def test_status_is_answered_while_the_network_configuration_changes(own_runtime: OwnRuntime) -> None:
    """Status MUST be answered, and pods be made, also while the CNI configuration is written again and again.

    Source: Status. Not stated by the CRI; a lock between the two would take the node away.
    """
    text = own_runtime.conflist.read_text(encoding="utf-8")
    asked = []

    for _ in range(CHANGES):
        asked += [own_runtime.stub.Status.future(cri.StatusRequest()) for _ in range(2)]
        # whole or not at all, as a network's own installer does it
        written = own_runtime.conflist.with_suffix(".new")
        written.write_text(text, encoding="utf-8")
        written.replace(own_runtime.conflist)

    assert [call.code() for call in asked] == [grpc.StatusCode.OK] * len(asked)
    own_runtime.until_answered(
        "RunPodSandbox after many changes",
        lambda: own_runtime.sandboxes.attempt(own_runtime.requests.sandbox()),
    )
    assert not own_runtime.damage()


@requirement("SBX-13")
def test_a_pod_of_a_network_without_a_version_can_be_stopped(own_runtime: OwnRuntime) -> None:
    """StopPodSandbox MUST give back the address of a pod whose CNI configuration names no version, where such
    a pod can be made.

    Source: StopPodSandbox; the CNI specification of old, by which the version is optional.
    """
    configuration = json.loads(own_runtime.conflist.read_text(encoding="utf-8"))
    del configuration["cniVersion"]
    own_runtime.conflist.write_text(json.dumps(configuration), encoding="utf-8")
    own_runtime.restart()
    config = own_runtime.sandboxes.marked_config()
    with may_be_refused():
        own_runtime.sandboxes.attempt(config, timeout=own_runtime.one_try)
    made = [entry for entry in own_runtime.sandboxes.made_from(config) if entry.state == cri.SANDBOX_READY]
    if not made:
        unsupported("the runtime makes no pods by a CNI configuration without a version")

    own_runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=made[0].id))

    assert own_runtime.daemon.leases == set()


@requirement("SBX-38")
@pytest.mark.usefixtures("without_network")
def test_pod_is_refused_while_the_network_is_not_ready(own_runtime: OwnRuntime) -> None:
    """While NetworkReady is false, RunPodSandbox of a pod on the pods' network SHOULD fail by its deadline,
    and no sandbox SHOULD be READY.

    Source: RuntimeCondition. Not stated by the CRI for the call; the kubelet starts no such pods meanwhile.
    """
    config = own_runtime.sandboxes.marked_config()

    with must_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        own_runtime.sandboxes.attempt(config, timeout=own_runtime.one_try)

    ready = [entry for entry in own_runtime.sandboxes.made_from(config) if entry.state == cri.SANDBOX_READY]
    assert ready == []
    assert not own_runtime.damage()


@requirement("RT-08")
@pytest.mark.usefixtures("without_network")
def test_a_condition_that_is_false_says_why(own_runtime: OwnRuntime) -> None:
    """A condition that is false SHOULD have a reason of one word in CamelCase, and a message for people.

    Source: RuntimeCondition.reason, RuntimeCondition.message.
    """
    conditions = own_runtime.stub.Status(cri.StatusRequest()).status.conditions

    told = [(each.reason, each.message) for each in conditions if each.type == "NetworkReady"]
    assert [reason for reason, _ in told if not CAMEL_CASE.fullmatch(reason)] == []
    assert [message for _, message in told if not message.strip()] == []
    assert told
