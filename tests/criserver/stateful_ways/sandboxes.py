"""Ways to be wrong about the state of sandboxes."""

from typing import Any

from critests.api import api_pb2 as cri
from tests.criserver.sandboxes import RpcFailure
from tests.criserver.stateful_ways.definitions import (
    EXITED,
    before,
    before_call,
    changes,
    containers,
    fail,
    identity,
    sandbox_entries,
    sandboxes,
    way,
)
from tests.criserver.way import Act, Answer, Call


@way("the metadata of a removed sandbox stays reserved")
def name_not_freed() -> Act:
    taken: dict[str, str] = {}

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc != "RunPodSandbox":
            return call.answer()
        name = str(call.request.config.metadata)
        if name in taken and taken[name] not in sandboxes(call):
            fail("the name is reserved")
        answer = call.answer()
        taken[name] = answer.pod_sandbox_id
        return answer

    return act


@before_call("another attempt of a sandbox is rejected while one exists")
def attempt_of_sandbox_ignored(call: Call) -> None:
    if call.rpc == "RunPodSandbox":
        names = {sandbox.metadata.name for sandbox in sandboxes(call).values()}
        if call.request.config.metadata.name in names:
            fail("the name is taken")


@way("used metadata creates a second sandbox")
def second_sandbox_with_used_metadata() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "RunPodSandbox":
            names = {sandbox.metadata.name for sandbox in sandboxes(call).values()}
            if call.request.config.metadata.name in names:
                call.request.config.metadata.uid += "-again"
        return call.answer()

    return act


@way("a new sandbox has the id of an existing one")
def id_reused() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        if call.rpc != "RunPodSandbox" or not (alive := sandboxes(call)):
            return call.answer()
        call.answer()
        return cri.RunPodSandboxResponse(pod_sandbox_id=next(iter(alive)))

    return act


@way("the status of a sandbox is that of the newest one")
def status_of_another_sandbox() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "PodSandboxStatus" and call.request.pod_sandbox_id in (alive := sandboxes(call)):
            call.request.pod_sandbox_id = next(iter(alive))
        return call.answer()

    return act


@before_call("a filter of sandboxes by id and label ignores the id")
def id_filter_with_label_ignored(call: Call) -> None:
    if call.rpc == "ListPodSandbox" and call.request.filter.label_selector:
        call.request.filter.ClearField("id")


@changes("a filter for NOTREADY sandboxes omits those with containers")
def stopped_sandboxes_not_found(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
    if call.rpc == "ListPodSandbox" and call.request.filter.state.state == cri.SANDBOX_NOTREADY:
        remaining = [item for item in answer.items if not containers(call, item.id)]
        del answer.items[:]
        answer.items.extend(remaining)


@way("a removed sandbox stays in the list until the next one is created")
def removed_sandbox_listed() -> Act:
    last: dict[str, cri.PodSandbox] = {}

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "RemovePodSandbox":
            last.update({k: v for k, v in sandboxes(call).items() if k == call.request.pod_sandbox_id})
        if call.rpc == "RunPodSandbox":
            last.clear()
        answer = call.answer()
        if call.rpc == "ListPodSandbox" and not call.request.HasField("filter"):
            answer.items.extend(last.values())
        return answer

    return act


@way("a removed sandbox still has a status")
def removed_sandbox_has_a_status() -> Act:
    last: dict[str, Any] = {}

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc != "PodSandboxStatus":
            return call.answer()
        try:
            last[call.request.pod_sandbox_id] = call.answer()
        except RpcFailure:
            if call.request.pod_sandbox_id not in last:
                raise
        return last[call.request.pod_sandbox_id]

    return act


@changes("a stopped sandbox has another creation time")
def creation_time_changes_when_stopped(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
    for each in sandbox_entries(answer, call.rpc):
        if each.state == cri.SANDBOX_NOTREADY:
            each.created_at += 1


@changes("the creation time of a sandbox is in seconds")
def creation_time_in_seconds(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
    for each in sandbox_entries(answer, call.rpc):
        each.created_at //= 10**9


@changes("a sandbox loses its labels when it is stopped")
def labels_lost_when_stopped(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
    for each in sandbox_entries(answer, call.rpc):
        if each.state == cri.SANDBOX_NOTREADY:
            each.labels.pop("colour", None)


@changes("a sandbox is NOTREADY when all its containers have exited")
def sandbox_stops_with_its_containers(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
    for each in sandbox_entries(answer, call.rpc):
        inside = containers(call, each.id)
        if inside and all(container.state == EXITED for container in inside):
            each.state = cri.SANDBOX_NOTREADY


@before_call("a sandbox with an exited container cannot be removed")
def exited_container_prevents_removal(call: Call) -> None:
    if call.rpc == "RemovePodSandbox":
        inside = containers(call, call.request.pod_sandbox_id)
        if any(each.state == EXITED for each in inside):
            fail("it has containers")


@way("after three removed sandboxes no other one can be created")
def no_sandbox_after_three_removals() -> Act:
    removed: set[str] = set()

    def refuses(call: Call) -> None:
        if call.rpc == "RemovePodSandbox" and identity(call) in sandboxes(call):
            removed.add(identity(call))
        if call.rpc == "RunPodSandbox" and len(removed) >= 3:
            removed.clear()
            fail("no address is left")

    return before(refuses)
