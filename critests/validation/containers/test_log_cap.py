"""LOG: a runtime that truncates logs itself."""

from critests.testing import LogCap, OwnRuntime, configured, disruptive, requirement

# bytes; a runtime may reject a cap below its read buffer of 8 KiB
CAP = 16 << 10
PRINTED = 2000
"""Lines; with time and stream they have six times as many bytes as the cap."""


@requirement("LOG-28")
@disruptive
@configured(LogCap(CAP))
def test_a_runtime_that_truncates_logs_keeps_the_newest_lines(own_runtime: OwnRuntime) -> None:
    """A log SHOULD NOT exceed the maximum size of the runtime's configuration, and SHOULD lose only its
    oldest lines.

    Source: not stated by the CRI; the last lines say what went wrong.
    """
    container = own_runtime.container(script=f"seq 1 {PRINTED}; sleep 300")

    lines = container.wait_for_log(str(PRINTED))

    first = int(lines[0])
    assert lines == [str(number) for number in range(first, PRINTED + 1)]
    assert container.written_log.stat().st_size <= CAP
