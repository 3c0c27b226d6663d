"""Slips that show only where calls overlap: each of the calls that they watch takes a moment, in which
another one can come.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from critests.api import api_pb2 as cri
from tests.criserver.slips.slip import containers, fail, identity, status, way
from tests.criserver.way import Act, Answer, Call

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


def beside(
    rpcs: set[str], slips: Callable[[Call, list[Call], list[Call]], Answer | None]
) -> Callable[[], Act]:
    """Return what makes a way that may slip where calls of these RPCs overlap.

    Args:
        rpcs: that are watched.
        slips: gets a call, those that were under way before it and those beside it; returns the wrong answer,
            or None for the right one.
    """

    def make() -> Act:
        overlaps = Overlaps()

        def act(call: Call, _argument: str) -> Answer:
            if call.rpc not in rpcs:
                return call.answer()
            with overlaps.among(call) as (earlier, others):
                wrong = slips(call, earlier, others)
                return call.answer() if wrong is None else wrong

        return act

    return make


def named(name: str, says: str, make: Callable[[], Act]) -> None:
    """Add a way under a name."""
    make.__name__ = name
    way(says)(make)


def _same(call: Call, others: list[Call], rpc: str) -> bool:
    """Whether one of the others is a call of an RPC about the same object."""
    return any(each.rpc == rpc and identity(each) == identity(call) for each in others)


def _second_sandbox(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    if any(each.request.config.metadata == call.request.config.metadata for each in earlier):
        call.request.config.metadata.uid += "-again"
    return None


def _second_container(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    alike = (call.request.pod_sandbox_id, call.request.config.metadata)
    if any((each.request.pod_sandbox_id, each.request.config.metadata) == alike for each in earlier):
        call.request.config.metadata.attempt += 100
    return None


def _second_start(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    return cri.StartContainerResponse() if _same(call, earlier, "StartContainer") else None


def _second_stop(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    return fail("it is being stopped") if _same(call, earlier, "StopContainer") else None


def _second_removal(call: Call, earlier: list[Call], _others: list[Call]) -> Answer | None:
    alike = [each for each in earlier if each.request.image.image == call.request.image.image]
    return fail("image not known") if alike else None


def _removal_beside_a_start(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    lost = call.rpc == "RemoveContainer" and _same(call, others, "StartContainer")
    return cri.RemoveContainerResponse() if lost else None


def _stop_beside_a_creation(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    lost = call.rpc == "StopPodSandbox" and _same(call, others, "CreateContainer")
    return cri.StopPodSandboxResponse() if lost else None


def _end_beside_a_removal(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    """A container that is removed beside the stop of its neighbour takes that along."""
    stopped = [identity(each) for each in others if each.rpc == "StopContainer"]
    found = status(call, identity(call)) if call.rpc == "RemoveContainer" and stopped else None
    if found is not None:
        for each in containers(call):
            if each.id in stopped:
                call.ask("RemoveContainer", cri.RemoveContainerRequest(container_id=each.id))
    return None


def _command_beside_a_stop(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    stopped = call.rpc == "ExecSync" and _same(call, others, "StopContainer")
    return fail("it is being stopped") if stopped else None


def _reopening_beside_a_stop(call: Call, _earlier: list[Call], others: list[Call]) -> Answer | None:
    if call.rpc == "ReopenContainerLog" and _same(call, others, "StopContainer"):
        call.over.wait(LONG)
    return None


named(
    "made_twice_at_once",
    "sandboxes of the same metadata that are made at once are both made",
    beside({"RunPodSandbox"}, _second_sandbox),
)
named(
    "contained_twice_at_once",
    "containers of the same metadata that are made at once are both made",
    beside({"CreateContainer"}, _second_container),
)
named(
    "started_twice_at_once",
    "of two starts of a container at once both succeed",
    beside({"StartContainer"}, _second_start),
)
named(
    "stopped_twice_at_once",
    "of two stops of a container at once the second fails",
    beside({"StopContainer"}, _second_stop),
)
named(
    "image_removed_twice_at_once",
    "of two removals of an image at once the second fails",
    beside({"RemoveImage"}, _second_removal),
)
named(
    "removal_lost_beside_a_start",
    "a container that is removed while it is started stays",
    beside({"StartContainer", "RemoveContainer"}, _removal_beside_a_start),
)
named(
    "stop_lost_beside_a_creation",
    "a sandbox that is stopped while a container is made in it goes on",
    beside({"StopPodSandbox", "CreateContainer"}, _stop_beside_a_creation),
)
named(
    "removal_takes_what_is_stopped_along",
    "the removal of a container removes those that are being stopped",
    beside({"StopContainer", "RemoveContainer"}, _end_beside_a_removal),
)
named(
    "no_commands_while_it_stops",
    "a command in a container that has time to end is refused",
    beside({"StopContainer", "ExecSync"}, _command_beside_a_stop),
)
named(
    "log_reopened_when_stopped",
    "a log is not reopened before a stop that is under way is over",
    beside({"StopContainer", "ReopenContainerLog"}, _reopening_beside_a_stop),
)
