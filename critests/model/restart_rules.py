"""A restart of the daemon changes nothing. Only a container that was never started may be EXITED or UNKNOWN
afterwards (RST-04); it can be removed then.
"""

from collections.abc import Iterator

from critests.model.observations import CallResult
from critests.model.steps import Step
from critests.model.world import (
    CREATED,
    EXITED,
    GONE,
    NOTREADY,
    RUNNING,
    UNKNOWN,
    Breach,
    ContainerState,
    SandboxState,
    World,
)


def restarted(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """The daemon got SIGKILL and was started again."""
    if not result.ok:
        yield Breach(
            "RST-02", "the daemon after SIGKILL", step.rpc, "one that is ready again", result.details
        )
    world.stream = None
    for sandbox in world.living_sandboxes():
        if sandbox.removal_failed:
            # a restart may complete a removal that failed half way
            sandbox.may_be |= {GONE}
            for container in world.living_containers(sandbox.key):
                container.may_be |= {GONE}
    for container in world.living_containers():
        if CREATED in container.may_be:
            container.may_be |= {UNKNOWN, EXITED}
            container.exit_codes = frozenset()


def aspect_of(one: SandboxState | ContainerState) -> str:
    """Return the aspect that is broken if an object changed."""
    if isinstance(one, SandboxState):
        return "RST-03" if NOTREADY in one.may_be else "RST-02"
    if CREATED in one.may_be:
        return "RST-04/removable"
    return "RST-01" if RUNNING in one.may_be else "RST-05"
