"""What a CRI runtime may answer, and what its lists and statuses must say then: the API as a state machine.

Read it beside the API, in this order: `steps` (what a client can do), `sights` (what it sees), `world` (what
it knows), then a module for each kind of object: `sandboxes`, `containers`, `images`; `orders` is about calls
at the same time. Every rule names the aspect of the catalogue that it comes from, and the catalogue has its
level. Where the API leaves a choice, the model follows what the runtime did, and holds it to that from then
on.

    >>> world = World()
    >>> judge(world, step, answer, look)
    []

Pure: nothing here knows gRPC, time or chance.
"""

from critests.model.step_check import judge
from critests.model.steps import Beat, Step
from critests.model.world import Breach, World

__all__ = ["Beat", "Breach", "Step", "World", "judge"]
