"""What the client itself needs for a call: the same timed window as in a benchmark, against a server that
does nothing.

    python -m critests.benchmark.floors.client_cost

The figure holds the client's work, the kernel's part in waking the client, and the little that the null
server does. That server stays
awake: waking a runtime is a part of what the runtime takes. The figure is printed beside results and
subtracted from none.
"""

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.benchmark.floors.null_answers import method_of
from critests.benchmark.floors.null_server import NullServer, start_null_server
from critests.benchmark.measuring.quiet import quiet
from critests.client.deadlines import READ_SECONDS, Deadlines
from critests.client.endpoint import Endpoint
from critests.client.plain import PlainConnection, plain_stubs
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.process import stat_of
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.run_label import RunIdentity

CALLS: Final = 300
WARM_UP: Final = 100
_IMAGE: Final = "example.test/null:1"
_ID: Final = "f" * 64


@dataclass(frozen=True)
class CallRate:
    """How many small unary calls one process makes, one after the other.

    Attributes:
        per_second: calls per second of wall time.
        per_cpu_second: calls per second of this process's processor time: what it could make on a core of its
            own.
        server_cpu_seconds: processor time of the null server per call; NaN where it cannot be read.
        calls: how many were made.
    """

    per_second: float
    per_cpu_second: float
    server_cpu_seconds: float
    calls: int


def client_cost(
    rpcs: Sequence[str],
    *,
    entries: int = 1,
    payload: int = 0,
    calls: int = CALLS,
    warm_up: int = WARM_UP,
    directory: Path | None = None,
) -> dict[str, float]:
    """Measure the client's own cost of each RPC, the decoding of the answer included.

    Args:
        rpcs: names of RPCs, in any order; streaming lists are timed until their last message.
        entries: length of the lists.
        payload: bytes of output of ExecSync.
        calls: timed calls of each, 300 by default: about 0.2 s.
        warm_up: calls before them.
        directory: where the server's socket goes; a temporary one by default.

    Returns:
        Median by RPC, in seconds.

    Raises:
        KeyError: there is no such RPC, or none that can be timed (GetContainerEvents ends when the client
            wants).
        NullServerFailed: the server did not start.
    """
    requests = {rpc: request_of(rpc) for rpc in rpcs}
    with _connected(directory) as (server, connection):
        costs = {}
        for rpc, request in requests.items():
            server.answer(rpc, entries=entries, payload=payload)
            costs[rpc] = _median(connection, rpc, request, calls, warm_up)
        return costs


def call_rate(seconds: float = 2.0, *, directory: Path | None = None) -> CallRate:
    """Measure how many small unary calls a second this process makes, one at a time.

    Args:
        seconds: how long.
        directory: where the server's socket goes; a temporary one by default.

    Raises:
        NullServerFailed: the server did not start.
    """
    with _connected(directory, awake=False) as (server, connection), quiet():
        server.answer("Version")
        method, request = connection.runtime.Version, cri.VersionRequest(version="0.1.0")
        for _ in range(WARM_UP):
            method(request, timeout=READ_SECONDS)
        calls, server_before, cpu_before, began = (
            0,
            _cpu_seconds(server.pid),
            time.process_time(),
            time.perf_counter(),
        )
        while (took := time.perf_counter() - began) < seconds:
            method(request, timeout=READ_SECONDS)
            calls += 1
        cpu = time.process_time() - cpu_before
        return CallRate(calls / took, calls / cpu, (_cpu_seconds(server.pid) - server_before) / calls, calls)


def request_of(rpc: str) -> Message:
    """Return a request of the usual size. Raises KeyError where there is no such RPC that can be timed."""
    if rpc == "GetContainerEvents":
        raise KeyError(rpc)
    with tempfile.TemporaryDirectory() as logs:
        run = RunIdentity.new()
        builder = RequestBuilder(run, Path(logs), CgroupParents(run, CgroupDriver.CGROUPFS))
        sandbox = builder.sandbox()
        container = builder.container(ImageName(_IMAGE, _IMAGE), command=("/bin/sh", "-c", "sleep 3600"))
    whole: dict[str, Message] = {
        "RunPodSandbox": cri.RunPodSandboxRequest(config=sandbox),
        "CreateContainer": cri.CreateContainerRequest(
            pod_sandbox_id=_ID, config=container, sandbox_config=sandbox
        ),
        "ExecSync": cri.ExecSyncRequest(container_id=_ID, cmd=["true"]),
        "Version": cri.VersionRequest(version="0.1.0"),
    }
    if rpc in whole:
        return whole[rpc]
    values: dict[str, Any] = {
        "pod_sandbox_id": _ID,
        "container_id": _ID,
        "image": cri.ImageSpec(image=_IMAGE),
    }
    kind = method_of(rpc).input_type
    request: Message = getattr(cri, kind.name)(
        **{name: value for name, value in values.items() if name in kind.fields_by_name}
    )
    return request


@contextlib.contextmanager
def _connected(directory: Path | None, *, awake: bool = True) -> Iterator[tuple[NullServer, PlainConnection]]:
    with (
        tempfile.TemporaryDirectory(prefix="null-", dir=directory) as folder,
        start_null_server(Path(folder), awake=awake) as server,
    ):
        connection = plain_stubs(Endpoint.parse(server.endpoint), receive_limit_bytes=-1)
        try:
            yield server, connection
        finally:
            connection.close()


def _median(connection: PlainConnection, rpc: str, request: Message, calls: int, warm_up: int) -> float:
    stub = connection.runtime if hasattr(connection.runtime, rpc) else connection.images
    method: Callable[..., Any] = getattr(stub, rpc)
    if rpc.startswith("Stream"):
        streaming = method
        # the same call, until its last message
        method = lambda request, timeout: list(streaming(request, timeout=timeout))  # noqa: E731 - see above
    seconds = Deadlines().seconds(rpc, request)
    taken = []
    with quiet():
        for _ in range(warm_up):
            method(request, timeout=seconds)
        for _ in range(calls):
            begin = time.perf_counter()
            method(request, timeout=seconds)
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def _cpu_seconds(pid: int) -> float:
    fields = stat_of(pid)
    if not fields:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, proc(5)


def print_costs(seconds: float) -> None:
    """Print the rate, measured for so many seconds, and the cost of the RPCs of a pod's life, of lists, and
    of output.
    """
    rate = call_rate(seconds)
    print(
        f"{rate.per_second:.0f} small unary calls a second from one process, {rate.per_cpu_second:.0f} per"
        " second of its processor time"
    )
    print(
        f"processor time per call: {1e6 / rate.per_cpu_second:.0f} us of the client,"
        f" {1e6 * rate.server_cpu_seconds:.0f} us of the server"
    )
    life = (
        "RunPodSandbox",
        "CreateContainer",
        "StartContainer",
        "ContainerStatus",
        "ExecSync",
        "StopContainer",
        "RemoveContainer",
    )
    for rpc, took in client_cost((*life, "StopPodSandbox", "RemovePodSandbox", "Version", "Status")).items():
        print(f"{rpc:<24} {took * 1e6:8.0f} us")
    for entries in (100, 1000):
        lists = ("ListContainers", "ListPodSandbox", "StreamContainers")
        for rpc, took in client_cost(lists, entries=entries, calls=50, warm_up=5).items():
            print(f"{f'{rpc} of {entries}':<24} {took * 1e6:8.0f} us")
    for size in (1 << 20, 16 << 20):
        took = client_cost(["ExecSync"], payload=size, calls=10, warm_up=5)["ExecSync"]
        print(f"{f'ExecSync with {size >> 20} MiB':<24} {took * 1e6:8.0f} us")


def main() -> None:
    """Print what the client needs here."""
    parser = argparse.ArgumentParser(
        prog="python -m critests.benchmark.floors.client_cost", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="how long the rate is measured")
    print_costs(parser.parse_args().seconds)


if __name__ == "__main__":
    main()
