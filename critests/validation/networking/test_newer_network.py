"""NET: STATUS and GC, which version 1.1 of the CNI adds."""

from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    OwnRuntime,
    configured,
    disruptive,
    requirement,
    requires,
    unsupported,
)
from critests.validation.networking.newer_network import NewerNetwork

NetworkReady = Callable[[], bool]

READINESS_SECONDS = 40.0
"""How long NetworkReady may take to change: some runtimes wait half a minute for a stable result."""

pytestmark = requires(Capability.POD_NETWORK)


@pytest.fixture
def newer(own_runtime: OwnRuntime) -> NewerNetwork:
    """A network of CNI version 1.1, which replaces that of the test's own runtime."""
    return NewerNetwork(own_runtime)


@pytest.fixture
def network_is_ready(own_runtime: OwnRuntime) -> NetworkReady:
    """Asks Status for the condition NetworkReady."""

    def ask() -> bool:
        conditions = own_runtime.stub.Status(cri.StatusRequest()).status.conditions
        return any(each.type == "NetworkReady" and each.status for each in conditions)

    return ask


@requirement("NET-22")
@disruptive
@configured(wrapped=True)
def test_network_is_not_ready_while_its_plugin_reports_an_error(
    own_runtime: OwnRuntime, newer: NewerNetwork, network_is_ready: NetworkReady
) -> None:
    """NetworkReady MUST turn false some time after STATUS of a CNI plugin fails, and true once it succeeds,
    if the runtime calls STATUS.

    Source: RuntimeCondition, NetworkReady; the CNI specification's STATUS.
    """
    assert network_is_ready()
    if not newer.calls("STATUS"):
        unsupported("CNI 1.1: STATUS is not called")

    newer.go_down()

    own_runtime.eventually(
        "NetworkReady to turn false", network_is_ready, READINESS_SECONDS, holds=lambda is_ready: not is_ready
    )
    newer.come_up()
    own_runtime.eventually("NetworkReady to turn true", network_is_ready, READINESS_SECONDS)


@requirement("NET-23")
@disruptive
@configured(wrapped=True)
def test_gc_lists_attachments_in_use_as_valid(own_runtime: OwnRuntime, newer: NewerNetwork) -> None:
    """A runtime that calls GC of CNI plugins MUST list the attachments of existing pods as valid, with their
    interface names, and no others.

    Source: the CNI specification's GC, cni.dev/valid-attachments. A plugin deletes all other attachments.
    """
    used, removed = newer.pod(), newer.pod()
    removed.discard()

    own_runtime.restart()

    # runtimes that call GC do so when they start
    collections = newer.calls("GC")
    if not collections:
        unsupported("CNI 1.1: GC is not called, not even when the daemon starts")
    attachments = collections[-1]["cni.dev/valid-attachments"] or []
    valid = [(each["containerID"], each["ifname"]) for each in attachments]
    assert valid == [attachment for attachment in newer.added() if used.id in attachment]
