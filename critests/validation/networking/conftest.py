"""Fixtures of the tests of networking."""

import pytest

from critests.testing import Runtime
from critests.validation.networking.connections import Node


@pytest.fixture
def node(runtime: Runtime) -> Node:
    """The node's side of connections to pods: its address, its ports and its connections."""
    return Node(runtime.scale)
