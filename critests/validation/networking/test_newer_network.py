"""NET: what version 1.1 of the CNI has beside the older ones: STATUS and GC."""

from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.own_runtime import OwnRuntime
from critests.run.marks import disruptive, requirement, requires
from critests.run.outcomes import unsupported
from critests.validation.networking.newer_network import NewerNetwork

Ready = Callable[[], bool]

READINESS_SECONDS = 40.0
"""How long a runtime may take to follow: some wait half a minute before they believe it."""

pytestmark = requires(Capability.POD_NETWORK)


@pytest.fixture
def newer(wrapped_runtime: OwnRuntime) -> NewerNetwork:
    """A network of version 1.1 in place of that of the test's own runtime."""
    return NewerNetwork(wrapped_runtime)


@pytest.fixture
def ready(wrapped_runtime: OwnRuntime) -> Ready:
    """Return what asks Status for NetworkReady."""

    def ask() -> bool:
        conditions = wrapped_runtime.stub.Status(cri.StatusRequest()).status.conditions
        return any(each.type == "NetworkReady" and each.status for each in conditions)

    return ask


@requirement("NET-22")
@disruptive
def test_network_is_not_ready_while_its_plugin_is_not(
    wrapped_runtime: OwnRuntime, newer: NewerNetwork, ready: Ready
) -> None:
    """Where the runtime asks CNI plugins for their STATUS, NetworkReady MUST turn false some time after that
    fails, and true again with it.

    Source: RuntimeCondition, NetworkReady; the CNI specification's STATUS.
    """
    assert ready()
    if not newer.calls("STATUS"):
        unsupported("CNI 1.1: STATUS is not called")

    newer.go_down()

    wrapped_runtime.eventually(
        "NetworkReady to turn false", ready, READINESS_SECONDS, holds=lambda seen: not seen
    )
    newer.come_up()
    wrapped_runtime.eventually("NetworkReady to turn true", ready, READINESS_SECONDS)


@requirement("NET-23")
@disruptive
def test_attachments_that_are_in_use_are_no_garbage(wrapped_runtime: OwnRuntime, newer: NewerNetwork) -> None:
    """Where the runtime lets CNI plugins collect garbage, it MUST name the pods that use the network among
    the valid attachments, each with the name of its interface, and none that is gone.

    Source: the CNI specification's GC, cni.dev/valid-attachments. A plugin takes away what is not named.
    """
    used, gone = newer.pod(), newer.pod()
    gone.discard()

    wrapped_runtime.restart()

    collections = newer.calls("GC")
    if not collections:
        unsupported("CNI 1.1: GC is not called, not even when the daemon starts")
    attachments = collections[-1]["cni.dev/valid-attachments"] or []
    valid = [(each["containerID"], each["ifname"]) for each in attachments]
    assert valid == [attachment for attachment in newer.added() if used.id in attachment]
