"""Ways to be wrong with a memory: they show only after certain calls, as with a runtime that loses track of
its state.

Each function with `@way` creates one, whose name is the function's with dashes; its memory is one server's.
"""

from tests.criserver.stateful_ways import containers, images, overlapping_calls, sandboxes, streams
from tests.criserver.stateful_ways.definitions import STATEFUL_WAYS

__all__ = ["STATEFUL_WAYS", "containers", "images", "overlapping_calls", "sandboxes", "streams"]
