"""The CRI as a state machine: how a runtime may respond to a call, and what its lists and statuses must
report afterwards.

Read the modules next to the API, in this order: `steps` (what a client can do), `observations` (what it
observes), `world` (what it knows), then the rules by kind of object: `sandbox_rules`, `container_rules`,
`image_rules`, `event_rules`, `restart_rules`; `linearization` is about concurrent calls. Every rule names an
aspect of the catalogue, which defines its level. Where the API leaves a choice, the model accepts what the
runtime did first, and expects the same from then on.

    >>> world = World()
    >>> judge(world, step, result, snapshot)
    []

Pure functions: no gRPC, no clock, no randomness.
"""

from critests.model.step_check import judge
from critests.model.steps import Step, StepGroup
from critests.model.world import Breach, World

__all__ = ["Breach", "Step", "StepGroup", "World", "judge"]
