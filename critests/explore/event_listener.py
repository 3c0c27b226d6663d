"""A client of GetContainerEvents during the steps of a sequence."""

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.model.event_rules import ExpectedEvent
from critests.model.observations import ObservedEvent, StateSnapshot

STREAM_SECONDS: Final = 1800.0
"""Deadline of a stream, longer than any sequence."""
EVENT_SECONDS = 3.0
"""How long expected events are awaited, before scaling."""
END_SECONDS = 2.0


class EventListener:
    """One client of GetContainerEvents; it stores the events by object."""

    def __init__(self, connection: Connection) -> None:
        self._scale = connection.deadlines.scale
        self._events: defaultdict[str, list[ObservedEvent]] = defaultdict(list)
        self._changed = threading.Condition()
        self._over = False
        self._messages = connection.runtime.GetContainerEvents(
            cri.GetEventsRequest(), timeout=STREAM_SECONDS * self._scale
        )
        self._reader = threading.Thread(target=self._read, name="events", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        # the stream may end with any code
        with contextlib.suppress(grpc.RpcError):
            for event in self._messages:
                with self._changed:
                    self._events[event.container_id].append(_plain(event))
                    self._changed.notify()
        with self._changed:
            self._over = True
            self._changed.notify()

    def received(
        self, snapshot: StateSnapshot, expected: Sequence[ExpectedEvent]
    ) -> dict[str, tuple[ObservedEvent, ...]] | None:
        """Wait for the expected events, and return all events by id, of the listed objects and the expected
        ones. None if the stream has ended.
        """
        deadline = time.monotonic() + EVENT_SECONDS * self._scale
        with self._changed:
            self._changed.wait_for(
                lambda: self._over or all(self._has_come(*each) for each in expected),
                deadline - time.monotonic(),
            )
            if self._over:
                return None
            listed = {each.id for each in snapshot.sandboxes} | {each.id for each in snapshot.containers}
            ours = listed | {identity for identity, _ in expected}
            return {identity: tuple(self._events[identity]) for identity in ours if identity in self._events}

    def _has_come(self, identity: str, kind: str) -> bool:
        return identity in self._events and any(each.kind == kind for each in self._events[identity])

    def cancel(self) -> None:
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
