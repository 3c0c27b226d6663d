"""What a client knows of each object from its own calls, and what no later response may contradict.

Only responses that cannot overlap are compared: the later call began after the earlier response arrived.
Events are compared only in what never changes, because they may be older than the call, and nothing is
learned from them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from critests.api import api_pb2 as cri
from critests.responses.requested_settings import (
    container_status_findings,
    handler_findings,
    image_findings,
    metadata_findings,
    namespace_findings,
)
from critests.responses.rules import Difference, Finding, Response, differing

# list entries and statuses have the same fields but no common type
Reported = Any
Config = Any

NEVER = math.inf
ORDER = (cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED)


@dataclass
class KnownObject:
    """A sandbox or container.

    Attributes:
        config: of the request that created it; None if another client created it.
        sandbox: id of a container's sandbox, or empty.
        handler: requested runtime handler of a sandbox, or empty.
        created_at: as first reported.
        state: as last reported.
        state_at: when the response with this state arrived.
        started_at: of a container, as first reported.
        exit: exit code and end of a container, as first reported in state EXITED.
        reached: states that a call of this client has brought about, each with the time of its response.
        began: the same states, each with the time at which its call began.
            ip: address of a READY sandbox, as first reported.
        counters: name to the highest value so far, and when the response with it arrived.
    """

    config: Config = None
    sandbox: str = ""
    handler: str = ""
    created_at: int = 0
    state: int | None = None
    state_at: float = 0.0
    started_at: int = 0
    exit: tuple[int, int] | None = None
    reached: dict[str, float] = field(default_factory=dict)
    began: dict[str, float] = field(default_factory=dict)
    ip: str = ""
    counters: dict[str, tuple[int, float]] = field(default_factory=dict)

    def note(self, state: str, of: Response) -> None:
        """Note that a call has brought about a state, unless one did before."""
        self.reached.setdefault(state, of.ended)
        self.began.setdefault(state, of.started)


def container_findings(
    known: KnownObject, reported: Reported, of: Response, inside: KnownObject | None
) -> Iterator[Finding]:
    """Yield what a container's list entry or status contradicts.

    Args:
        known: the container.
        reported: the entry or status.
        of: the response.
        inside: its sandbox, if it is known.
    """
    kind = reported.DESCRIPTOR.name
    listed = kind == "Container"
    if known.config is not None:
        yield from metadata_findings(
            known.config,
            reported,
            reported.id,
            metadata="CTA-23/equal" if listed else "CTA-01",
            labels="CTA-02",
            annotations="CTA-02",
        )
        yield from image_findings(known.config, reported)
        if not listed:
            yield from container_status_findings(known.config, reported)
    # the request may have had the beginning of the id
    if listed and not reported.pod_sandbox_id.startswith(known.sandbox):
        yield differing("CTA-23/equal", reported, "pod_sandbox_id", known.sandbox)
    if reported.state != cri.CONTAINER_UNKNOWN:
        yield from _constant_creation(known, reported, "CTA-04", of)
    if not listed:
        # an event, or a call that overlaps the start, may report a container before its start
        has_started = reported.started_at or reported.state == cri.CONTAINER_EXITED
        if has_started and known.started_at and reported.started_at != known.started_at:
            yield differing("CTA-29", reported, "started_at", known.started_at)
        yield from _constant_exit(known, reported, of)
    if of.is_event:
        return
    if not listed:
        known.started_at = known.started_at or reported.started_at
    yield from _container_state(known, reported, of)
    if inside is not None:
        yield from _state_in_sandbox(known, inside, reported, of)


def _state_in_sandbox(
    known: KnownObject, inside: KnownObject, reported: Reported, of: Response
) -> Iterator[Finding]:
    """The containers that ran when their sandbox was stopped do not run, and those of a removed one do not
    exist.
    """
    field_name = f"{reported.DESCRIPTOR.name}.state"
    # what is created or started during the removal or the stop may come after it
    for before, change, aspect in (("created", "removed", "SBX-21"), ("started", "stopped", "SBX-12")):
        if change not in inside.reached or of.started < inside.reached[change]:
            continue
        if known.reached.get(before, NEVER) > inside.began[change]:
            continue
        if change == "removed" or reported.state == cri.CONTAINER_RUNNING:
            name = cri.ContainerState.Name(reported.state)
            yield aspect, field_name, Difference("state", f"{change} with its sandbox", name, reported.id)
            return


def _container_state(known: KnownObject, reported: Reported, of: Response) -> Iterator[Finding]:
    name = cri.ContainerState.Name(reported.state) if reported.state in ORDER else str(reported.state)
    field_name = f"{reported.DESCRIPTOR.name}.state"
    if of.started >= known.reached.get("removed", NEVER):
        yield "CTR-31/error", field_name, Difference("state", "removed", name, reported.id)
        return
    started, stopped = known.reached.get("started"), known.reached.get("stopped")
    if started is not None and of.started >= started and reported.state == cri.CONTAINER_CREATED:
        yield "CTA-27", field_name, Difference("state", "started", name, reported.id)
    ran = started is not None and started <= known.began.get("stopped", -NEVER)
    if ran and stopped is not None and of.started >= stopped and reported.state == cri.CONTAINER_RUNNING:
        yield "CTA-27", field_name, Difference("state", "stopped", name, reported.id)
    if reported.state not in ORDER:
        return
    ordered = known.state is not None and of.started >= known.state_at
    if ordered and known.state is not None and ORDER.index(reported.state) < ORDER.index(known.state):
        before = cri.ContainerState.Name(known.state)
        yield "CTA-26", field_name, Difference("state", f"{before} or later", name, reported.id)
    if ordered or known.state is None:
        known.state, known.state_at = reported.state, of.ended


def _constant_exit(known: KnownObject, reported: Reported, of: Response) -> Iterator[Finding]:
    if reported.state != cri.CONTAINER_EXITED:
        return
    end = (reported.exit_code, reported.finished_at)
    if known.exit is not None and end[0] != known.exit[0]:
        yield differing("CTA-30", reported, "exit_code", known.exit[0])
    if known.exit is not None and end[1] != known.exit[1]:
        yield differing("CTA-30", reported, "finished_at", known.exit[1])
    if not of.is_event:
        known.exit = known.exit or end


def sandbox_findings(known: KnownObject, reported: Reported, of: Response) -> Iterator[Finding]:
    """Yield what a sandbox's list entry or status contradicts."""
    kind = reported.DESCRIPTOR.name
    if of.is_of_removal:
        return
    if known.config is not None:
        yield from metadata_findings(
            known.config,
            reported,
            reported.id,
            metadata="SBA-23" if kind == "PodSandbox" else "SBA-02",
            labels="SBA-04",
            annotations="SBA-05",
        )
        yield from handler_findings(known.handler, reported)
    yield from _constant_creation(known, reported, "SBA-03", of)
    if kind == "PodSandboxStatus" and known.config is not None:
        yield from namespace_findings(known.config, reported)
    if of.is_event:
        return
    if of.started >= known.reached.get("removed", NEVER):
        difference = Difference("state", "removed", _sandbox_state(reported.state), reported.id)
        yield "SBX-26/error", f"{kind}.state", difference
        return
    yield from _sandbox_state_order(known, reported, of)
    if kind == "PodSandboxStatus" and reported.state == cri.SANDBOX_READY:
        if known.ip and reported.network.ip != known.ip:
            yield differing("SBA-11", reported, "network", known.ip, reported.network.ip)
        known.ip = known.ip or reported.network.ip


def _sandbox_state_order(known: KnownObject, reported: Reported, of: Response) -> Iterator[Finding]:
    stopped = known.reached.get("stopped")
    was_stopped = known.state == cri.SANDBOX_NOTREADY and of.started >= known.state_at
    if stopped is not None and of.started >= stopped:
        was_stopped = True
    if was_stopped and reported.state == cri.SANDBOX_READY:
        yield (
            "SBX-12",
            f"{reported.DESCRIPTOR.name}.state",
            Difference("state", "SANDBOX_NOTREADY", "SANDBOX_READY", reported.id),
        )
    if known.state is None or of.started >= known.state_at:
        known.state, known.state_at = reported.state, of.ended


def _sandbox_state(state: int) -> str:
    return cri.PodSandboxState.Name(state) if state in cri.PodSandboxState.values() else str(state)


def _constant_creation(
    known: KnownObject, reported: Reported, aspect: str, of: Response
) -> Iterator[Finding]:
    if known.created_at and reported.created_at != known.created_at:
        yield differing(aspect, reported, "created_at", known.created_at)
    if not of.is_event:
        known.created_at = known.created_at or reported.created_at
