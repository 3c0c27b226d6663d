"""Whether lists and statuses know every object that this client created and did not remove."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from critests.responses.rules import Difference, Response, Violation

LISTS: Final = {
    "ListPodSandbox": ("items", "sandbox", ("SBA-15", "SBA-16", "SBA-19")),
    "ListContainers": ("containers", "container", ("CTA-17", "CTA-18", "CTA-19")),
}
"""RPC to its field, what it lists, and the aspects that an omission breaks: without a filter, with a filter
of ids, and with one of labels.
"""

STATUSES: Final = {"PodSandboxStatus": "SBX-37", "ContainerStatus": "CTA-01"}
"""RPC to the aspect that NotFound breaks for an object that exists."""


@dataclass
class _Present:
    """An object that exists.

    Attributes:
        kind: sandbox or container.
        sandbox: id of a container's sandbox, or empty.
        labels: of the request.
        created: when its creation returned.
    """

    kind: str
    sandbox: str
    labels: Mapping[str, str]
    created: float

    def matches(self, identity: str, wanted: Any) -> bool:  # noqa: ANN401 - one of two filters
        """Return whether it must be in a list with a filter, whose state is not set. A runtime need not
        accept the beginning of an id.
        """
        return bool(
            wanted.id in {"", identity}
            and getattr(wanted, "pod_sandbox_id", "") in {"", self.sandbox}
            and all(self.labels.get(key) == value for key, value in wanted.label_selector.items())
        )


@dataclass(frozen=True)
class _Omission:
    endpoint: str
    identity: str
    ended: float
    violation: Violation


def _same(one: str, another: str) -> bool:
    """Return whether two ids can be of the same object, as one is the beginning of the other."""
    return bool(one and another) and (one.startswith(another) or another.startswith(one))


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
        request: Any = response.request
        new = _Present(kind, sandbox, dict(request.config.labels), response.ended)
        self._present[response.endpoint].setdefault(identity, new)

    def removal(self, endpoint: str, identity: str, started: float) -> None:
        """Note a call that may have removed an object, with all that is in it, whatever its result."""
        present = self._present[endpoint]
        # the runtime may accept the beginning of an id, and the container's request may have had one
        gone = [
            key
            for key, each in present.items()
            if identity and (key.startswith(identity) or _same(identity, each.sandbox))
        ]
        for key in gone:
            del present[key]
            self._removing[endpoint, key] = started

    def connection_lost(self, endpoint: str) -> None:
        """Forget the objects of a runtime that may have lost them."""
        self._present.pop(endpoint, None)

    def listed(self, response: Response) -> None:
        """Note which objects a list omits; which states they have is not known here."""
        request: Any = response.request
        if response.rpc not in LISTS or request.filter.HasField("state"):
            return
        field, kind, aspects = LISTS[response.rpc]
        wanted = request.filter
        aspect = aspects[2 if wanted.label_selector else 1 if wanted.ByteSize() else 0]
        there = {entry.id for entry in getattr(response.message, field)}
        for identity, each in self._present[response.endpoint].items():
            if each.kind != kind or identity in there or each.created > response.started:
                continue
            if each.matches(identity, wanted):
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
