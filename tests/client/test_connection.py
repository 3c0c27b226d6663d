import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.call_recording import Recorder
from critests.client.connection import connect
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint, EndpointError, TlsFiles
from critests.client.failures import CallNotAllowed, failed_rpc
from tests.criserver import CriServer
from tests.criserver.connected import connected
from tests.criserver.impostors import hanging_up, not_grpc


def version(request: cri.VersionRequest, context: grpc.ServicerContext) -> cri.VersionResponse:
    del request, context
    return cri.VersionResponse(
        version="0.1.0", runtime_name="tcp", runtime_version="1", runtime_api_version="v1"
    )


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    named = f"-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {key} -out {certificate}"
    subprocess.run(f"{command} {named}".split(), check=True, capture_output=True)
    return key, certificate


@pytest.fixture
def tls_port(certificate: tuple[Path, Path]) -> Iterator[int]:
    key, chain = certificate
    server = grpc.server(ThreadPoolExecutor(2))
    only_version = grpc.unary_unary_rpc_method_handler(
        version, cri.VersionRequest.FromString, cri.VersionResponse.SerializeToString
    )
    server.add_registered_method_handlers("runtime.v1.RuntimeService", {"Version": only_version})
    port = server.add_secure_port(
        "localhost:0", grpc.ssl_server_credentials([(key.read_bytes(), chain.read_bytes())])
    )
    server.start()
    yield port
    server.stop(None).wait()


def test_tcp_with_tls(tls_port: int, certificate: tuple[Path, Path]) -> None:
    connection = connect(Endpoint.parse(f"tcp://localhost:{tls_port}"), tls=TlsFiles(ca=certificate[1]))

    assert connection.greet().runtime_name == "tcp"
    connection.close()


def test_tcp_without_the_required_tls_is_an_error(tls_port: int) -> None:
    connection = connect(Endpoint.parse(f"tcp://localhost:{tls_port}"))

    with pytest.raises(EndpointError, match="no CRI runtime responds"):
        connection.greet()
    connection.close()


def test_every_call_is_recorded_with_code_and_time() -> None:
    recorder = Recorder()
    with connected(CriServer(), recorder=recorder) as connection:
        connection.runtime.Version(cri.VersionRequest(version="0.1.0"))
        with pytest.raises(grpc.RpcError) as raised:
            connection.runtime.ContainerStatus(cri.ContainerStatusRequest(container_id="nobody"))
        pending = connection.runtime.Status.future(cri.StatusRequest())
        pending.result()

    calls = recorder.since(0)
    assert [(call.rpc, call.code) for call in calls[:2]] == [
        ("Version", "OK"),
        ("ContainerStatus", "NOT_FOUND"),
    ]
    assert failed_rpc(raised.value) == "ContainerStatus"
    assert all(call.seconds > 0 for call in calls)
    assert recorder.coverage.request_fields["VersionRequest.version"] == 1
    assert recorder.coverage.response_fields["VersionResponse.runtime_name"] == 1


def test_request_is_recorded_as_it_is_sent() -> None:
    recorder = Recorder()
    recorder.outgoing = lambda _: cri.VersionRequest(version="changed")
    given = cri.VersionRequest(version="0.1.0")
    with connected(CriServer(), recorder=recorder) as connection:
        connection.runtime.Version(given)
        connection.runtime.Version.future(given).result()

    assert [call.request for call in recorder.since(0)] == [cri.VersionRequest(version="changed")] * 2
    assert given.version == "0.1.0"


def test_secrets_do_not_reach_the_record() -> None:
    recorder = Recorder()
    secrets = {
        "password": "hunter2",
        "auth": "aHVudGVyMg==",
        "identity_token": "idtoken",
        "registry_token": "regtoken",
    }
    request = cri.PullImageRequest(
        image=cri.ImageSpec(image="x"), auth=cri.AuthConfig(username="me", **secrets)
    )
    with connected(CriServer(), recorder=recorder) as connection, pytest.raises(grpc.RpcError):
        connection.images.PullImage(request)

    recorded = str(recorder.since(0)[0].to_json())
    assert "me" in recorded
    assert not [secret for secret in secrets.values() if secret in recorded]
    assert request.auth.password == "hunter2"


@pytest.mark.parametrize("impostor", [not_grpc, hanging_up])
def test_socket_without_a_cri_runtime_is_reported(
    impostor: Callable[[], AbstractContextManager[str]],
) -> None:
    with impostor() as endpoint:
        connection = connect(Endpoint.parse(endpoint), deadlines=Deadlines(scale=0.2))
        with pytest.raises(EndpointError, match="no CRI runtime responds"):
            connection.greet()
        connection.close()


def test_a_call_without_a_deadline_gets_one() -> None:
    server = CriServer(wrong=["hangs=Status"])
    with connected(server, deadlines=Deadlines(0.05)) as connection, pytest.raises(grpc.RpcError) as raised:
        connection.runtime.Status(cri.StatusRequest())

    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_read_only_connection_rejects_mutating_calls() -> None:
    server = CriServer()
    with connected(server, read_only=True) as connection:
        connection.runtime.ListContainers(cri.ListContainersRequest())
        with pytest.raises(CallNotAllowed):
            connection.runtime.StopContainer(cri.StopContainerRequest(container_id="x"))
        with pytest.raises(CallNotAllowed):
            connection.images.RemoveImage.future(cri.RemoveImageRequest())

    assert server.calls == ["ListContainers"]


@pytest.mark.parametrize(
    ("rpc", "request_", "seconds"),
    [
        ("Status", cri.StatusRequest(), 10),
        ("RunPodSandbox", cri.RunPodSandboxRequest(), 60),
        ("StopPodSandbox", cri.StopPodSandboxRequest(), 20),
        ("PullImage", cri.PullImageRequest(), 120),
        ("StopContainer", cri.StopContainerRequest(timeout=30), 150),
        ("StopContainer", cri.StopContainerRequest(timeout=-1), 120),
        ("ExecSync", cri.ExecSyncRequest(timeout=5), 65),
    ],
)
def test_default_deadline_of_an_rpc(rpc: str, request_: object, seconds: float) -> None:
    assert Deadlines().seconds(rpc, request_) == seconds  # type: ignore[arg-type]  # a table of different messages
