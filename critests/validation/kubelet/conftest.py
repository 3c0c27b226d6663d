"""Fixtures of the kubelet's sequences."""

import pytest

from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.validation.kubelet.pods import Pod


@pytest.fixture
def pod(runtime: Runtime, sandboxes: Sandboxes, containers: Containers) -> Pod:
    """A pod of the kubelet's, nothing of which has been made yet."""
    return Pod(runtime, sandboxes, containers)
