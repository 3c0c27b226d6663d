"""The descriptors of the CRI's RPCs, and near matches for misspelt names."""

import difflib
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from critests.api import api_pb2 as cri


class FaultError(ValueError):
    """A fault, or a file of faults, is malformed; the message names the error and near matches."""


@dataclass(frozen=True)
class RpcDescriptor:
    """One RPC.

    Attributes:
        name: as in the API, without the service.
        path: on the wire, `/package.Service/Name`.
        request: class of its request.
        response: class of its response, or of each message of a stream.
        streams: whether the response is a stream.
    """

    name: str
    path: str
    request: type[Message]
    response: type[Message]
    streams: bool


@functools.cache
def rpcs() -> dict[str, RpcDescriptor]:
    """Return every RPC of both services, by name."""
    return {
        method.name: RpcDescriptor(
            method.name,
            f"/{service.full_name}/{method.name}",
            GetMessageClass(method.input_type),
            GetMessageClass(method.output_type),
            bool(method.server_streaming),
        )
        for service in cri.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }


@functools.cache
def message_sides() -> dict[str, tuple[RpcDescriptor, str]]:
    """Return the RPC and the side (`request` or `response`) by the name of a message."""
    sides = {}
    for rpc in rpcs().values():
        for message, side in ((rpc.request, "request"), (rpc.response, "response")):
            sides[message.DESCRIPTOR.name] = (rpc, side)
    return sides


def descriptor_of(message: Message | type[Message]) -> Descriptor:
    """Return the descriptor of a message or of its class."""
    return cast("Descriptor", message.DESCRIPTOR)


def held_message(field: FieldDescriptor) -> Descriptor:
    """Return the descriptor of the messages that a field holds; of a map, of its entries."""
    assert field.message_type is not None
    return field.message_type


def held_enum(field: FieldDescriptor) -> EnumDescriptor:
    """Return the descriptor of the enum that a field holds."""
    assert field.enum_type is not None
    return field.enum_type


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field is a map."""
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def near(wrong: str, known: Iterable[str]) -> str:
    """Return ` (did you mean …?)` for an unknown name, or an empty text."""
    names = list(known)
    folded = {name.lower(): name for name in names}
    close = [folded[name] for name in difflib.get_close_matches(wrong.lower(), folded, n=3, cutoff=0.6)]
    return f" (did you mean {' or '.join(close)}?)" if close else ""
