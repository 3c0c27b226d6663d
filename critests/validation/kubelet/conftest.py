"""Fixtures of the tests of the kubelet's sequences."""

import pytest

from critests.fixtures.container_fixtures import Containers
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandbox_fixtures import Sandboxes
from critests.validation.kubelet.pods import KubeletPod


@pytest.fixture
def pod(runtime: Runtime, sandboxes: Sandboxes, containers: Containers) -> KubeletPod:
    """A pod as the kubelet creates it, without a sandbox yet."""
    return KubeletPod(runtime, sandboxes, containers)
