"""A client that listens for events beside the steps of a sequence."""

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.model.event_rules import Due
from critests.model.observations import ObservedEvent, StateSnapshot

STREAM_SECONDS: Final = 1800.0
"""Deadline of a stream, longer than any sequence."""
EVENT_SECONDS = 3.0
"""How long what must have been told is waited for, before scaling."""
END_SECONDS = 2.0


class Listening:
    """One client of GetContainerEvents; what it hears is kept by object."""

    def __init__(self, connection: Connection) -> None:
        self._scale = connection.deadlines.scale
        self._heard: defaultdict[str, list[ObservedEvent]] = defaultdict(list)
        self._changed = threading.Condition()
        self._over = False
        self._messages = connection.runtime.GetContainerEvents(
            cri.GetEventsRequest(), timeout=STREAM_SECONDS * self._scale
        )
        self._reader = threading.Thread(target=self._read, name="events", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        # with whatever code it ends
        with contextlib.suppress(grpc.RpcError):
            for event in self._messages:
                with self._changed:
                    self._heard[event.container_id].append(_plain(event))
                    self._changed.notify()
        with self._changed:
            self._over = True
            self._changed.notify()

    def heard(
        self, look: StateSnapshot, wanted: Sequence[Due]
    ) -> dict[str, tuple[ObservedEvent, ...]] | None:
        """Return what has come by id, of what is seen and of what is wanted; what is wanted is waited for.
        None where the stream has ended.
        """
        deadline = time.monotonic() + EVENT_SECONDS * self._scale
        with self._changed:
            self._changed.wait_for(
                lambda: self._over or all(self._has_come(*each) for each in wanted),
                deadline - time.monotonic(),
            )
            if self._over:
                return None
            seen = {each.id for each in look.sandboxes} | {each.id for each in look.containers}
            ours = seen | {identity for identity, _ in wanted}
            return {identity: tuple(self._heard[identity]) for identity in ours if identity in self._heard}

    def _has_come(self, identity: str, kind: str) -> bool:
        return identity in self._heard and any(each.kind == kind for each in self._heard[identity])

    def leave(self) -> None:
        """End the stream from this side."""
        self._messages.cancel()
        self._reader.join(END_SECONDS)


def _plain(event: cri.ContainerEventResponse) -> ObservedEvent:
    name = cri.ContainerEventType.Name(event.container_event_type)
    own = [status.state for status in event.containers_statuses if status.id == event.container_id]
    return ObservedEvent(
        name.removeprefix("CONTAINER_").removesuffix("_EVENT"),
        event.created_at,
        cri.ContainerState.Name(own[0]) if own else "",
    )
