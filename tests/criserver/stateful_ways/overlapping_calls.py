"""Ways to be wrong about concurrent calls: each watched call waits, so that another one can begin
meanwhile.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from critests.api import api_pb2 as cri
from tests.criserver.stateful_ways.definitions import STATEFUL_WAYS, containers, fail, identity, status
from tests.criserver.way import Act, Answer, Call, Way

OVERLAP_SECONDS = 0.1
"""How long a watched call waits for others."""
LONG = 2.0
"""Seconds in which every process of a sequence that got a signal has exited."""


@dataclass
class Overlaps:
    """The watched calls in progress."""

    pending: list[Call] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def among(self, call: Call) -> Iterator[tuple[list[Call], list[Call]]]:
        """Yield the calls that were in progress when this one began, and all calls concurrent with it."""
        with self.lock:
            before = list(self.pending)
            self.pending.append(call)
        try:
            call.over.wait(OVERLAP_SECONDS)
            with self.lock:
                concurrent = [
                    *before,
                    *(each for each in self.pending if each is not call and each not in before),
                ]
            yield before, concurrent
        finally:
            with self.lock:
                self.pending.remove(call)


OverlapBug = Callable[[Call, list[Call], list[Call]], Answer | None]
"""Gets a call, those in progress before it, and those concurrent with it; returns the wrong response, or None
for the right one.
"""


def overlapping(description: str, *rpcs: str) -> Callable[[OverlapBug], OverlapBug]:
    """Add a way that may be wrong when calls of these RPCs overlap, named like the function."""

    def make(bug: OverlapBug) -> Act:
        overlaps = Overlaps()

        def act(call: Call, _argument: str) -> Answer:
            if call.rpc not in rpcs:
                return call.answer()
            with overlaps.among(call) as (earlier, others):
                wrong = bug(call, earlier, others)
                return call.answer() if wrong is None else wrong

        return act

    def add(bug: OverlapBug) -> OverlapBug:
        STATEFUL_WAYS[bug.__name__.replace("_", "-")] = Way(description, "", lambda: make(bug))
        return bug

    return add


def _same(call: Call, others: list[Call], rpc: str) -> bool:
    """Whether one of the others is a call of an RPC about the same object."""
    return any(each.rpc == rpc and identity(each) == identity(call) for each in others)


@overlapping("concurrent creations of one sandbox both create one", "RunPodSandbox")
def sandbox_created_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    if any(each.request.config.metadata == call.request.config.metadata for each in earlier):
        call.request.config.metadata.uid += "-again"
    return None


@overlapping("concurrent creations of one container both create one", "CreateContainer")
def container_created_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    alike = (call.request.pod_sandbox_id, call.request.config.metadata)
    if any((each.request.pod_sandbox_id, each.request.config.metadata) == alike for each in earlier):
        call.request.config.metadata.attempt += 100
    return None


@overlapping("two concurrent starts of a container both succeed", "StartContainer")
def started_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    return cri.StartContainerResponse() if _same(call, earlier, "StartContainer") else None


@overlapping("the second of two concurrent stops of a container fails", "StopContainer")
def stopped_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    return fail("it is being stopped") if _same(call, earlier, "StopContainer") else None


@overlapping("the second of two concurrent removals of an image fails", "RemoveImage")
def image_removed_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    alike = [each for each in earlier if each.request.image.image == call.request.image.image]
    return fail("image not known") if alike else None


@overlapping("a container that is removed while it is started stays", "StartContainer", "RemoveContainer")
def removal_lost_during_a_start(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    lost = call.rpc == "RemoveContainer" and _same(call, others, "StartContainer")
    return cri.RemoveContainerResponse() if lost else None


@overlapping(
    "a sandbox that is stopped while a container is created in it stays ready",
    "StopPodSandbox",
    "CreateContainer",
)
def stop_lost_during_a_creation(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    lost = call.rpc == "StopPodSandbox" and _same(call, others, "CreateContainer")
    return cri.StopPodSandboxResponse() if lost else None


@overlapping(
    "the removal of a container removes those that are being stopped", "StopContainer", "RemoveContainer"
)
def removal_removes_stopping_containers(
    call: Call, _earlier: list[Call], others: list[Call]
) -> Answer | None:
    """The removal of a container during the stop of another one removes both."""
    stopped = [identity(each) for each in others if each.rpc == "StopContainer"]
    found = status(call, identity(call)) if call.rpc == "RemoveContainer" and stopped else None
    if found is not None:
        for each in containers(call):
            if each.id in stopped:
                call.ask("RemoveContainer", cri.RemoveContainerRequest(container_id=each.id))
    return None


@overlapping("a command in a container within its grace period is rejected", "StopContainer", "ExecSync")
def commands_rejected_during_a_stop(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    stopped = call.rpc == "ExecSync" and _same(call, others, "StopContainer")
    return fail("it is being stopped") if stopped else None


@overlapping("a log is not reopened before a concurrent stop returns", "StopContainer", "ReopenContainerLog")
def log_reopened_when_stopped(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    if call.rpc == "ReopenContainerLog" and _same(call, others, "StopContainer"):
        call.over.wait(LONG)
    return None
