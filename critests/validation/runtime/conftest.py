"""Fixtures of the tests of the runtime as a whole."""

import signal
from collections.abc import Iterator

import pytest

from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.streaming import Streams
from critests.run.outcomes import Blocked
from critests.validation.runtime.survivors import Survivors, surviving


@pytest.fixture(scope="module", params=[signal.SIGTERM, signal.SIGKILL], ids=["in order", "killed"])
def restarted(request: pytest.FixtureRequest, module_runtime: OwnRuntime) -> Iterator[Survivors]:
    """Sandboxes and containers in every state that were made before their daemon was restarted, whether it
    came back or not.
    """
    with surviving(module_runtime, request.param) as found:
        yield found


@pytest.fixture
def survivors(restarted: Survivors) -> Survivors:
    """Sandboxes and containers in every state that were made before a restart of their daemon."""
    if restarted.failure:
        raise Blocked(restarted.failure, by="RST-01")
    return restarted


@pytest.fixture
def sessions(survivors: Survivors) -> Iterator[Streams]:
    """Opens sessions on the runtime that was restarted."""
    opened = Streams(survivors.runtime)
    yield opened
    opened.close()
