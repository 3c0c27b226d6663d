"""The committed stubs match the .proto files, import without warnings, and are typed."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, assert_type

import grpc
import pytest

import critests.api
from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc

ROOT = Path(__file__).parents[2]
PROTOS = ROOT / "protos"
GENERATOR = ROOT / "tools" / "generate_api.py"
STUBS = Path(critests.api.__file__).parent
SERVICES = cri.DESCRIPTOR.services_by_name


@pytest.mark.skipif(not GENERATOR.is_file(), reason="not a checkout: tools/generate_api.py is not here")
def test_generator_creates_the_committed_files() -> None:
    done = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"], capture_output=True, text=True, check=False
    )
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_stubs_import_with_warnings_as_errors() -> None:
    script = "from critests.api import api_pb2, api_pb2_grpc"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_stubs_have_the_whole_api() -> None:
    messages = cri.DESCRIPTOR.message_types_by_name.values()
    assert cri.DESCRIPTOR.package == "runtime.v1"
    assert {name: len(service.methods) for name, service in SERVICES.items()} == {
        "RuntimeService": 37,
        "ImageService": 6,
    }
    assert len(messages) == 175
    assert sum(len(message.fields) for message in messages) == 478


@pytest.mark.parametrize("proto", ["runtime/v1/api.proto", "nri/v1alpha1/nri.proto", "ttrpc/ttrpc.proto"])
def test_every_service_rpc_message_and_enum_has_a_comment(proto: str) -> None:
    lines = (PROTOS / proto).read_text(encoding="utf-8").splitlines()
    pairs = list(zip(["", *lines], lines, strict=False))
    bare = [
        line
        for before, line in pairs
        if re.match(r"\s*(service|rpc|message|enum) ", line) and not before.lstrip().startswith("// ")
    ]
    assert bare == []


def test_the_types_name_every_rpc_and_its_kind() -> None:
    tree = ast.parse((STUBS / "api_pb2_grpc.pyi").read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for name, service in SERVICES.items():
        attributes = [part for part in classes[f"{name}Stub"].body if isinstance(part, ast.AnnAssign)]
        typed = {ast.unparse(part.target): ast.unparse(part.annotation) for part in attributes}
        assert typed == {
            method.name: f"grpc.Unary{'Stream' if method.server_streaming else 'Unary'}MultiCallable"
            f"[api_pb2.{method.input_type.name}, api_pb2.{method.output_type.name}]"
            for method in service.methods
        }


def version(request: cri.VersionRequest, context: grpc.ServicerContext) -> cri.VersionResponse:
    del context
    return cri.VersionResponse(runtime_name="tiny", version=request.version)


def events(
    request: cri.GetEventsRequest, context: grpc.ServicerContext
) -> Iterator[cri.ContainerEventResponse]:
    del request, context
    yield cri.ContainerEventResponse(container_id="c", container_event_type=cri.CONTAINER_STARTED_EVENT)


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[cri_grpc.RuntimeServiceStub]:
    address = f"unix:{tmp_path}/cri.sock"
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "Version": grpc.unary_unary_rpc_method_handler(
            version, cri.VersionRequest.FromString, cri.VersionResponse.SerializeToString
        ),
        "GetContainerEvents": grpc.unary_stream_rpc_method_handler(
            events, cri.GetEventsRequest.FromString, cri.ContainerEventResponse.SerializeToString
        ),
    }
    server.add_registered_method_handlers("runtime.v1.RuntimeService", handlers)
    server.add_insecure_port(address)
    server.start()
    with grpc.insecure_channel(address) as channel:
        yield cri_grpc.RuntimeServiceStub(channel)
    server.stop(grace=None).wait()


def test_calls_of_both_kinds_work_and_are_typed(stub: cri_grpc.RuntimeServiceStub) -> None:
    response = stub.Version(cri.VersionRequest(version="v1"), timeout=10)
    received = [
        assert_type(event, cri.ContainerEventResponse)
        for event in stub.GetContainerEvents(cri.GetEventsRequest(), timeout=10)
    ]

    assert assert_type(response, cri.VersionResponse) == cri.VersionResponse(
        runtime_name="tiny", version="v1"
    )
    assert [event.container_id for event in received] == ["c"]
