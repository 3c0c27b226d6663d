"""Probes of a runtime that does not respond."""

import pytest

from critests.catalogue.words import Capability
from critests.client.connection import connect
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint
from critests.node.observing.capabilities import CapabilityMatrix, RuntimeProbes
from tests.criserver import CriServer, serve

PROBED_RPC = {
    Capability.CHECKPOINT: "CheckpointContainer",
    Capability.POD_STATS: "PodSandboxStats",
    Capability.METRICS: "ListMetricDescriptors",
    Capability.STREAMING_LISTS: "StreamPodSandboxes",
    Capability.RUNTIME_CONFIG: "RuntimeConfig",
    Capability.POD_NETWORK: "Status",
}


@pytest.mark.parametrize("capability", PROBED_RPC)
def test_capability_is_unknown_if_its_rpc_hangs(capability: Capability) -> None:
    with serve(CriServer(wrong={f"hangs={PROBED_RPC[capability]}"})) as endpoint:
        connection = connect(Endpoint.parse(endpoint), deadlines=Deadlines(0.02))
        found = CapabilityMatrix(RuntimeProbes(connection).all()).fact(capability)
        connection.close()

    assert found.present is None
    assert "did not answer within" in found.evidence or "DEADLINE_EXCEEDED" in found.evidence
