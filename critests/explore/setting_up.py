"""A player on the runtime of a run: its base image pulled, and images of its own to pull and to remove."""

import secrets
from collections.abc import Sequence

from critests.client import Connection
from critests.explore.playing import Player
from critests.images.registry_client import repository_of
from critests.lifecycle.run_label import RUN_LABEL
from critests.model import Breach, Step
from critests.run.context import RunContext
from critests.run.pulled_images import TestImages

IMAGES = {"image-1": ("one",), "image-2": ("first", "second")}
"""What steps pull and remove, with their tags. Where the user's registry serves the images there are none:
they may be somebody else's too.
"""


def player_on(context: RunContext, connection: Connection) -> Player:
    """Return a player.

    Raises:
        Blocked: the runtime does not reach the images.
        SetUpFailed: the pull of the base image failed.
    """
    base = TestImages(connection, context).pull()
    images: dict[str, tuple[str, ...]] = {}
    if context.registry is not None and not context.settings.image_prefix:
        for key, tags in IMAGES.items():
            repository = repository_of(context.run.id, f"explore-{key}-{secrets.token_hex(3)}")
            minted = context.registry.mint(
                "plain",
                repository,
                tags=tags,
                salt=secrets.token_hex(8),
                labels={RUN_LABEL: context.run.id},
            )
            images[key] = tuple(f"{minted.reference.rpartition(':')[0]}:{tag}" for tag in tags)
    return Player(connection, context.requests(), base, images, context.settings.handlers[0])


def play_again(context: RunContext, steps: Sequence[Step]) -> list[Breach]:
    """Play a sequence on the runtime of a run, and return the promises that it breaks: what a test calls that
    was written by `critests explore`.
    """
    connection = context.connect()
    try:
        return player_on(context, connection).breaches(steps)
    finally:
        connection.close()
