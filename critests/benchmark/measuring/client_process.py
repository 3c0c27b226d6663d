"""The process in which calls are timed: what has to stand in its environment before gRPC is imported."""

from collections.abc import Mapping
from typing import Final

EXPERIMENTS: Final = "GRPC_EXPERIMENTS"
WAITER_READS: Final = "-event_engine_client"
"""gRPC's event engine reads answers in a thread of its own, which then wakes the one that waits for them.
Without it the one that waits
reads by itself: a small call takes the client about two thirds of the time, and varies less
(`tools/measure_floors.py` shows both).
"""


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a process that times calls; what the user chose of gRPC's experiments
    stands.
    """
    return {EXPERIMENTS: WAITER_READS, **given}
