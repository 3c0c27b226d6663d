"""Probes of a runtime that does not respond."""

import pytest

from critests.catalogue.words import Capability
from critests.client.deadlines import Deadlines
from critests.node.observing.capabilities import CapabilityMatrix, RuntimeProbes
from tests.criserver import CriServer
from tests.criserver.connected import connected

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
    server = CriServer(wrong={f"hangs={PROBED_RPC[capability]}"})
    with connected(server, deadlines=Deadlines(0.02)) as connection:
        found = CapabilityMatrix(RuntimeProbes(connection).all()).fact(capability)

    assert found.present is None
    assert "did not answer within" in found.evidence or "DEADLINE_EXCEEDED" in found.evidence
