"""Fixtures of the resource tests."""

import pytest

from critests.testing import Containers, Runtime
from critests.validation.resources.limits import Limits


@pytest.fixture
def limits(runtime: Runtime, containers: Containers) -> Limits:
    """Creates containers with limits and reads their cgroups."""
    runtime.require_host_kernel()
    return Limits(runtime, containers)
