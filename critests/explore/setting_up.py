"""Sets up a runner on the runtime of a run: pulls its base image, and provides images for its steps to pull
and remove.
"""

from collections.abc import Sequence
from functools import partial

from critests.client.connection import Connection
from critests.explore.disturbances import Disturbances, SequenceImages, started_again
from critests.explore.sequence_runner import SequenceRunner
from critests.model import Breach, Step, StepGroup
from critests.run.context import RunContext
from critests.run.failure_evidence import RuntimeLog
from critests.run.pulled_images import TestImages


def runner_on(context: RunContext, connection: Connection) -> SequenceRunner:
    """Return a runner. A throwaway runtime whose daemon exits is started again, and in a disruptive run steps
    disturb what is below the calls to it.

    Raises:
        Blocked: the runtime does not reach the images.
        SetUpFailed: the pull of the base image failed.
    """
    base = TestImages(connection, context).pull()
    images = SequenceImages(None if context.settings.image_prefix else context.registry, context.run.id)
    owned = context.owned.runtime if context.owned else None
    runtime = owned if context.settings.disruptive else None
    return SequenceRunner(
        connection,
        context.requests(),
        base,
        images,
        context.settings.handlers[0],
        Disturbances(runtime, connection, images) if runtime and runtime.wrappers.oci else None,
        partial(started_again, owned, connection) if owned else None,
        RuntimeLog(context.runtime_log),
    )


def replay(context: RunContext, steps: Sequence[Step | StepGroup], aspect: str) -> list[Breach]:
    """Run a sequence on the runtime of a run, and return how it breaks a promise. Tests that `critests
    explore` writes call this.

    Args:
        context: the run.
        steps: in their order; the steps of a tuple run concurrently.
        aspect: the promise.
    """
    groups = [(each,) if isinstance(each, Step) else each for each in steps]
    connection = context.connect()
    try:
        return runner_on(context, connection).breaches(groups, lambda breach: breach.aspect != aspect)
    finally:
        connection.close()
