"""Fixtures of the resource tests."""

import pytest

from critests.fixtures.container_fixtures import Containers
from critests.fixtures.runtime import Runtime
from critests.validation.resources.limits import Limits


@pytest.fixture
def limits(runtime: Runtime, containers: Containers) -> Limits:
    """Creates containers with limits and reads their cgroups."""
    runtime.require_host_kernel()
    return Limits(runtime, containers)
