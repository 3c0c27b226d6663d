"""What a rule is: a function of one message of a response that yields the differences from what must hold."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from critests.api import api_pb2 as cri


@dataclass(frozen=True)
class Response:
    """One response, or one message of a stream.

    Attributes:
        rpc: name of the RPC.
        endpoint: of the runtime, as text; object ids are unique below it.
        request: as it was sent.
        message: as it was received.
        started: when the call began, seconds since the epoch.
        ended: when the response arrived, seconds since the epoch.
    """

    rpc: str
    endpoint: str
    request: Message
    message: Message
    started: float
    ended: float

    @property
    def is_event(self) -> bool:
        """Whether it is an event, whose content may be older than the call."""
        return self.rpc == "GetContainerEvents"

    @property
    def is_of_removal(self) -> bool:
        """Whether it is the event of a removal, in which a status may be minimal."""
        return getattr(self.message, "container_event_type", None) == cri.CONTAINER_DELETED_EVENT


class Difference(NamedTuple):
    """What one message reports, and what it must report.

    Attributes:
        field: name of the field, without the message.
        expected: a Python value, or words.
        observed: a Python value.
        about: id of the object, or empty.
    """

    field: str
    expected: object
    observed: object
    about: str = ""


Finding = tuple[str, str, Difference]
"""An aspect, the field with its message, and the difference."""


@dataclass(frozen=True)
class Violation:
    """A response that breaks a rule.

    Attributes:
        aspect: of the catalogue, `CTA-30`.
        rpc: whose response it was.
        field: `ContainerStatus.exit_code`.
        difference: what was expected and observed.
    """

    aspect: str
    rpc: str
    field: str
    difference: Difference


# the rules know the generated class of each message by its name only
Check = Callable[[Any, Response], Iterable[Difference]]


@dataclass(frozen=True)
class Rule:
    """A rule about some fields.

    Attributes:
        aspect: that a violation breaks.
        fields: that it judges, `ContainerStatus.exit_code`; the first is one of the message for `check`.
        check: yields the differences; the first argument is the message.
    """

    aspect: str
    fields: tuple[str, ...]
    check: Check

    @property
    def message_type(self) -> str:
        """Name of the message type that it is applied to."""
        return self.fields[0].partition(".")[0]


def rule(aspect: str, *fields: str) -> Callable[[Check], Rule]:
    """Make a rule of a function.

    Args:
        aspect: of the catalogue, that a violation breaks.
        fields: `Message.field`, that it judges.
    """
    return lambda check: Rule(aspect, fields, check)


DAY_NS: Final = 24 * 3600 * 10**9
"""Tolerated difference of a time from the clock of the client. A time in another unit is further away."""


def is_plausible_time(nanoseconds: int, response: Response) -> bool:
    """Return whether a time is in nanoseconds and not in the future; clocks may differ by a day."""
    now = int(response.ended * 1e9)
    # 1e18 ns is in 2001: a time in microseconds or seconds is far below
    return 10**18 <= nanoseconds <= now + DAY_NS


# messages about objects have the same fields but no common type
def differing(
    aspect: str,
    message: Any,  # noqa: ANN401 - see above
    name: str,
    expected: object,
    observed: object = None,
) -> Finding:
    """Return the finding of a field of a message about an object; by default with the field's value."""
    value = getattr(message, name) if observed is None else observed
    return aspect, f"{message.DESCRIPTOR.name}.{name}", Difference(name, expected, value, message.id)


def in_one_line(message: Message) -> str:
    """Return a message as text in one line."""
    return " ".join(str(message).split())
