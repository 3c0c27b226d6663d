"""Ways to be wrong about the state of containers."""

from collections import Counter
from pathlib import Path
from typing import Any

from critests.api import api_pb2 as cri
from tests.criserver.stateful_ways.definitions import (
    CREATED,
    EXITED,
    RUNNING,
    after,
    before,
    before_call,
    changes,
    container_entries,
    containers,
    fail,
    identity,
    sandboxes,
    state,
    status,
    way,
)
from tests.criserver.way import Act, Answer, Call


@before_call("another attempt of a container is rejected while the one before it exists")
def attempt_of_container_ignored(call: Call) -> None:
    if call.rpc == "CreateContainer":
        names = {each.metadata.name for each in containers(call, call.request.pod_sandbox_id)}
        if call.request.config.metadata.name in names:
            fail("the name is taken")


@before_call("a container's name is reserved in all other sandboxes too")
def names_shared_by_sandboxes(call: Call) -> None:
    if call.rpc == "CreateContainer":
        own = call.request.pod_sandbox_id
        names = {each.metadata.name for each in containers(call) if each.pod_sandbox_id != own}
        if call.request.config.metadata.name in names:
            fail("the name is taken")


@way("a container has the exit code of the one that exited last")
def exit_code_of_another_container() -> Act:
    exit_codes: list[int] = []
    seen: set[str] = set()

    def change(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
        for each in container_entries(answer, call.rpc) if call.rpc == "ContainerStatus" else ():
            if each.state == EXITED and each.id not in seen:
                seen.add(each.id)
                exit_codes.append(each.exit_code)
            if each.state == EXITED:
                each.exit_code = exit_codes[-1]

    return after(change)


@way("the last line that a container wrote is missing in its log")
def last_log_line_lost() -> Act:
    logs: dict[str, Path] = {}

    def act(call: Call, _argument: str) -> Answer:
        answer = call.answer()
        if call.rpc == "CreateContainer":
            config = call.request.config
            logs[answer.container_id] = Path(call.request.sandbox_config.log_directory) / config.log_path
        ended = call.rpc == "ContainerStatus" and answer.status.state == EXITED
        log = logs.pop(answer.status.id, None) if ended else None
        if log is not None and log.is_file():
            log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
        return answer

    return act


@before_call("a filter of containers by state and label ignores the state")
def state_filter_with_label_ignored(call: Call) -> None:
    if call.rpc == "ListContainers" and call.request.filter.label_selector:
        call.request.filter.ClearField("state")


@before_call("a filter by an unknown sandbox is ignored")
def unknown_sandbox_filter_ignored(call: Call) -> None:
    if call.rpc == "ListContainers" and call.request.filter.pod_sandbox_id not in sandboxes(call):
        call.request.filter.pod_sandbox_id = ""


@way("containers of a removed sandbox stay in the list")
def containers_outlive_their_sandbox() -> Act:
    left: dict[str, cri.Container] = {}

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "RemovePodSandbox":
            left.update({each.id: each for each in containers(call, call.request.pod_sandbox_id)})
        answer = call.answer()
        if call.rpc == "ListContainers":
            answer.containers.extend(left.values())
        return answer

    return act


@way("containers of a stopped sandbox are reported as running")
def running_in_a_stopped_sandbox() -> Act:
    running: set[str] = set()

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "StopPodSandbox":
            inside = containers(call, call.request.pod_sandbox_id)
            running.update(each.id for each in inside if each.state == RUNNING)
        answer = call.answer()
        for each in container_entries(answer, call.rpc):
            if each.id in running:
                each.state = RUNNING
        return answer

    return act


@way("containers that are stopped with their sandbox have the exit code 0")
def exit_code_lost_with_the_sandbox() -> Act:
    ended: set[str] = set()

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "StopPodSandbox":
            inside = containers(call, call.request.pod_sandbox_id)
            ended.update(each.id for each in inside if each.state == RUNNING)
        answer = call.answer()
        if call.rpc == "ContainerStatus" and answer.status.id in ended:
            answer.status.exit_code = 0
        return answer

    return act


@way("stopping an exited container changes its finish time")
def finish_time_changes() -> Act:
    moved: Counter[str] = Counter()

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "StopContainer" and state(call, identity(call)) == EXITED:
            moved[identity(call)] += 1
        answer = call.answer()
        if call.rpc == "ContainerStatus":
            answer.status.finished_at += moved[answer.status.id]
        return answer

    return act


@way("starting a container that runs succeeds")
def started_twice() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "StartContainer" and state(call, identity(call)) == RUNNING:
            return cri.StartContainerResponse()
        return call.answer()

    return act


@way("an exited container is reported as running after another start")
def running_after_a_second_start() -> Act:
    again: set[str] = set()

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "StartContainer" and state(call, identity(call)) == EXITED:
            again.add(identity(call))
        answer = None if call.rpc == "StartContainer" and identity(call) in again else call.answer()
        for each in container_entries(answer, call.rpc):
            if each.id in again:
                each.state = RUNNING
        return answer or fail("it was started before")

    return act


@way("a command in an exited container succeeds")
def command_in_an_exited_container() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "ExecSync" and state(call, identity(call)) == EXITED:
            return cri.ExecSyncResponse()
        return call.answer()

    return act


@way("a command has the output of the one before it")
def output_of_another_command() -> Act:
    last: list[bytes] = []

    def change(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
        if call.rpc == "ExecSync" and answer.stdout:
            last.append(answer.stdout)
            answer.stdout = last[-2] if len(last) > 1 else last[-1]

    return after(change)


@changes("the status of an exited container has no annotations")
def annotations_lost_after_the_exit(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
    if call.rpc == "ContainerStatus" and answer.status.state == EXITED:
        answer.status.annotations.clear()


@way("the start time of a container changes with every status")
def start_time_changes() -> Act:
    asked: Counter[str] = Counter()

    def change(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
        if call.rpc == "ContainerStatus" and answer.status.started_at:
            asked[answer.status.id] += 1
            answer.status.started_at += asked[answer.status.id]

    return after(change)


@way("stopping a container stops the others of its sandbox too")
def other_containers_stopped() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        found = status(call, identity(call)) if call.rpc == "StopContainer" else None
        if found is not None and found.state == RUNNING:
            own = next(each for each in containers(call) if each.id == found.id)
            for each in containers(call, own.pod_sandbox_id):
                call.ask("StopContainer", cri.StopContainerRequest(container_id=each.id))
        return call.answer()

    return act


@way("removing a container removes its namesake in another sandbox")
def container_of_the_same_name_removed() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        found = status(call, identity(call)) if call.rpc == "RemoveContainer" else None
        for each in containers(call) if found is not None else ():
            if found is not None and each.metadata == found.metadata and each.id != found.id:
                call.ask("RemoveContainer", cri.RemoveContainerRequest(container_id=each.id))
        return call.answer()

    return act


@way("a container that was stopped before it was started cannot be removed")
def removal_fails_after_a_stop_before_the_start() -> Act:
    stopped: set[str] = set()

    def refuses(call: Call) -> None:
        if call.rpc == "StopContainer" and state(call, identity(call)) == CREATED:
            stopped.add(identity(call))
        if call.rpc == "RemoveContainer" and identity(call) in stopped:
            fail("it has no process")

    return before(refuses)
