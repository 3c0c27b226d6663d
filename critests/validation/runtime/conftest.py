"""Fixtures of the tests of the runtime as a whole."""

import signal
from collections.abc import Iterator

import pytest

from critests.testing import Blocked, OwnRuntime, Streams
from critests.validation.runtime.survivors import Survivors, survivors_of_restart


@pytest.fixture(scope="module", params=[signal.SIGTERM, signal.SIGKILL], ids=["in order", "killed"])
def restarted(request: pytest.FixtureRequest, module_runtime: OwnRuntime) -> Iterator[Survivors]:
    """Sandboxes and containers in every state from before a restart of their daemon, whether it came back or
    not.
    """
    with survivors_of_restart(module_runtime, request.param) as survivors:
        yield survivors


@pytest.fixture
def survivors(restarted: Survivors) -> Survivors:
    """Sandboxes and containers in every state from before a restart of their daemon."""
    if restarted.failure:
        # many tests share the restart: if it fails, only the test of RST-01 does
        raise Blocked(restarted.failure, by="RST-01")
    return restarted


@pytest.fixture
def sessions(survivors: Survivors) -> Iterator[Streams]:
    """Opens streaming sessions on the restarted runtime."""
    opened = Streams(survivors.runtime)
    yield opened
    opened.close()
