"""A derived fault: one way to break the API, and what a test must do to reach it."""

from dataclasses import dataclass
from functools import cached_property

from critests_proof.language.faults import AnyFault, parse_fault

KINDS = {
    "request": "a field of a request is ignored, in part or as a whole, or has another value",
    "response": "a field of a response is not reported, or reported wrongly",
    "call": "an RPC does nothing, is not implemented, fails in another way, or is slow",
    "list": "a list ignores its filter, is outdated, or has too many or too few elements",
    "event": "a message of a stream is lost, duplicated, late, or after the next one",
    "session": "an exec, attach or port-forward session loses or changes data",
    "log": "a container's log differs from its output",
    "bundle": "the OCI runtime reads a configuration that differs from the request",
    "command": "the OCI runtime does not execute a command, or sends another signal",
    "network": "CNI plugins lose or change their input or result, or do not remove a pod's network",
}
"""Kind of fault to its description."""
BELOW = ("bundle", "command", "network")
"""Kinds of faults below the runtime; need a runtime that the suite starts."""


@dataclass(frozen=True)
class Reach:
    """Where a fault acts: only a test that reaches this place can notice it.

    Attributes:
        rpc: the RPC that must be called; empty for a fault that may be anywhere.
        side: `request` or `response` if the field must be set; `call` if a call suffices, `error` if it must
            fail, `repeated` if the same request must be sent twice.
        path: path of the field, with `[]` for elements; empty for the message itself.
    """

    rpc: str
    side: str = "call"
    path: str = ""

    def __str__(self) -> str:
        side = "" if self.side == "call" else self.side
        return ".".join(filter(None, (self.rpc, side, self.path)))


@dataclass(frozen=True)
class DerivedFault:
    """One way to break the API.

    Attributes:
        id: `RPC.side.path:what`; independent of the implementation of the fault.
        kind: a key of `KINDS`.
        text: in the language of faults; several simultaneous faults are lines.
        says: what the runtime does, in a few words.
        reach: where it acts.
        breaks: ids of the requirements that it breaks according to the catalogue.
    """

    id: str
    kind: str
    text: str
    says: str
    reach: Reach
    breaks: tuple[str, ...] = ()

    @cached_property
    def faults(self) -> tuple[AnyFault, ...]:
        """The parsed faults."""
        return tuple(map(parse_fault, self.text.splitlines()))
