"""Judges every response of a runtime: each message by the rules of its type, and by what the client knows of
the object.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, Final

from google.protobuf.message import Message

from critests.responses import (
    container_responses,
    image_responses,
    list_responses,
    sandbox_responses,
    stats_responses,
    status_responses,
    time_rules,
)
from critests.responses.figure_history import (
    MachineSize,
    metric_findings,
    sandbox_stats_findings,
    stats_findings,
)
from critests.responses.list_omissions import STATUSES, ListOmissions
from critests.responses.object_history import (
    KnownObject,
    container_findings,
    sandbox_findings,
)
from critests.responses.rules import Difference, Finding, Response, Rule, Violation

RULES: Final[tuple[Rule, ...]] = (
    *container_responses.RULES,
    *image_responses.RULES,
    *list_responses.RULES,
    *sandbox_responses.RULES,
    *stats_responses.RULES,
    *status_responses.RULES,
    *time_rules.RULES,
)
EMPTY_ENTRY: Final = "GEN-21"
"""Requirement that no repeated field holds an entry without content."""
ID_OF: Final[dict[str, Callable[[Any], str]]] = {
    "Container": attrgetter("id"),
    "ContainerStatus": attrgetter("id"),
    "PodSandbox": attrgetter("id"),
    "PodSandboxStatus": attrgetter("id"),
    "ContainerStats": attrgetter("attributes.id"),
    "PodSandboxStats": attrgetter("attributes.id"),
    "PodSandboxMetrics": attrgetter("pod_sandbox_id"),
    "ContainerMetrics": attrgetter("container_id"),
}
"""Messages about one object, and its id."""
OBJECTS: Final = {"ContainerStatus": "container_id", "PodSandboxStatus": "pod_sandbox_id"}
REMOVALS: Final = {"RemoveContainer": "container_id", "RemovePodSandbox": "pod_sandbox_id"}


class ResponseJudge:
    """Judges the responses of all runtimes that one process talks to; safe in several threads.

    Attributes:
        machine: limits of the machine on which the runtimes run; None if that may be another one.
        lasting: endpoint of the runtime that no test restarts, whose lists omit nothing; private runtimes may
            forget objects, as after the reboot of a node. None if that holds for all.
    """

    def __init__(self) -> None:
        self.machine: MachineSize | None = None
        self.lasting: str | None = None
        self._lock = threading.Lock()
        self._violations: dict[tuple[str, str], Violation] = {}
        self._objects: defaultdict[tuple[str, str], KnownObject] = defaultdict(KnownObject)
        self._omissions = ListOmissions()
        self._descriptors: dict[str, dict[str, int]] = {}
        self._by_type: defaultdict[str, list[Rule]] = defaultdict(list)
        for rule in RULES:
            self._by_type[rule.message_type].append(rule)

    def take(self) -> list[Violation]:
        """Return the violations since the last call, the first one of each aspect and field."""
        with self._lock:
            for each in self._omissions.take():
                self._violations.setdefault((each.aspect, each.field), each)
            taken, self._violations = list(self._violations.values()), {}
        return taken

    def succeeded(self, response: Response) -> None:
        """Judge a response."""
        with self._lock:
            self._note_change(response)
            if self.lasting in {None, response.endpoint}:
                self._omissions.listed(response)
            for each in self._violations_in(response):
                self._violations.setdefault((each.aspect, each.field), each)

    def failed(
        self, rpc: str, endpoint: str, request: Message, code: str, started: float, ended: float
    ) -> None:
        """Judge a call that failed, and may have had an effect all the same."""
        with self._lock:
            if code == "UNAVAILABLE":
                self._omissions.connection_lost(endpoint)
            elif rpc in REMOVALS:
                self._omissions.removal(endpoint, getattr(request, REMOVALS[rpc]), started)
            elif code == "NOT_FOUND" and rpc in STATUSES and self.lasting in {None, endpoint}:
                identity = getattr(request, OBJECTS[rpc])
                self._omissions.not_found(endpoint, rpc, identity, started, ended)

    def _violations_in(self, response: Response) -> Iterator[Violation]:
        for message, repeated in messages_in(response.message):
            name = message.DESCRIPTOR.name
            if repeated and not message.ByteSize():
                yield Violation(
                    EMPTY_ENTRY, response.rpc, name, Difference(name, "an entry with content", "empty")
                )
            for rule in self._by_type.get(name, ()):
                for difference in rule.check(message, response):
                    aspect = _aspect_in(response, name) or rule.aspect
                    yield Violation(aspect, response.rpc, f"{name}.{difference.field}", difference)
            if name in ID_OF and (identity := ID_OF[name](message)):
                known = self._objects[response.endpoint, identity]
                for broken, field, difference in self._contradictions(known, name, message, response):
                    aspect = _aspect_in(response, name) or broken
                    yield Violation(aspect, response.rpc, field, difference)

    # one of the messages in ID_OF
    def _contradictions(
        self,
        known: KnownObject,
        name: str,
        message: Any,  # noqa: ANN401 - see above
        response: Response,
    ) -> Iterator[Finding]:
        match name:
            case "Container" | "ContainerStatus":
                sandbox = known.sandbox or getattr(message, "pod_sandbox_id", "")
                inside = self._objects.get((response.endpoint, sandbox))
                yield from container_findings(known, message, response, inside)
            case "PodSandbox" | "PodSandboxStatus":
                yield from sandbox_findings(known, message, response)
            case "ContainerStats":
                yield from stats_findings(known, message, response, self.machine)
            case "PodSandboxStats":
                yield from sandbox_stats_findings(known, message, response)
            case "PodSandboxMetrics" | "ContainerMetrics":
                yield from metric_findings(
                    known, message, response, self._descriptors.get(response.endpoint, {})
                )

    def _note_change(self, response: Response) -> None:
        """Note what a call that returned has created or changed."""
        request: Any = response.request
        message: Any = response.message
        known = self._objects
        match response.rpc:
            case "RunPodSandbox":
                # a repeated request may return an existing sandbox, which keeps its configuration
                created = known[response.endpoint, message.pod_sandbox_id]
                created.config = created.config or request.config
                created.handler = created.handler or request.runtime_handler
                self._omissions.created(response, "sandbox", message.pod_sandbox_id)
            case "CreateContainer":
                created = known[response.endpoint, message.container_id]
                created.config = created.config or request.config
                created.sandbox = created.sandbox or request.pod_sandbox_id
                created.note("created", response)
                self._omissions.created(response, "container", message.container_id, request.pod_sandbox_id)
            case "StartContainer":
                known[response.endpoint, request.container_id].note("started", response)
            case "StopContainer":
                known[response.endpoint, request.container_id].note("stopped", response)
            case "StopPodSandbox":
                known[response.endpoint, request.pod_sandbox_id].note("stopped", response)
            case "RemoveContainer" | "RemovePodSandbox":
                identity = getattr(request, REMOVALS[response.rpc])
                self._omissions.removal(response.endpoint, identity, response.started)
                known[response.endpoint, identity].note("removed", response)
            case "ListMetricDescriptors":
                self._descriptors[response.endpoint] = {
                    each.name: len(each.label_keys) for each in message.descriptors
                }


def _aspect_in(response: Response, message: str) -> str:
    """Return the aspect that judges a message inside an event; empty for other messages."""
    if not response.is_event or message == response.message.DESCRIPTOR.name:
        return ""
    return "EVT-14/pod" if "PodSandbox" in message or message == "PodIP" else "EVT-14/container"


def messages_in(message: Message) -> Iterator[tuple[Any, bool]]:
    """Yield a message and all messages in it, each with whether it is an entry of a repeated field."""
    yield from _messages_in(message, repeated=False)


# entries of repeated fields have no common type
def _messages_in(message: Any, *, repeated: bool) -> Iterator[tuple[Any, bool]]:  # noqa: ANN401 - see above
    yield message, repeated
    for name, is_repeated in _message_fields(message.DESCRIPTOR):
        if is_repeated:
            for element in getattr(message, name):
                yield from _messages_in(element, repeated=True)
        elif message.HasField(name):
            yield from _messages_in(getattr(message, name), repeated=False)


@cache
# descriptors of protobuf's C implementation have no public type
def _message_fields(descriptor: Any) -> tuple[tuple[str, bool], ...]:  # noqa: ANN401 - see above
    """Return the fields of a message that hold messages, and whether they are repeated; maps hold none."""
    return tuple(
        (field.name, field.is_repeated)
        for field in descriptor.fields
        if field.message_type is not None and not field.message_type.GetOptions().map_entry
    )
