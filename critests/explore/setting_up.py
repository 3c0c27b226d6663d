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
"""What steps pull and remove, with their tags."""


def player_on(context: RunContext, connection: Connection) -> Player:
    """Return a player.

    Where the user's registry serves the images, steps pull and remove none: they may be somebody else's too.

    Raises:
        Blocked: the runtime does not reach the images.
        SetUpFailed: the pull of the base image failed.
    """
    base = TestImages(connection, context).pull()
    registry = None if context.settings.image_prefix else context.registry
    prefix = repository_of(context.run.id, "explore")

    def minted() -> dict[str, tuple[str, ...]]:
        if registry is None:
            return {}
        registry.remove_repository(f"{prefix}/*")
        salt = secrets.token_hex(8)
        made = {}
        for key, tags in IMAGES.items():
            image = registry.mint(
                "plain",
                f"{prefix}/{key}-{salt}",
                tags=tags,
                salt=f"{key} {salt}",
                labels={RUN_LABEL: context.run.id},
            )
            made[key] = tuple(f"{registry.address}/{image.repository}:{tag}" for tag in tags)
        return made

    return Player(connection, context.requests(), base, minted, context.settings.handlers[0])


def play_again(context: RunContext, steps: Sequence[Step], aspect: str) -> list[Breach]:
    """Play a sequence on the runtime of a run, and return how it breaks a promise: what a test calls that was
    written by `critests explore`.
    """
    connection = context.connect()
    try:
        return player_on(context, connection).breaches(steps, lambda breach: breach.aspect != aspect)
    finally:
        connection.close()
