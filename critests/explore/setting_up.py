"""A player on the runtime of a run: its base image pulled, and images of its own to pull and to remove."""

from collections.abc import Sequence
from functools import partial

from critests.client.connection import Connection
from critests.explore.disturbances import Below, SequenceImages, started_again
from critests.explore.sequence_runner import Player
from critests.model import Beat, Breach, Step
from critests.run.context import RunContext
from critests.run.failure_evidence import RuntimeLog
from critests.run.pulled_images import TestImages


def player_on(context: RunContext, connection: Connection) -> Player:
    """Return a player. A throwaway runtime whose daemon ends is started again, and in a disruptive run steps
    disturb what is below the calls to it.

    Raises:
        Blocked: the runtime does not reach the images.
        SetUpFailed: the pull of the base image failed.
    """
    base = TestImages(connection, context).pull()
    images = SequenceImages(None if context.settings.image_prefix else context.registry, context.run.id)
    owned = context.owned.runtime if context.owned else None
    runtime = owned if context.settings.disruptive else None
    return Player(
        connection,
        context.requests(),
        base,
        images,
        context.settings.handlers[0],
        Below(runtime, connection, images) if runtime and runtime.oci_wrapper else None,
        partial(started_again, owned, connection) if owned else None,
        RuntimeLog(context.runtime_log),
    )


def play_again(context: RunContext, steps: Sequence[Step | Beat], aspect: str) -> list[Breach]:
    """Play a sequence on the runtime of a run, and return how it breaks a promise: what a test calls that was
    written by `critests explore`.

    Args:
        context: the run.
        steps: one after another; a tuple of steps is played at once.
        aspect: the promise.
    """
    beats = [(each,) if isinstance(each, Step) else each for each in steps]
    connection = context.connect()
    try:
        return player_on(context, connection).breaches(beats, lambda breach: breach.aspect != aspect)
    finally:
        connection.close()
