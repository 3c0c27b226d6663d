"""How stateful ways are defined: access to the server's true state, and decorators that change responses."""

from collections.abc import Callable
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from tests.criserver.sandboxes import RpcFailure, fail_with
from tests.criserver.way import Act, Answer, Call, Way

STATEFUL_WAYS: dict[str, Way] = {}
CREATED, RUNNING, EXITED = cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED


def way(description: str, argument: str = "") -> Callable[[Callable[[], Act]], Callable[[], Act]]:
    def add(make: Callable[[], Act]) -> Callable[[], Act]:
        STATEFUL_WAYS[make.__name__.replace("_", "-")] = Way(description, argument, make)
        return make

    return add


def fail(why: str) -> Answer:
    fail_with(grpc.StatusCode.UNKNOWN, why)


def identity(call: Call) -> str:
    """Return the id that a request is about."""
    request = call.request
    return str(getattr(request, "container_id", "") or getattr(request, "pod_sandbox_id", ""))


def status(call: Call, container_id: str) -> "cri.ContainerStatus | None":
    """Return the true status of a container, None if it does not exist."""
    try:
        answer = call.ask("ContainerStatus", cri.ContainerStatusRequest(container_id=container_id))
    except RpcFailure:
        return None
    found: cri.ContainerStatus = answer.status
    return found


def state(call: Call, container_id: str) -> int:
    """Return the true state of a container, -1 if it does not exist."""
    found = status(call, container_id)
    return -1 if found is None else found.state


def containers(call: Call, sandbox_id: str = "") -> list[cri.Container]:
    wanted = cri.ContainerFilter(pod_sandbox_id=sandbox_id)
    return list(call.ask("ListContainers", cri.ListContainersRequest(filter=wanted)).containers)


def sandboxes(call: Call) -> dict[str, cri.PodSandbox]:
    listed = call.ask("ListPodSandbox", cri.ListPodSandboxRequest()).items
    return {sandbox.id: sandbox for sandbox in listed}


def container_entries(answer: Any, rpc: str) -> list[Any]:  # noqa: ANN401 - messages of several types
    """Return the containers in a list or in a status."""
    if rpc == "ListContainers":
        return list(answer.containers)
    return [answer.status] if rpc == "ContainerStatus" else []


def sandbox_entries(answer: Any, rpc: str) -> list[Any]:  # noqa: ANN401 - messages of several types
    if rpc == "ListPodSandbox":
        return list(answer.items)
    return [answer.status] if rpc == "PodSandboxStatus" else []


def after(change: Callable[[Call, Any], None]) -> Act:
    """Return a way that changes right responses."""

    def act(call: Call, _argument: str) -> Answer:
        answer = call.answer()
        change(call, answer)
        return answer

    return act


def before(refuses: Callable[[Call], object]) -> Act:
    """Return a way that may reject a call before it gets its right response."""

    def act(call: Call, _argument: str) -> Answer:
        refuses(call)
        return call.answer()

    return act


def changes(description: str) -> Callable[[Callable[[Call, Any], None]], Callable[[Call, Any], None]]:
    """Add a way without a memory that changes right responses, named like the function."""

    def add(change: Callable[[Call, Any], None]) -> Callable[[Call, Any], None]:
        STATEFUL_WAYS[change.__name__.replace("_", "-")] = Way(description, "", lambda: after(change))
        return change

    return add


def before_call(description: str) -> Callable[[Callable[[Call], None]], Callable[[Call], None]]:
    """Add a way without a memory that may reject a call, or change it, named like the function."""

    def add(check: Callable[[Call], None]) -> Callable[[Call], None]:
        STATEFUL_WAYS[check.__name__.replace("_", "-")] = Way(description, "", lambda: before(check))
        return check

    return add


@way("one RPC returns OK and does nothing", "RPC")
def lost() -> Act:
    return lambda call, rpc: getattr(cri, f"{rpc}Response")() if call.rpc == rpc else call.answer()


@way("one RPC is rejected the second time for the same object", "RPC")
def once() -> Act:
    done: set[str] = set()

    def act(call: Call, rpc: str) -> Answer:
        if call.rpc == rpc:
            if identity(call) in done:
                fail(f"{rpc} was called before")
            done.add(identity(call))
        return call.answer()

    return act
