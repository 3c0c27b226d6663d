"""Whether lists and statuses know every object that this client created and did not remove."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from critests.responses.rules import Difference, Response, Violation

LISTS: Final = {
    "ListPodSandbox": ("items", "sandbox", "SBA-15"),
    "ListContainers": ("containers", "container", "CTA-17"),
}
"""RPC to its field, what it lists, and the aspect that an omission breaks."""

STATUSES: Final = {"PodSandboxStatus": "SBX-37", "ContainerStatus": "CTA-01"}
"""RPC to the aspect that NotFound breaks for an object that exists."""


@dataclass
class _Present:
    """An object that exists: what it is, its sandbox if it is a container, and when its creation returned."""

    kind: str
    sandbox: str
    created: float


@dataclass(frozen=True)
class _Omission:
    endpoint: str
    identity: str
    ended: float
    violation: Violation


class ListOmissions:
    """Follows which objects exist, and notes the lists that omit one.

    An omission counts only once no removal can have overlapped the list, that is at the end of the test.
    """

    def __init__(self) -> None:
        self._present: defaultdict[str, dict[str, _Present]] = defaultdict(dict)
        self._removing: dict[tuple[str, str], float] = {}
        self._omissions: list[_Omission] = []

    def created(self, response: Response, kind: str, identity: str, sandbox: str = "") -> None:
        """Note a new object."""
        self._present[response.endpoint].setdefault(identity, _Present(kind, sandbox, response.ended))

    def removal(self, endpoint: str, identity: str, started: float) -> None:
        """Note a call that may have removed an object, with all that is in it, whatever its result."""
        present = self._present[endpoint]
        gone = [key for key, each in present.items() if identity in {key, each.sandbox}]
        for key in gone:
            del present[key]
            self._removing[endpoint, key] = started

    def connection_lost(self, endpoint: str) -> None:
        """Forget the objects of a runtime that may have lost them."""
        self._present.pop(endpoint, None)

    def listed(self, response: Response) -> None:
        """Note which objects a list without a filter omits."""
        request: Any = response.request
        if response.rpc not in LISTS or (request.HasField("filter") and request.filter.ByteSize()):
            return
        field, kind, aspect = LISTS[response.rpc]
        there = {entry.id for entry in getattr(response.message, field)}
        for identity, each in self._present[response.endpoint].items():
            if each.kind == kind and identity not in there and each.created <= response.started:
                difference = Difference(field, f"the {kind}, which exists", "not listed", identity)
                violation = Violation(aspect, response.rpc, f"{response.rpc}Response.{field}", difference)
                self._omissions.append(_Omission(response.endpoint, identity, response.ended, violation))

    def not_found(self, endpoint: str, rpc: str, identity: str, started: float, ended: float) -> None:
        """Note that the status of an object is NotFound."""
        each = self._present[endpoint].get(identity)
        if each is not None and each.created <= started:
            difference = Difference("status", f"the {each.kind}, which exists", "NotFound", identity)
            violation = Violation(STATUSES[rpc], rpc, f"{rpc}Response.status", difference)
            self._omissions.append(_Omission(endpoint, identity, ended, violation))

    def take(self) -> Iterator[Violation]:
        """Yield the omissions that no removal explains, and forget all."""
        for each in self._omissions:
            if self._removing.get((each.endpoint, each.identity), each.ended) >= each.ended:
                yield each.violation
        self._omissions.clear()
        self._removing.clear()
