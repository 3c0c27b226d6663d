"""A player on the runtime of a run: its base image pulled, and images of its own to pull and to remove."""

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc

from critests.api import api_pb2 as cri
from critests.client import Connection
from critests.explore.playing import Player
from critests.images.registry_client import repository_of
from critests.lifecycle.run_label import RUN_LABEL
from critests.lifecycle.waiting import ConditionNotMet, eventually
from critests.model import Beat, Breach, Step
from critests.node.wrappers.actions import Fail
from critests.run.context import RunContext
from critests.run.pulled_images import TestImages

if TYPE_CHECKING:  # it is there already where a runtime was started
    from critests.node.throwaway import ThrowawayRuntime

RECONNECT_SECONDS = 5.0
IMAGES = {"image-1": ("one",), "image-2": ("first", "second")}
"""What steps pull and remove, with their tags."""


def player_on(context: RunContext, connection: Connection) -> Player:
    """Return a player; in a disruptive run its steps disturb the daemon, where that is a throwaway one.

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

    runtime = context.owned.runtime if context.settings.disruptive and context.owned else None
    return Player(
        connection,
        context.requests(),
        base,
        minted,
        context.settings.handlers[0],
        ThrowawayDaemon(runtime, connection) if runtime else None,
    )


@dataclass(frozen=True)
class ThrowawayDaemon:
    """The runtime that was started for the run, as steps disturb it."""

    runtime: "ThrowawayRuntime"
    connection: Connection

    def restart(self) -> None:
        """End it with SIGKILL, start it again and wait until it answers.

        Raises:
            RuntimeStartFailed: it does not come back.
        """
        self.runtime.kill()
        self.runtime.start_again()

        def answers() -> bool:
            with contextlib.suppress(grpc.RpcError):
                return bool(self.connection.runtime.Version(cri.VersionRequest()))
            return False

        with contextlib.suppress(ConditionNotMet):  # then the look after the step says so
            seconds = RECONNECT_SECONDS * self.connection.deadlines.scale
            eventually("Version after a restart", answers, seconds)

    @contextlib.contextmanager
    def failing(self, operation: str) -> Iterator[None]:
        """Let an operation of its OCI runtime fail for a while."""
        wrapper = self.runtime.oci_wrapper
        if wrapper is None:
            yield
            return
        with wrapper.planned({operation: [Fail(1, f"{operation} fails for a moment")]}):
            yield


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
