"""All fields of the requests and responses of all RPCs, nested ones included."""

from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from critests_proof.language.descriptors import RpcDescriptor, descriptor_of, held_message, is_map
from critests_proof.language.values import kind_of


@dataclass(frozen=True)
class ReachedField:
    """A field and its path.

    Attributes:
        rpc: the RPC.
        side: `request` or `response`.
        parents: names of the fields above it, lists with the suffix `[]`.
        field: its descriptor.
    """

    rpc: RpcDescriptor
    side: str
    parents: tuple[str, ...]
    field: FieldDescriptor

    @property
    def path(self) -> str:
        """Its path, as in a fault."""
        return ".".join((*self.parents, self.field.name))

    @property
    def parent(self) -> str:
        """The path of the message that holds it; empty for the request or response itself."""
        return ".".join(self.parents)

    @property
    def target(self) -> str:
        """The target of a fault in this field."""
        return f"{self.rpc.name}.{self.side}.{self.path}"

    @property
    def kind(self) -> str:
        """The kind of its value, see `kind_of`."""
        return kind_of(self.field, element=False)

    @property
    def element_kind(self) -> str:
        """The kind of an element of a list or map."""
        return kind_of(self.field, element=True)


def fields_of(rpc: RpcDescriptor, side: str) -> Iterator[ReachedField]:
    """Yield every field of one side of an RPC, each before its nested fields.

    Args:
        rpc: the RPC.
        side: `request` or `response`.
    """
    message = rpc.request if side == "request" else rpc.response
    yield from _below(rpc, side, descriptor_of(message), (), frozenset())


def _below(
    rpc: RpcDescriptor, side: str, message: Descriptor, parents: tuple[str, ...], above: frozenset[str]
) -> Iterator[ReachedField]:
    if message.full_name in above:  # a recursive message
        return
    for field in message.fields:
        yield ReachedField(rpc, side, parents, field)
        if field.message_type and not is_map(field):
            step = f"{field.name}[]" if field.is_repeated else field.name
            yield from _below(rpc, side, held_message(field), (*parents, step), above | {message.full_name})
