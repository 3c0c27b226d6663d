"""A recording of the calls through the proxy: set fields, failed RPCs, repeated requests."""

import threading

from google.protobuf.message import DecodeError, Message

from critests_proof.language.descriptors import RpcDescriptor, is_map

ELEMENTS = 100
"""Limit of recorded list elements, because the elements of long lists are alike."""


class Watch:
    """Records every place that a fault could act on; thread-safe.

    A place is written as in a fault: `StopContainer`, `StopContainer.request.timeout`, the elements of a list
    `ListContainers.response.containers[]`; in addition `StopContainer.error` for an error, and
    `StopContainer.repeated` for a repeated request. A field with its default value counts as unset.
    """

    def __init__(self) -> None:
        self._places: set[str] = set()
        self._requests: set[tuple[str, bytes]] = set()
        self._lock = threading.Lock()

    def take(self) -> frozenset[str]:
        """Return the places so far, and reset the recording."""
        with self._lock:
            places, self._places = frozenset(self._places), set()
            self._requests.clear()
        return places

    def request(self, rpc: RpcDescriptor, raw: bytes) -> None:
        """Record a request."""
        with self._lock:
            self._places.add(rpc.name)
            if (rpc.name, raw) in self._requests:
                self._places.add(f"{rpc.name}.repeated")
            self._requests.add((rpc.name, raw))
        self._message(f"{rpc.name}.request", rpc.request, raw)

    def response(self, rpc: RpcDescriptor, raw: bytes) -> None:
        """Record a response, or one message of a stream."""
        self._message(f"{rpc.name}.response", rpc.response, raw)

    def error(self, rpc: RpcDescriptor) -> None:
        """Record an error of the runtime."""
        with self._lock:
            self._places.add(f"{rpc.name}.error")

    def _message(self, place: str, kind: type[Message], raw: bytes) -> None:
        message = kind()
        try:
            message.ParseFromString(raw)
        except DecodeError:  # a test that sends an invalid message
            return
        found = {place}
        _note(message, place, found)
        with self._lock:
            self._places |= found


def _note(message: Message, place: str, found: set[str]) -> None:
    for field, value in message.ListFields():
        here = f"{place}.{field.name}"
        found.add(here)
        if field.message_type is None or is_map(field):
            continue
        if field.is_repeated:
            found.add(f"{here}[]")
            for element in value[:ELEMENTS]:
                _note(element, f"{here}[]", found)
        else:
            _note(value, here, found)
