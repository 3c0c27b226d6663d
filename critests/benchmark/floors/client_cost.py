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
    rpcs: Sequence[str], *, calls: int = CALLS, warm_up: int = WARM_UP, directory: Path | None = None
) -> dict[str, float]:
    """Measure the client's own cost of each RPC.

    Args:
        rpcs: names of RPCs, in any order; lists have one entry, and streaming lists are timed until their
            last message.
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
    with _connected(directory) as (_, connection):
        costs = {}
        for rpc in dict.fromkeys(rpcs):
            costs[rpc] = _median(connection, rpc, _Requests(connection).of(rpc), calls, warm_up)
            _remove_all(connection)
        return costs


def client_cost_of_list(
    entries: int,
    rpc: str = "ListContainers",
    *,
    calls: int = 50,
    warm_up: int = 5,
    directory: Path | None = None,
) -> float:
    """Measure the client's own cost of a list of a given length, its decoding included.

    Args:
        entries: length of the list.
        rpc: of one of the lists, streaming or not.
        calls: timed calls.
        warm_up: calls before them.
        directory: where the server's socket goes; a temporary one by default.

    Returns:
        Median in seconds.

    Raises:
        KeyError: there is no such RPC.
        NullServerFailed: the server did not start.
    """
    with _connected(directory, entries=entries) as (_, connection):
        return _median(connection, rpc, _Requests(connection).of(rpc), calls, warm_up)


def client_cost_of_exec(
    output_bytes: int, *, calls: int = 50, warm_up: int = 5, directory: Path | None = None
) -> float:
    """Measure the client's own cost of an ExecSync with so much output, as a median in seconds.

    Raises:
        NullServerFailed: the server did not start.
    """
    with _connected(directory, exec_bytes=output_bytes) as (_, connection):
        return _median(connection, "ExecSync", _Requests(connection).of("ExecSync"), calls, warm_up)


def call_rate(seconds: float = 2.0, *, directory: Path | None = None) -> CallRate:
    """Measure how many small unary calls a second this process makes, one at a time.

    Args:
        seconds: how long.
        directory: where the server's socket goes; a temporary one by default.

    Raises:
        NullServerFailed: the server did not start.
    """
    with _connected(directory, awake=False) as (server, connection), quiet():
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


class _Requests:
    """A request of the usual size for each RPC, about a sandbox and a container that the null server
    knows.
    """

    def __init__(self, connection: PlainConnection) -> None:
        with tempfile.TemporaryDirectory() as logs:
            run = RunIdentity.new()
            builder = RequestBuilder(run, Path(logs), CgroupParents(run, CgroupDriver.CGROUPFS))
            sandbox = builder.sandbox()
            container = builder.container(ImageName(_IMAGE, _IMAGE), command=("/bin/sh", "-c", "sleep 3600"))
        run_request = cri.RunPodSandboxRequest(config=sandbox)
        sandbox_id = connection.runtime.RunPodSandbox(run_request, timeout=READ_SECONDS).pod_sandbox_id
        create_request = cri.CreateContainerRequest(
            pod_sandbox_id=sandbox_id, config=container, sandbox_config=sandbox
        )
        container_id = connection.runtime.CreateContainer(create_request, timeout=READ_SECONDS).container_id
        connection.runtime.StartContainer(
            cri.StartContainerRequest(container_id=container_id), timeout=READ_SECONDS
        )
        connection.images.PullImage(
            cri.PullImageRequest(image=cri.ImageSpec(image=_IMAGE)), timeout=READ_SECONDS
        )
        self._whole: dict[str, Message] = {
            "RunPodSandbox": run_request,
            "CreateContainer": create_request,
            "ExecSync": cri.ExecSyncRequest(container_id=container_id, cmd=["true"]),
            "Version": cri.VersionRequest(version="0.1.0"),
        }
        self._fields: dict[str, Any] = {
            "pod_sandbox_id": sandbox_id,
            "container_id": container_id,
            "image": cri.ImageSpec(image=_IMAGE),
        }

    def of(self, rpc: str) -> Message:
        """Return the request of an RPC."""
        if rpc == "GetContainerEvents":
            raise KeyError(rpc)
        if rpc in self._whole:
            return self._whole[rpc]
        services = cri.DESCRIPTOR.services_by_name.values()
        method = next(
            (service.methods_by_name[rpc] for service in services if rpc in service.methods_by_name), None
        )
        if method is None:
            raise KeyError(rpc)
        known = {
            field.name: self._fields[field.name]
            for field in method.input_type.fields
            if field.name in self._fields
        }
        made: Message = getattr(cri, method.input_type.name)(**known)
        return made


def _remove_all(connection: PlainConnection) -> None:
    """Remove what an RPC made, so that the next one finds the server as the first one did."""
    for item in connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest(), timeout=READ_SECONDS).items:
        connection.runtime.RemovePodSandbox(
            cri.RemovePodSandboxRequest(pod_sandbox_id=item.id), timeout=READ_SECONDS
        )


@contextlib.contextmanager
def _connected(
    directory: Path | None, *, entries: int = 0, exec_bytes: int = 0, awake: bool = True
) -> Iterator[tuple[NullServer, PlainConnection]]:
    with (
        tempfile.TemporaryDirectory(prefix="null-", dir=directory) as folder,
        start_null_server(Path(folder), entries=entries, exec_bytes=exec_bytes, awake=awake) as server,
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
        for rpc in ("ListContainers", "ListPodSandbox", "StreamContainers"):
            print(f"{f'{rpc} of {entries}':<24} {client_cost_of_list(entries, rpc) * 1e6:8.0f} us")
    for size in (1 << 20, 16 << 20):
        print(f"{f'ExecSync with {size >> 20} MiB':<24} {client_cost_of_exec(size, calls=10) * 1e6:8.0f} us")


def main() -> None:
    """Print what the client needs here."""
    parser = argparse.ArgumentParser(
        prog="python -m critests.benchmark.floors.client_cost", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="how long the rate is measured")
    print_costs(parser.parse_args().seconds)


if __name__ == "__main__":
    main()
