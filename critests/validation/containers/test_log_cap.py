"""LOG: a runtime that cuts logs by itself."""

from collections.abc import Iterator

import pytest

from critests.fixtures.own_runtime import OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.node.kinds.told import LogCap
from critests.run.context import Shape
from critests.run.marks import disruptive, requirement

CAP = 16 << 10
PRINTED = 2000
"""Lines, in six times as many bytes as the cap."""


@pytest.fixture
def capping_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that cuts the log of a container at `CAP`."""
    with shaped(request, runtime, Shape(told=(LogCap(CAP),))) as own:
        yield own


@requirement("LOG-28")
@disruptive
def test_a_runtime_that_cuts_logs_keeps_the_newest_lines(capping_runtime: OwnRuntime) -> None:
    """A runtime that is configured to cut logs SHOULD keep them below that size, and lose none but the oldest
    lines.

    Source: not stated by the CRI; what went wrong stands at the end.
    """
    container = capping_runtime.container(script=f"seq 1 {PRINTED}; sleep 300")

    lines = container.wait_for_log(str(PRINTED))

    first = int(lines[0])
    assert lines == [str(number) for number in range(first, PRINTED + 1)]
    assert container.written_log.stat().st_size <= CAP
