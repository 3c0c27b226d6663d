"""Ways to be wrong about events and sessions."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from critests.api import api_pb2 as cri
from tests.criserver.services import EventStream
from tests.criserver.stateful_ways.definitions import (
    EXITED,
    RUNNING,
    after,
    before,
    before_call,
    containers,
    identity,
    sandboxes,
    state,
    way,
)
from tests.criserver.way import Act, Answer, Call

Event = cri.ContainerEventResponse


class ChangedEvents(EventStream):
    """The right events, each replaced by several, none or another one."""

    def __init__(self, right: EventStream, change: Callable[[Event], list[Event]]) -> None:
        self._right = right
        self._change = change

    def __iter__(self) -> Iterator[Event]:
        return itertools.chain.from_iterable(map(self._change, self._right))

    def close(self) -> None:
        """End the stream."""
        self._right.close()


def _changed(change: Callable[[Call, Event], list[Event]]) -> Act:
    def act(call: Call, _argument: str) -> Answer:
        answer = call.answer()
        if call.rpc == "GetContainerEvents":
            return ChangedEvents(answer, lambda event: change(call, event))
        return answer

    return act


@way("there is no event of the exit of a container whose sandbox is stopped")
def exit_event_with_the_sandbox_missing() -> Act:
    stopping: set[str] = set()

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "StopPodSandbox":
            stopping.add(call.request.pod_sandbox_id)
        answer = call.answer()
        if call.rpc == "GetContainerEvents":
            return ChangedEvents(answer, without_exit)
        return answer

    def without_exit(event: Event) -> list[Event]:
        with_it = (
            event.container_event_type == cri.CONTAINER_STOPPED_EVENT
            and event.pod_sandbox_status.id in stopping
        )
        return [] if with_it and event.container_id != event.pod_sandbox_status.id else [event]

    return act


@way("there is no event of the removal of an exited container")
def removal_event_missing() -> Act:
    return _changed(
        lambda _call, event: [] if event.container_event_type == cri.CONTAINER_DELETED_EVENT else [event]
    )


@way("the event of a container's exit comes twice")
def exit_event_sent_twice() -> Act:
    return _changed(
        lambda _call, event: [event] * (1 + (event.container_event_type == cri.CONTAINER_STOPPED_EVENT))
    )


@way("there is no event of the stop of a sandbox")
def sandbox_stop_event_missing() -> Act:
    def change(call: Call, event: Event) -> list[Event]:
        stopped = event.container_event_type == cri.CONTAINER_STOPPED_EVENT
        return [] if stopped and event.container_id in sandboxes(call) else [event]

    return _changed(change)


@way("the event of a container's exit reports it as running")
def running_in_the_exit_event() -> Act:
    def change(_call: Call, event: Event) -> list[Event]:
        for status in event.containers_statuses:
            if event.container_event_type == cri.CONTAINER_STOPPED_EVENT and status.id == event.container_id:
                status.state = RUNNING
        return [event]

    return _changed(change)


@way("the stream of events ends with the first removal of a sandbox")
def events_end_with_a_removal() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        answer: Any = call.answer()
        if call.rpc == "GetContainerEvents":
            streams.append(answer)
        if call.rpc == "RemovePodSandbox":
            for stream in streams:
                stream.close()
        return answer

    streams: list[EventStream] = []
    return act


@before_call("a client is attached to the container that was created first")
def attached_to_another_container(call: Call) -> None:
    running = [each.id for each in containers(call) if each.state == RUNNING]
    if call.rpc == "Attach" and identity(call) in running:
        call.request.container_id = running[-1]


@way("Attach to a container whose log was reopened has no session")
def no_session_after_a_reopened_log() -> Act:
    reopened: set[str] = set()

    def change(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
        if call.rpc == "ReopenContainerLog":
            reopened.add(identity(call))
        if call.rpc == "Attach" and identity(call) in reopened:
            answer.url += "-gone"

    return after(change)


@before_call("a session in an exited container runs in another one")
def session_in_an_exited_container(call: Call) -> None:
    running = [each.id for each in containers(call) if each.state == RUNNING]
    if call.rpc == "Exec" and running and state(call, identity(call)) == EXITED:
        call.request.container_id = running[0]


@way("the exit code of a session is lost once a command has run by ExecSync")
def exit_code_of_a_session_lost() -> Act:
    used: set[str] = set()

    def change(call: Call) -> None:
        if call.rpc == "ExecSync":
            used.add(identity(call))
        if call.rpc == "Exec" and identity(call) in used:
            call.request.cmd[:] = ["/bin/sh", "-c", '"$@"; exit 0', "sh", *call.request.cmd]

    return before(change)


@way("only the first session in a container has input")
def input_after_the_first_session_lost() -> Act:
    used: set[str] = set()

    def change(call: Call) -> None:
        if call.rpc == "Exec":
            lost = identity(call) in used and not call.request.tty
            call.request.stdin = call.request.stdin and not lost
            used.add(identity(call))

    return before(change)


@before_call("a session with a terminal has no output while another container runs")
def terminal_without_output_with_a_second_container(call: Call) -> None:
    running = [each.id for each in containers(call) if each.state == RUNNING]
    if call.rpc == "Exec" and call.request.tty and len(running) > 1:
        call.request.stdout = False


@way("only the first client that attaches has input")
def input_after_the_first_client_lost() -> Act:
    used: set[str] = set()

    def change(call: Call) -> None:
        if call.rpc == "Attach":
            call.request.stdin = call.request.stdin and identity(call) not in used
            used.add(identity(call))

    return before(change)
