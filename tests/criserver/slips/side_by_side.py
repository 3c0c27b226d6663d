"""Slips that show only where calls overlap: each of the calls that they watch takes a moment, in which
another one can come.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from critests.api import api_pb2 as cri
from tests.criserver.slips.slip import SLIPS, containers, fail, identity, status
from tests.criserver.way import Act, Answer, Call, Way

MOMENT = 0.1
"""Seconds."""
LONG = 2.0
"""Seconds in which every process of a sequence has ended that was told to."""


@dataclass
class Overlaps:
    """Which of the watched calls are under way."""

    going: list[Call] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def among(self, call: Call) -> Iterator[tuple[list[Call], list[Call]]]:
        """Give the calls that were under way when this one came, and those that are after a moment."""
        with self.lock:
            before = list(self.going)
            self.going.append(call)
        try:
            call.over.wait(MOMENT)
            with self.lock:
                beside = [*before, *(each for each in self.going if each is not call and each not in before)]
            yield before, beside
        finally:
            with self.lock:
                self.going.remove(call)


Slip = Callable[[Call, list[Call], list[Call]], Answer | None]
"""Gets a call, those that were under way before it and those beside it; returns the wrong answer, or None for
the right one.
"""


def beside(says: str, *rpcs: str) -> Callable[[Slip], Slip]:
    """Add a way that may slip where calls of these RPCs overlap, under the name of the function."""

    def make(slips: Slip) -> Act:
        overlaps = Overlaps()

        def act(call: Call, _argument: str) -> Answer:
            if call.rpc not in rpcs:
                return call.answer()
            with overlaps.among(call) as (earlier, others):
                wrong = slips(call, earlier, others)
                return call.answer() if wrong is None else wrong

        return act

    def add(slips: Slip) -> Slip:
        SLIPS[slips.__name__.replace("_", "-")] = Way(says, "", lambda: make(slips))
        return slips

    return add


def _same(call: Call, others: list[Call], rpc: str) -> bool:
    """Whether one of the others is a call of an RPC about the same object."""
    return any(each.rpc == rpc and identity(each) == identity(call) for each in others)


@beside("sandboxes of the same metadata that are made at once are both made", "RunPodSandbox")
def made_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    if any(each.request.config.metadata == call.request.config.metadata for each in earlier):
        call.request.config.metadata.uid += "-again"
    return None


@beside("containers of the same metadata that are made at once are both made", "CreateContainer")
def contained_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    alike = (call.request.pod_sandbox_id, call.request.config.metadata)
    if any((each.request.pod_sandbox_id, each.request.config.metadata) == alike for each in earlier):
        call.request.config.metadata.attempt += 100
    return None


@beside("of two starts of a container at once both succeed", "StartContainer")
def started_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    return cri.StartContainerResponse() if _same(call, earlier, "StartContainer") else None


@beside("of two stops of a container at once the second fails", "StopContainer")
def stopped_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    return fail("it is being stopped") if _same(call, earlier, "StopContainer") else None


@beside("of two removals of an image at once the second fails", "RemoveImage")
def image_removed_twice_at_once(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    alike = [each for each in earlier if each.request.image.image == call.request.image.image]
    return fail("image not known") if alike else None


@beside("a container that is removed while it is started stays", "StartContainer", "RemoveContainer")
def removal_lost_beside_a_start(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    lost = call.rpc == "RemoveContainer" and _same(call, others, "StartContainer")
    return cri.RemoveContainerResponse() if lost else None


@beside(
    "a sandbox that is stopped while a container is made in it goes on", "StopPodSandbox", "CreateContainer"
)
def stop_lost_beside_a_creation(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    lost = call.rpc == "StopPodSandbox" and _same(call, others, "CreateContainer")
    return cri.StopPodSandboxResponse() if lost else None


@beside("the removal of a container removes those that are being stopped", "StopContainer", "RemoveContainer")
def removal_takes_what_is_stopped_along(
    call: Call, _earlier: list[Call], others: list[Call]
) -> Answer | None:
    """A container that is removed beside the stop of its neighbour takes that along."""
    stopped = [identity(each) for each in others if each.rpc == "StopContainer"]
    found = status(call, identity(call)) if call.rpc == "RemoveContainer" and stopped else None
    if found is not None:
        for each in containers(call):
            if each.id in stopped:
                call.ask("RemoveContainer", cri.RemoveContainerRequest(container_id=each.id))
    return None


@beside("a command in a container that has time to end is refused", "StopContainer", "ExecSync")
def no_commands_while_it_stops(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    stopped = call.rpc == "ExecSync" and _same(call, others, "StopContainer")
    return fail("it is being stopped") if stopped else None


@beside(
    "a log is not reopened before a stop that is under way is over", "StopContainer", "ReopenContainerLog"
)
def log_reopened_when_stopped(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    if call.rpc == "ReopenContainerLog" and _same(call, others, "StopContainer"):
        call.over.wait(LONG)
    return None
