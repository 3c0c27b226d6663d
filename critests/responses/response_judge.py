"""Judges every response of a runtime: each message by the rules of its type, and by what the client knows of
the object.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator
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
    Machine,
    metric_findings,
    sandbox_stats_findings,
    stats_findings,
)
from critests.responses.list_omissions import ListOmissions
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
REMOVALS: Final = {"RemoveContainer": "container_id", "RemovePodSandbox": "pod_sandbox_id"}


class ResponseJudge:
    """Judges the responses of all runtimes that one process talks to; safe in several threads.

    Attributes:
        machine: limits of the machine on which the runtimes run; None if that may be another one.
    """

    def __init__(self) -> None:
        self.machine: Machine | None = None
        self._lock = threading.Lock()
        self._violations: list[Violation] = []
        self._objects: defaultdict[tuple[str, str], KnownObject] = defaultdict(KnownObject)
        self._omissions = ListOmissions()
        self._descriptors: dict[str, dict[str, int]] = {}
        self._by_type: defaultdict[str, list[Rule]] = defaultdict(list)
        for rule in RULES:
            self._by_type[rule.message_type].append(rule)

    def take(self) -> list[Violation]:
        """Return the violations since the last call."""
        with self._lock:
            taken, self._violations = [*self._violations, *self._omissions.take()], []
        return taken

    def succeeded(self, response: Response) -> None:
        """Judge a response."""
        with self._lock:
            self._note_change(response)
            self._omissions.listed(response)
            self._violations += self._violations_in(response)

    def failed(self, rpc: str, endpoint: str, request: Message, code: str, started: float) -> None:
        """Note a call that failed, and may have had an effect all the same."""
        with self._lock:
            if code == "UNAVAILABLE":
                self._omissions.connection_lost(endpoint)
            elif rpc in REMOVALS:
                self._omissions.removal(endpoint, getattr(request, REMOVALS[rpc]), started)

    def _violations_in(self, response: Response) -> Iterator[Violation]:
        for message, repeated in messages_in(response.message):
            name = message.DESCRIPTOR.name
            if repeated and not message.ByteSize():
                yield Violation(
                    EMPTY_ENTRY, response.rpc, name, Difference(name, "an entry with content", "empty")
                )
            for rule in self._by_type.get(name, ()):
                for difference in rule.check(message, response):
                    yield Violation(rule.aspect, response.rpc, f"{name}.{difference.field}", difference)
            for aspect, field, difference in self._history_findings(name, message, response):
                yield Violation(aspect, response.rpc, field, difference)

    def _history_findings(self, name: str, message: Any, response: Response) -> Iterator[Finding]:  # noqa: ANN401 - any of the messages
        known = self._known(response.endpoint, message, name)
        match name:
            case "Container" | "ContainerStatus":
                yield from container_findings(known, message, response)
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

    def _known(self, endpoint: str, message: Any, name: str) -> KnownObject:  # noqa: ANN401 - any of the messages
        match name:
            case "Container" | "ContainerStatus" | "PodSandbox" | "PodSandboxStatus":
                identity = message.id
            case "ContainerStats" | "PodSandboxStats":
                identity = message.attributes.id
            case "PodSandboxMetrics":
                identity = message.pod_sandbox_id
            case "ContainerMetrics":
                identity = message.container_id
            case _:
                identity = ""
        return self._objects[endpoint, identity] if identity else KnownObject()

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
                self._omissions.created(response, "container", message.container_id, request.pod_sandbox_id)
            case "StartContainer":
                known[response.endpoint, request.container_id].reached.setdefault("started", response.ended)
            case "StopContainer":
                known[response.endpoint, request.container_id].reached.setdefault("stopped", response.ended)
            case "StopPodSandbox":
                known[response.endpoint, request.pod_sandbox_id].reached.setdefault("stopped", response.ended)
            case "RemoveContainer" | "RemovePodSandbox":
                identity = getattr(request, REMOVALS[response.rpc])
                self._omissions.removal(response.endpoint, identity, response.started)
                removed = known[response.endpoint, identity]
                removed.removed = response.ended if removed.removed is None else removed.removed
            case "ListMetricDescriptors":
                self._descriptors[response.endpoint] = {
                    each.name: len(each.label_keys) for each in message.descriptors
                }


def messages_in(message: Message) -> Iterator[tuple[Any, bool]]:
    """Yield a message and all messages in it, each with whether it is an entry of a repeated field."""
    yield message, False
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        if field.is_repeated:
            for element in value:
                inside = messages_in(element)
                yield next(inside)[0], True
                yield from inside
        else:
            yield from messages_in(value)
