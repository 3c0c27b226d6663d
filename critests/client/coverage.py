"""Which RPCs and which fields of the API a run has exercised."""

from collections import Counter

from google.protobuf.message import Message


class CallCoverage:
    """Counts calls by RPC, and set fields of requests and responses by `Message.field`.

    A field counts as exercised if it is present (a message, an optional, a non-empty list or map) or differs
    from its default; in proto3 a default that was set explicitly looks like an unset field.
    """

    def __init__(self) -> None:
        self.rpcs: Counter[str] = Counter()
        self.request_fields: Counter[str] = Counter()
        self.response_fields: Counter[str] = Counter()

    def add(self, rpc: str, request: Message, response: Message | None) -> None:
        """Count one finished call."""
        self.rpcs[rpc] += 1
        if isinstance(request, Message):
            _count(request, self.request_fields)
        if isinstance(response, Message):
            _count(response, self.response_fields)

    def to_json(self) -> dict[str, dict[str, int]]:
        """Return the counts as plain data, keys sorted."""
        return {
            "rpcs": dict(sorted(self.rpcs.items())),
            "request_fields": dict(sorted(self.request_fields.items())),
            "response_fields": dict(sorted(self.response_fields.items())),
        }


def _count(message: Message, fields: Counter[str]) -> None:
    name = message.DESCRIPTOR.name
    for field, value in message.ListFields():
        fields[f"{name}.{field.name}"] += 1
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        # elements of long lists are alike: the first hundred show which fields are used
        for element in value[:100] if field.is_repeated else (value,):
            _count(element, fields)
