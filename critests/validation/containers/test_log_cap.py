"""LOG: a runtime that truncates logs itself."""

from collections.abc import Iterator

import pytest

from critests.fixtures.own_runtime import OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.run.context import RuntimeSetup
from critests.run.marks import disruptive, requirement
from critests.runtimes.runtime_settings import LogCap

CAP = 16 << 10
PRINTED = 2000
"""Lines; with time and stream they have six times as many bytes as the cap."""


@pytest.fixture
def capping_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that is configured to truncate the log of a container at `CAP` bytes."""
    with shaped(request, runtime, RuntimeSetup(settings=(LogCap(CAP),))) as own:
        yield own


@requirement("LOG-28")
@disruptive
def test_a_runtime_that_cuts_logs_keeps_the_newest_lines(capping_runtime: OwnRuntime) -> None:
    """A log SHOULD NOT exceed the maximum size of the runtime's configuration, and SHOULD lose only its
    oldest lines.

    Source: not stated by the CRI; the last lines say what went wrong.
    """
    container = capping_runtime.container(script=f"seq 1 {PRINTED}; sleep 300")

    lines = container.wait_for_log(str(PRINTED))

    first = int(lines[0])
    assert lines == [str(number) for number in range(first, PRINTED + 1)]
    assert container.written_log.stat().st_size <= CAP
