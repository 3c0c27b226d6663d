"""The ways in which the small CRI server can be wrong, by name.

A way runs between the client's call and its right response: it may reject, wait, or change the request or the
response. `NAME=ARGUMENT` passes an argument, for example `fails=RunPodSandbox` or `slow=0.2`.
"""

import subprocess
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from tests.criserver.sandboxes import fail_with
from tests.criserver.stateful_ways import STATEFUL_WAYS
from tests.criserver.way import Act, Answer, Call, Way

HUGE = 17 * 1024 * 1024


def _at(change: Callable[[Call, str], Any]) -> Act:
    """Limit a way with an RPC as argument to calls of that RPC."""
    return lambda call, rpc: change(call, rpc) if call.rpc == rpc else call.answer()


def _never(call: Call, _argument: str) -> Answer:
    call.over.wait()
    fail_with(grpc.StatusCode.UNAVAILABLE, "no response")


def _failing(code: grpc.StatusCode, message: str) -> Act:
    return lambda call, _argument: fail_with(code, f"{call.rpc} {message}")


class _FailsAt:
    """Fails some calls of one RPC, by their numbers: `RunPodSandbox/1,22`."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    def __call__(self, call: Call, argument: str) -> Answer:
        rpc, _, numbers = argument.partition("/")
        self._calls[call.rpc] += 1
        if call.rpc == rpc and str(self._calls[rpc]) in numbers.split(","):
            fail_with(grpc.StatusCode.UNKNOWN, f"{rpc} fails this once")
        return call.answer()


def _wants_image(call: Call, reference: str) -> Answer:
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=reference))
    if call.rpc == "RunPodSandbox" and not call.ask("ImageStatus", request).HasField("image"):
        fail_with(grpc.StatusCode.UNKNOWN, f'failed to get sandbox image "{reference}": no such host')
    return call.answer()


def _huge(call: Call, _argument: str) -> Answer:
    answer = call.answer()
    for field in answer.DESCRIPTOR.fields:
        holder = getattr(answer, field.name)
        if field.message_type and field.message_type.GetOptions().map_entry:
            holder["x"] = "x" * HUGE
        elif field.message_type and field.is_repeated:
            holder.add().id = "x" * HUGE
        elif field.type == field.TYPE_STRING and not field.is_repeated:
            setattr(answer, field.name, "x" * HUGE)
        else:
            continue
        break
    return answer


def _slow(call: Call, seconds: str) -> Answer:
    call.over.wait(float(seconds))
    return call.answer()


def _die(call: Call, _argument: str) -> Answer:
    call.die()
    fail_with(grpc.StatusCode.UNAVAILABLE, "killed")


class _DiesAfter:
    """Counts the calls of one server; the one after the last allowed kills it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = 0

    def __call__(self, call: Call, allowed: str) -> Answer:
        with self._lock:
            self._seen += 1
            dead = self._seen > int(allowed)
        if dead:
            call.die()
            fail_with(grpc.StatusCode.UNAVAILABLE, "killed")
        return call.answer()


HOLD_SECONDS = 3.0


class _HoldsUntilThird:
    """Holds the first two of equal requests until their client gives up, and responds to the next; a client
    that waits gets its response after `HOLD_SECONDS`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: Counter[bytes] = Counter()

    def __call__(self, call: Call, _rpc: str) -> Answer:
        key = call.request.SerializeToString(deterministic=True)
        with self._lock:
            self._seen[key] += 1
            held = self._seen[key] <= 2
        given_up = held and call.over.wait(HOLD_SECONDS)
        return _never(call, "") if given_up else call.answer()


def _filters_ignored(call: Call, _argument: str) -> Answer:
    if "filter" in call.request.DESCRIPTOR.fields_by_name:
        call.request.ClearField("filter")
    return call.answer()


def _does_nothing(verb: str) -> Act:
    def act(call: Call, _argument: str) -> Answer:
        return getattr(cri, f"{call.rpc}Response")() if call.rpc.startswith(verb) else call.answer()

    return act


def _leaves_process(call: Call, _argument: str) -> Answer:
    """Start a process with the id of a removed sandbox, which ends with this one."""
    if call.rpc == "RemovePodSandbox":
        # as long as this process has the other end of its input
        _LEFT.append(
            subprocess.Popen(
                ["/bin/sh", "-c", "read line", "shim", call.request.pod_sandbox_id], stdin=subprocess.PIPE
            )
        )
    return call.answer()


_LEFT: list[subprocess.Popen[bytes]] = []


def _log_elsewhere(call: Call, _argument: str) -> Answer:
    if call.rpc == "CreateContainer" and call.request.config.log_path:
        call.request.config.log_path += ".elsewhere"
    return call.answer()


def _never_exits(call: Call, _argument: str) -> Answer:
    answer = call.answer()
    if call.rpc == "ContainerStatus" and answer.status.state == cri.CONTAINER_EXITED:
        answer.status.state = cri.CONTAINER_RUNNING
    return answer


def _named(call: Call, name_and_version: str) -> Answer:
    answer = call.answer()
    if call.rpc == "Version":
        answer.runtime_name, _, version = name_and_version.partition("/")
        answer.runtime_version = version or answer.runtime_version
    return answer


def _no_shared_processes(call: Call, _argument: str) -> Answer:
    if call.rpc == "RunPodSandbox":
        namespaces = call.request.config.linux.security_context.namespace_options
        if namespaces.pid == cri.POD:
            fail_with(grpc.StatusCode.UNKNOWN, "cannot write oom_score_adj")
    return call.answer()


MACHINE_BYTES = 96 << 20


def _pod_of(call: Call) -> str:
    request = cri.ListContainersRequest(filter=cri.ContainerFilter(id=call.request.container_id))
    (container,) = call.ask("ListContainers", request).containers
    return str(container.pod_sandbox_id)


def _own_kernel(call: Call, _argument: str) -> Answer:
    answer = call.answer()
    if call.rpc == "ExecSync" and list(call.request.cmd) == ["cat", "/proc/sys/kernel/random/boot_id"]:
        answer.stdout = f"{uuid.uuid5(uuid.NAMESPACE_OID, _pod_of(call))}\n".encode()
    elif call.rpc == "PodSandboxStats":
        answer.stats.linux.memory.working_set_bytes.value += MACHINE_BYTES
    return answer


WAYS: dict[str, Way] = {
    "hangs": Way("one RPC hangs", "RPC", lambda: _at(_never)),
    "holds-until-third": Way(
        "equal requests of one RPC are held until the client gives up, and the third gets a response",
        "RPC",
        lambda: _at(_HoldsUntilThird()),
    ),
    "fails": Way(
        "one RPC always fails with UNKNOWN",
        "RPC",
        lambda: _at(_failing(grpc.StatusCode.UNKNOWN, "always fails here")),
    ),
    "fails-at": Way("one RPC fails at these of its calls, counted from 1", "RPC/N,N", _FailsAt),
    "wants-image": Way("sandboxes need an image that cannot be pulled", "REFERENCE", lambda: _wants_image),
    "unimplemented": Way(
        "one RPC is not implemented",
        "RPC",
        lambda: _at(_failing(grpc.StatusCode.UNIMPLEMENTED, "is an unknown method")),
    ),
    "unavailable": Way(
        "one RPC always fails with UNAVAILABLE, and the server lives",
        "RPC",
        lambda: _at(_failing(grpc.StatusCode.UNAVAILABLE, "is not available")),
    ),
    "huge": Way("one RPC's response is larger than 16 MiB", "RPC", lambda: _at(_huge)),
    "garbage": Way(
        "one RPC's response is no message",
        "RPC",
        lambda: _at(lambda _call, _rpc: b"\xff\xff\xff\xff no message"),
    ),
    "slow": Way("every call takes longer", "SECONDS", lambda: _slow),
    "dies-after": Way("dies at the call after this many", "CALLS", _DiesAfter),
    "dies-at": Way("dies at the first call of one RPC", "RPC", lambda: _at(_die)),
    "log-elsewhere": Way("logs are written to other files than requested", "", lambda: _log_elsewhere),
    "never-exits": Way("exited containers are reported as running", "", lambda: _never_exits),
    "v1alpha2-only": Way(
        "speaks only the v1alpha2 of the API", "", lambda: lambda call, _argument: call.answer()
    ),
    "filters-ignored": Way("lists ignore their filter", "", lambda: _filters_ignored),
    "remove-does-nothing": Way("Remove RPCs return OK and do nothing", "", lambda: _does_nothing("Remove")),
    "leaves-a-process": Way(
        "RemovePodSandbox leaves a process with the id of the sandbox", "", lambda: _leaves_process
    ),
    "stop-does-nothing": Way("Stop RPCs return OK and do nothing", "", lambda: _does_nothing("Stop")),
    "named": Way("Version reports another name", "NAME[/VERSION]", lambda: _named),
    "no-shared-processes": Way(
        "sandboxes with a shared PID namespace cannot be run", "", lambda: _no_shared_processes
    ),
    "own-kernel": Way(
        "sandboxes look like virtual machines: their kernel is another one, and they take memory themselves",
        "",
        lambda: _own_kernel,
    ),
    **STATEFUL_WAYS,
}


def choose(names: Iterable[str]) -> list[tuple[Act, str]]:
    """Return the named ways, each with its argument.

    Raises:
        ValueError: there is no way of that name, or its argument is missing or not expected.
    """
    chosen = []
    for text in names:
        name, _, argument = text.partition("=")
        way = WAYS.get(name)
        if way is None:
            msg = f"no way to be wrong is called {name!r}; there are: {', '.join(WAYS)}"
            raise ValueError(msg)
        if bool(argument) != bool(way.argument):
            msg = (
                f"the way {name!r} takes {'the argument ' + way.argument if way.argument else 'no argument'}"
            )
            raise ValueError(msg)
        chosen.append((way.make(), argument))
    return chosen
