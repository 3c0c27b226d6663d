"""Ways to be wrong that have a memory: what they break shows only after certain calls, as with a runtime that
loses track of its state.

Each function with `@way` makes one, called as the function with dashes; what it remembers is the server's
own.
"""

from tests.criserver.slips import containers, images, sandboxes, side_by_side, streams
from tests.criserver.slips.slip import SLIPS

__all__ = ["SLIPS", "containers", "images", "sandboxes", "side_by_side", "streams"]
