"""What the null server answers, prepared beforehand: nothing, one small message, or a list of N."""

from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message

from critests.api import api_pb2 as cri

STREAM_CHUNK: Final = 100
"""Entries in one message of a streaming list."""
_DEPTH: Final = 3
"""How deep messages in messages are filled in."""
_TEXT: Final = "f" * 64  # as long as an id
_NUMBER: Final = 1_000_000


def method_of(rpc: str) -> MethodDescriptor:
    """Return the descriptor of an RPC of either service. Raises KeyError where there is none."""
    for service in cri.DESCRIPTOR.services_by_name.values():
        if rpc in service.methods_by_name:
            return service.methods_by_name[rpc]
    raise KeyError(rpc)


def canned_answer(rpc: str, *, entries: int = 1, payload: int = 0) -> list[bytes]:
    """Return the messages that answer an RPC, serialised; one unless it is a streaming list.

    Args:
        rpc: its name.
        entries: how many things a list has.
        payload: bytes of standard output of an ExecSync.

    Raises:
        KeyError: there is no such RPC.
    """
    descriptor = method_of(rpc).output_type
    answer = _filled(descriptor, 0)
    if isinstance(answer, cri.ExecSyncResponse):
        answer.exit_code, answer.stdout = 0, b"x" * payload
    listed = descriptor.fields[0] if descriptor.fields else None
    if listed is None or not listed.is_repeated or listed.message_type is None:
        return [answer.SerializeToString()]
    entry = getattr(answer, listed.name)[0]
    size = STREAM_CHUNK if rpc.startswith("Stream") else max(1, entries)
    messages = []
    for begin in range(0, entries, size):
        part = type(answer)()
        part.CopyFrom(answer)
        part.ClearField(listed.name)
        getattr(part, listed.name).extend([entry] * min(size, entries - begin))
        messages.append(part.SerializeToString())
    return messages or [b""]


def _filled(descriptor: Descriptor, depth: int) -> Message:
    """Return a message with a value in each field that Linux has, one in each that repeats."""
    message: Message = getattr(cri, descriptor.name)()
    for field in descriptor.fields:
        kind = field.message_type
        if kind is None:
            _put(message, field)
        elif kind.GetOptions().map_entry:
            if kind.fields_by_name["value"].message_type is None:
                getattr(message, field.name)["name"] = "value"
        elif depth < _DEPTH and field.name != "windows":
            part = _filled(kind, depth + 1)
            target = getattr(message, field.name)
            target.append(part) if field.is_repeated else target.CopyFrom(part)
    return message


def _put(message: Message, field: FieldDescriptor) -> None:
    value: object
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        text = _TEXT if field.name.endswith(("id", "ref")) else field.name
        value = text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
    elif field.enum_type is not None:
        value = field.enum_type.values[-1].number
    else:
        value = field.cpp_type == FieldDescriptor.CPPTYPE_BOOL or _NUMBER
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)
