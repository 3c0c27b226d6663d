"""The client's own cost of a call: the timed window of a benchmark, against a server that does nothing.

The cost includes the client's work, the time to wake the client, and the small cost of the null server. That
server polls and does not sleep, because the time to wake a runtime belongs to the runtime. Reports show the
cost next to the results and never subtract it.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.garbage_collector import garbage_collection_paused
from critests.benchmark.reference.null_server import null_server
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint
from critests.client.plain_connection import PlainConnection, plain_stubs
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.run_label import RunIdentity

_IMAGE: Final = "example.test/null:1"
_ID: Final = "f" * 64
_DEPTH: Final = 3
"""Depth to which nested messages of a response are filled in."""


def client_cost(rpcs: Sequence[str], *, calls: int, warm_up: int) -> dict[str, float]:
    """Measure the client's own cost of each RPC, including the decoding of the response.

    Args:
        rpcs: names of unary RPCs, in any order.
        calls: timed calls of each RPC; 300 take about 0.2 s.
        warm_up: calls before the timed ones.

    Returns:
        Median by RPC, in seconds.

    Raises:
        KeyError: an RPC does not exist.
        NullServerFailed: the server did not start.
    """
    methods = {rpc: _method_of(rpc) for rpc in rpcs}
    costs = {}
    with tempfile.TemporaryDirectory(prefix="null-") as folder, null_server(Path(folder)) as server:
        connection = plain_stubs(Endpoint.parse(server.endpoint))
        try:
            for rpc, method in methods.items():
                server.set_response(_filled(method.output_type, 0).SerializeToString())
                costs[rpc] = _median(connection, rpc, _request_of(method), calls, warm_up)
        finally:
            connection.close()
    return costs


def _method_of(rpc: str) -> MethodDescriptor:
    for service in cri.DESCRIPTOR.services_by_name.values():
        if rpc in service.methods_by_name:
            return service.methods_by_name[rpc]
    raise KeyError(rpc)


def _median(connection: PlainConnection, rpc: str, request: Message, calls: int, warm_up: int) -> float:
    stub = connection.runtime if hasattr(connection.runtime, rpc) else connection.images
    method: Callable[..., Any] = getattr(stub, rpc)
    seconds = Deadlines().seconds(rpc, request)
    taken = []
    with garbage_collection_paused():
        for _ in range(warm_up):
            method(request, timeout=seconds)
        for _ in range(calls):
            begin = time.perf_counter()
            method(request, timeout=seconds)
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def _request_of(method: MethodDescriptor) -> Message:
    """Return a request of typical size."""
    with tempfile.TemporaryDirectory() as logs:
        run = RunIdentity.new()
        builder = RequestBuilder(run, Path(logs), CgroupParents(run, CgroupDriver.CGROUPFS))
        sandbox = builder.sandbox()
        container = builder.container(ImageName(_IMAGE, _IMAGE), command=("/bin/sh", "-c", "sleep 3600"))
    values: dict[str, Any] = {
        "pod_sandbox_id": _ID,
        "container_id": _ID,
        "image": cri.ImageSpec(image=_IMAGE),
        "cmd": ["true"],
        "version": "0.1.0",
        "sandbox_config": sandbox,
        "config": container if method.name == "CreateContainer" else sandbox,
    }
    kind = method.input_type
    request: Message = getattr(cri, kind.name)(
        **{name: value for name, value in values.items() if name in kind.fields_by_name}
    )
    return request


def _filled(descriptor: Descriptor, depth: int) -> Message:
    """Return a response with a value in each field that applies to Linux, and one item in each repeated
    field.
    """
    message: Message = getattr(cri, descriptor.name)()
    for field in descriptor.fields:
        kind = field.message_type
        if kind is None:
            _set_field(message, field)
        elif kind.GetOptions().map_entry:
            if kind.fields_by_name["value"].message_type is None:
                getattr(message, field.name)["name"] = "value"
        elif depth < _DEPTH and field.name != "windows":
            part = _filled(kind, depth + 1)
            target = getattr(message, field.name)
            target.append(part) if field.is_repeated else target.CopyFrom(part)
    return message


def _set_field(message: Message, field: FieldDescriptor) -> None:
    value: object
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        text = _ID if field.name.endswith(("id", "ref")) else field.name
        value = text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
    elif field.enum_type is not None:
        value = field.enum_type.values[-1].number
    else:
        value = field.cpp_type == FieldDescriptor.CPPTYPE_BOOL or 1_000_000
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)
