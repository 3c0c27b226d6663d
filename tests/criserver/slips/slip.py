"""What slips are made of: looking at what the server truly holds, and changing what it answers."""

from collections.abc import Callable
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from tests.criserver.sandboxes import Gone, refuse
from tests.criserver.way import Act, Answer, Call, Way

SLIPS: dict[str, Way] = {}
CREATED, RUNNING, EXITED = cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED


def way(says: str, argument: str = "") -> Callable[[Callable[[], Act]], Callable[[], Act]]:
    def add(make: Callable[[], Act]) -> Callable[[], Act]:
        SLIPS[make.__name__.replace("_", "-")] = Way(says, argument, make)
        return make

    return add


def fail(why: str) -> Answer:
    refuse(grpc.StatusCode.UNKNOWN, why)


def identity(call: Call) -> str:
    """Return the id that a request is about."""
    request = call.request
    return str(getattr(request, "container_id", "") or getattr(request, "pod_sandbox_id", ""))


def status(call: Call, container_id: str) -> "cri.ContainerStatus | None":
    """Return the true status of a container, None of one that is not there."""
    try:
        answer = call.ask("ContainerStatus", cri.ContainerStatusRequest(container_id=container_id))
    except Gone:
        return None
    found: cri.ContainerStatus = answer.status
    return found


def state(call: Call, container_id: str) -> int:
    """Return the true state of a container, -1 of one that is not there."""
    found = status(call, container_id)
    return -1 if found is None else found.state


def containers(call: Call, sandbox_id: str = "") -> list[cri.Container]:
    wanted = cri.ContainerFilter(pod_sandbox_id=sandbox_id)
    return list(call.ask("ListContainers", cri.ListContainersRequest(filter=wanted)).containers)


def sandboxes(call: Call) -> dict[str, cri.PodSandbox]:
    listed = call.ask("ListPodSandbox", cri.ListPodSandboxRequest()).items
    return {sandbox.id: sandbox for sandbox in listed}


def told(answer: Any, rpc: str) -> list[Any]:  # noqa: ANN401 - messages of several types
    """Return what an answer tells of containers: in a list or a status."""
    if rpc == "ListContainers":
        return list(answer.containers)
    return [answer.status] if rpc == "ContainerStatus" else []


def told_of_sandboxes(answer: Any, rpc: str) -> list[Any]:  # noqa: ANN401 - messages of several types
    if rpc == "ListPodSandbox":
        return list(answer.items)
    return [answer.status] if rpc == "PodSandboxStatus" else []


def after(change: Callable[[Call, Any], None]) -> Act:
    """Make a way that changes right answers."""

    def act(call: Call, _argument: str) -> Answer:
        answer = call.answer()
        change(call, answer)
        return answer

    return act


def before(refuses: Callable[[Call], object]) -> Act:
    """Make a way that may refuse a call before it is answered rightly."""

    def act(call: Call, _argument: str) -> Answer:
        refuses(call)
        return call.answer()

    return act


def changes(says: str) -> Callable[[Callable[[Call, Any], None]], Callable[[Call, Any], None]]:
    """Add a way without a memory that changes right answers, under the name of the function."""

    def add(change: Callable[[Call, Any], None]) -> Callable[[Call, Any], None]:
        SLIPS[change.__name__.replace("_", "-")] = Way(says, "", lambda: after(change))
        return change

    return add


def looks_first(says: str) -> Callable[[Callable[[Call], None]], Callable[[Call], None]]:
    """Add a way without a memory that may refuse a call, or change it, under the name of the function."""

    def add(look: Callable[[Call], None]) -> Callable[[Call], None]:
        SLIPS[look.__name__.replace("_", "-")] = Way(says, "", lambda: before(look))
        return look

    return add


@way("one RPC answers OK and does nothing", "RPC")
def lost() -> Act:
    return lambda call, rpc: getattr(cri, f"{rpc}Response")() if call.rpc == rpc else call.answer()


@way("one RPC is refused the second time for the same object", "RPC")
def once() -> Act:
    done: set[str] = set()

    def act(call: Call, rpc: str) -> Answer:
        if call.rpc == rpc:
            if identity(call) in done:
                fail(f"{rpc} was called before")
            done.add(identity(call))
        return call.answer()

    return act
