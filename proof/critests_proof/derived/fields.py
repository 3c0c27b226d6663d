"""Every field that can be reached from the request and the answer of every RPC."""

from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from critests_proof.language.descriptors import RpcDescriptor, descriptor_of, held_message, is_map
from critests_proof.language.values import kind_of


@dataclass(frozen=True)
class ReachedField:
    """A field, and the way to it.

    Attributes:
        rpc: whose message it is in.
        side: `request` or `response`.
        parents: names of the fields on the way, those of lists with `[]` behind.
        field: what the API says of it.
    """

    rpc: RpcDescriptor
    side: str
    parents: tuple[str, ...]
    field: FieldDescriptor

    @property
    def path(self) -> str:
        """The way to it, as in a fault."""
        return ".".join((*self.parents, self.field.name))

    @property
    def parent(self) -> str:
        """The way to the message that holds it; empty for the request or the answer itself."""
        return ".".join(self.parents)

    @property
    def target(self) -> str:
        """What stands before the colon of a fault in it."""
        return f"{self.rpc.name}.{self.side}.{self.path}"

    @property
    def kind(self) -> str:
        """What it holds, in the words of `kind_of`."""
        return kind_of(self.field, element=False)

    @property
    def element_kind(self) -> str:
        """What one element of it holds, of a list or map."""
        return kind_of(self.field, element=True)


def fields_of(rpc: RpcDescriptor, side: str) -> Iterator[ReachedField]:
    """Yield every field of one side of an RPC, each before those that it holds.

    Args:
        rpc: it.
        side: `request` or `response`.
    """
    message = rpc.request if side == "request" else rpc.response
    yield from _below(rpc, side, descriptor_of(message), (), frozenset())


def _below(
    rpc: RpcDescriptor, side: str, message: Descriptor, parents: tuple[str, ...], above: frozenset[str]
) -> Iterator[ReachedField]:
    if message.full_name in above:  # a message that holds itself has no last field
        return
    for field in message.fields:
        yield ReachedField(rpc, side, parents, field)
        if field.message_type and not is_map(field):
            step = f"{field.name}[]" if field.is_repeated else field.name
            yield from _below(rpc, side, held_message(field), (*parents, step), above | {message.full_name})
