"""The conditions of a fault: `when nth=2`, `when request.filter.state.state==SANDBOX_READY and not repeated`.

| condition | holds |
|---|---|
| `nth=N`, also `!=`, `<`, `>`, `<=`, `>=` | for the Nth call of this RPC since the fault was set, from 1 on |
| `message=N` | for the Nth message of a streaming response |
| `repeated` | for a call whose request equals that of an earlier call since the fault was set |
| `request.PATH` | the field is set and not empty |
| `request.PATH==VALUE`, also `!=`, `<`, `>`, `~=` (contains) | for its value; with `[]`, of any element |

`response.PATH` is the same for faults that act on the response. `not` negates one; `and` joins several.
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from critests_proof.language.descriptors import FaultError, RpcDescriptor, descriptor_of, held_enum
from critests_proof.language.paths import PathStep, Place, check_path, parse_path, places
from critests_proof.language.values import as_text, unquote

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "~=": lambda seen, wanted: wanted in seen,
}
_COUNT = re.compile(r"(nth|message)\s*(<=|>=|!=|==|=|<|>)\s*(\d+)")
_FIELD = re.compile(
    r"""((?:request|response)\.(?:[^\s"=!<>~\[\]]|\["[^"]*"\]|\[[^\]]*\])+)\s*(?:(==|!=|~=|<=|>=|<|>)\s*(.*))?""",
    re.DOTALL,
)


@dataclass(frozen=True)
class CallState:
    """The state that a condition evaluates.

    Attributes:
        nth: number of the call of the RPC, from 1.
        repeated: whether an earlier call had the same request.
        request: as the client sent it.
        response: the runtime's response; None before it.
        message: number of the message of a streaming response, from 1.
    """

    nth: int
    repeated: bool
    request: Message
    response: Message | None = None
    message: int = 1


@dataclass(frozen=True)
class Condition:
    """One condition; all of a fault's conditions must hold.

    Attributes:
        subject: `nth`, `message`, `repeated`, `request` or `response`.
        steps: the path, for `request` and `response`.
        comparison: `==` and others; empty tests whether the field is set.
        value: the value to compare with.
        negated: whether `not` precedes it.
    """

    subject: str
    steps: tuple[PathStep, ...] = ()
    comparison: str = ""
    value: str = ""
    negated: bool = False

    def holds(self, call: CallState) -> bool:
        """Return whether it holds now."""
        return self._plain(call) != self.negated

    def _plain(self, call: CallState) -> bool:
        if self.subject == "repeated":
            return call.repeated
        if self.subject in {"nth", "message"}:
            return _COMPARE[self.comparison](
                call.nth if self.subject == "nth" else call.message, int(self.value)
            )
        message = call.request if self.subject == "request" else call.response
        if message is None:
            return False
        there = [
            place
            for place in places(message, self.steps)
            if not self.comparison or place.key is None or _is_set(place)
        ]
        if not self.comparison:
            return any(_is_set(place) for place in there)
        return self._compares([as_text(place.get(), place.field) for place in there])

    def _compares(self, texts: list[str]) -> bool:
        if self.comparison == "!=":
            return self.value not in texts
        if self.comparison in {"<", ">", "<=", ">="}:
            return any(_COMPARE[self.comparison](float(text), float(self.value)) for text in texts)
        return any(_COMPARE[self.comparison](text, self.value) for text in texts)


def _is_set(place: Place) -> bool:
    if isinstance(place.key, str):
        return place.key in getattr(place.holder, place.field.name)
    return place.key is not None or any(
        field.name == place.field.name for field, _ in place.holder.ListFields()
    )


def parse_conditions(text: str, rpc: RpcDescriptor) -> tuple[Condition, ...]:
    """Parse the text after `when`.

    Raises:
        FaultError: a condition is malformed, or names an unknown field.
    """
    return tuple(
        _parse_one(part.strip(), rpc)
        for part in re.split(r"\s+and\s+(?=not\s|nth|message|repeated|request\.|response\.)", text)
    )


def _parse_one(text: str, rpc: RpcDescriptor) -> Condition:
    negated = text.startswith("not ")
    text = text.removeprefix("not ").strip()
    if text == "repeated":
        return Condition("repeated", negated=negated)
    if match := _COUNT.fullmatch(text):
        return Condition(match[1], comparison=match[2], value=match[3], negated=negated)
    match = _FIELD.fullmatch(text)
    if match is None:
        msg = (
            f"{text!r} is no condition: expected nth=N, message=N, repeated, request.FIELD or response.FIELD,"
            " with ==, !=, <, > or ~="
        )
        raise FaultError(msg)
    side, _, path = match[1].partition(".")
    steps = parse_path(path)
    field = check_path(steps, descriptor_of(rpc.request if side == "request" else rpc.response))
    value = unquote(match[3] or "")
    comparison = match[2] or ""
    if comparison in {"<", ">", "<=", ">="}:
        try:
            float(value)
        except ValueError as error:
            msg = f"{field.name} can only be compared with a number by {comparison}, not with {value!r}"
            raise FaultError(msg) from error
    if (
        field.enum_type
        and comparison in {"==", "!="}
        and value not in field.enum_type.values_by_name
        and not value.isdigit()
    ):
        msg = (
            f"{held_enum(field).name} has no value {value!r}; there are:"
            f" {', '.join(field.enum_type.values_by_name)}"
        )
        raise FaultError(msg)
    return Condition(side, steps, comparison, value, negated)
