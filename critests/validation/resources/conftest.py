"""Fixtures of the tests of resources."""

import pytest

from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.validation.resources.limits import Limits


@pytest.fixture
def limits(runtime: Runtime, containers: Containers) -> Limits:
    """Makes containers with limits that show what the kernel got."""
    runtime.need_our_kernel()
    return Limits(runtime, containers)
