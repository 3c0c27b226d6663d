"""Fixtures of the tests of the kubelet's sequences."""

import pytest

from critests.testing import Containers, Runtime, Sandboxes
from critests.validation.kubelet.pods import KubeletPod


@pytest.fixture
def pod(runtime: Runtime, sandboxes: Sandboxes, containers: Containers) -> KubeletPod:
    """A pod as the kubelet creates it, without a sandbox yet."""
    return KubeletPod(runtime, sandboxes, containers)
