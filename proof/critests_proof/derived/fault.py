"""What a derived fault is: one way to break the API, and what a test must do to meet it."""

from dataclasses import dataclass
from functools import cached_property

from critests_proof.language.faults import AnyFault, parse_fault

KINDS = {
    "request": "a field of a request is ignored, in part or as a whole, or mistaken for another value",
    "response": "a field of an answer is not reported, or reported wrongly",
    "call": "an RPC does nothing, is not there, fails in another way, or takes its time",
    "list": "a list does not heed its filter, is not up to date, or holds too much or too little",
    "event": "a message of a stream is lost, comes twice, too late, or behind the next one",
    "session": "an exec, attach or port-forward session loses or changes what it carries",
    "log": "a container's log is not what the container wrote",
    "bundle": "the OCI runtime reads something else than what the request leads to",
    "command": "the OCI runtime does not carry a command out, or sends another signal",
    "network": "CNI plugins lose or change what they are told or say, or do not take a pod's network away",
}
"""Kinds of faults, each with what is broken."""
BELOW = ("bundle", "command", "network")
"""Those that are set below the runtime, where the suite starts it."""


@dataclass(frozen=True)
class Reach:
    """Where a fault acts: only a test that gets there can notice it.

    Attributes:
        rpc: the RPC that must be called; empty for a fault that may be anywhere.
        side: `request` or `response`, where the field must be there; `call` where the call is enough, `error`
            where it must fail, `repeated` where the same must be asked twice.
        path: of the field, as in a fault, without any pick but `[]`; empty for the message itself.
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
        id: `RPC.side.path:what`; stays the same when the way in which it is done changes.
        kind: a key of `KINDS`.
        text: in the language of faults; several that are set together are lines.
        says: what the runtime does, in a few words.
        reach: where it acts.
        breaks: ids of requirements that it breaks, as far as the catalogue says so.
    """

    id: str
    kind: str
    text: str
    says: str
    reach: Reach
    breaks: tuple[str, ...] = ()

    @cached_property
    def faults(self) -> tuple[AnyFault, ...]:
        """What is set, read."""
        return tuple(map(parse_fault, self.text.splitlines()))
