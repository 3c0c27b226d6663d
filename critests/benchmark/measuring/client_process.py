"""The environment that the process that times calls needs before it imports gRPC."""

from collections.abc import Mapping
from typing import Final

EXPERIMENTS: Final = "GRPC_EXPERIMENTS"
WAITER_READS: Final = "-event_engine_client"
"""gRPC's event engine reads responses in its own thread, which then wakes the thread that waits for them.
Without the event engine the waiting thread reads: a small call costs the client about two thirds of the time,
and its variance is smaller (`tools/measure_reference.py` shows both).
"""


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a process that times calls; a `GRPC_EXPERIMENTS` of the user is preserved."""
    return {EXPERIMENTS: WAITER_READS, **base}
