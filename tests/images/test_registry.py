import base64
import http.client
import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from critests.images import oci_image, ports
from critests.images.ports import RegistryPortTaken
from critests.images.registry import RegistryServer
from critests.images.registry_client import RegistryClient, RegistryError, repository_of
from critests.images.registry_faults import Access, FaultKind, RegistryFault, Scheme
from critests.images.repositories import MintedImage


class HttpResponse:
    def __init__(self, response: http.client.HTTPResponse, content: bytes) -> None:
        self.status = response.status
        self.headers = response.headers
        self.content = content

    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.content)
        return value


def ask(address: str, path: str, method: str = "GET", **headers: str) -> HttpResponse:
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request(
            method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        response = connection.getresponse()
        return HttpResponse(response, response.read())
    finally:
        connection.close()


@pytest.fixture
def image(client: RegistryClient, repository: str) -> MintedImage:
    return client.mint("plain", repository, tags=["1", "2"], salt=repository)


def test_manifest_config_and_layers_of_an_image_are_served(image: MintedImage) -> None:
    manifest = ask(image.registry, f"/v2/{image.repository}/manifests/1")

    assert manifest.status == 200
    assert manifest.headers["Content-Type"] == "application/vnd.oci.image.manifest.v1+json"
    assert (
        manifest.headers["Docker-Content-Digest"]
        == image.digest
        == image.manifest_digest
        == oci_image.digest(manifest.content)
    )
    document = manifest.json()
    assert document["config"]["digest"] == image.config_digest
    assert tuple(layer["digest"] for layer in document["layers"]) == image.layer_digests
    for descriptor in (document["config"], *document["layers"]):
        blob = ask(image.registry, f"/v2/{image.repository}/blobs/{descriptor['digest']}")
        assert oci_image.digest(blob.content) == descriptor["digest"]
        assert blob.headers["Content-Type"] == "application/octet-stream"


def test_the_base_of_the_api_requires_credentials_while_a_repository_does(
    client: RegistryClient, image: MintedImage
) -> None:
    client.set_access(image.repository, Access(scheme=Scheme.BASIC, username="u", password="p"))

    refused = ask(client.address, "/v2/")
    assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, 'Basic realm="critests"')
    assert ask(client.address, "/v2/", Authorization="Basic dTpw").status == 200

    client.remove_repository(image.repository)
    assert ask(client.address, "/v2/").status == 200


@pytest.mark.parametrize("kind", ["manifest by tag", "manifest by digest", "blob"])
def test_head_has_the_headers_of_get_and_no_content(image: MintedImage, kind: str) -> None:
    paths = {
        "manifest by tag": "manifests/2",
        "manifest by digest": f"manifests/{image.digest}",
        "blob": f"blobs/{image.layer_digests[0]}",
    }
    path = f"/v2/{image.repository}/{paths[kind]}"
    head, get = ask(image.registry, path, "HEAD"), ask(image.registry, path)

    assert (head.status, head.content) == (200, b"")
    for name in ("Content-Length", "Content-Type", "Docker-Content-Digest"):
        assert head.headers[name] == get.headers[name]
    assert int(head.headers["Content-Length"]) == len(get.content)


def test_an_index_refers_to_the_manifest_of_the_machine(client: RegistryClient, repository: str) -> None:
    image = client.mint("index", repository)

    response = ask(image.registry, f"/v2/{repository}/manifests/1")

    assert response.headers["Content-Type"] == "application/vnd.oci.image.index.v1+json"
    assert response.headers["Docker-Content-Digest"] == image.digest
    assert image.manifest_digest in {entry["digest"] for entry in response.json()["manifests"]}
    assert (
        ask(image.registry, f"/v2/{repository}/manifests/{image.manifest_digest}").json()["config"]["digest"]
        == image.config_digest
    )


@pytest.mark.parametrize(
    ("asked", "status", "first", "last"),
    [
        ("bytes=0-9", 206, 0, 9),
        ("bytes=10-", 206, 10, -1),
        ("bytes=-5", 206, -5, -1),
        ("bytes=0-99999999", 206, 0, -1),
        ("bytes=1-2,4-5", 200, 0, -1),
        ("lines=1-2", 200, 0, -1),
        ("bytes=9-1", 200, 0, -1),
        ("bytes=-", 200, 0, -1),
    ],
)
def test_ranges_of_a_blob(image: MintedImage, asked: str, status: int, first: int, last: int) -> None:
    path = f"/v2/{image.repository}/blobs/{image.layer_digests[0]}"
    whole = ask(image.registry, path).content

    response = ask(image.registry, path, Range=asked)

    first, last = first % len(whole), last % len(whole)
    assert response.status == status
    assert response.content == whole[first : last + 1]
    if status == 206:
        assert response.headers["Content-Range"] == f"bytes {first}-{last}/{len(whole)}"


def test_a_range_beyond_the_end_is_rejected(image: MintedImage) -> None:
    response = ask(
        image.registry, f"/v2/{image.repository}/blobs/{image.config_digest}", Range="bytes=9999999-"
    )

    assert response.status == 416
    assert response.headers["Content-Range"].startswith("bytes */")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v2/{repository}/manifests/none", 404, "MANIFEST_UNKNOWN"),
        ("/v2/{repository}/manifests/sha256:" + "0" * 64, 404, "MANIFEST_UNKNOWN"),
        ("/v2/{repository}/blobs/sha256:" + "0" * 64, 404, "BLOB_UNKNOWN"),
        ("/v2/{repository}/blobs/nodigest", 400, "DIGEST_INVALID"),
        ("/v2/{repository}/manifests/-tag", 400, "MANIFEST_INVALID"),
        ("/v2/{repository}/tags/other", 400, "UNSUPPORTED"),
        ("/v2/no/such/manifests/1", 404, "NAME_UNKNOWN"),
        ("/v2/Upper/manifests/1", 400, "NAME_INVALID"),
        ("/elsewhere", 404, "NAME_UNKNOWN"),
    ],
)
def test_errors_are_in_the_form_of_the_distribution_specification(
    image: MintedImage, path: str, status: int, code: str
) -> None:
    response = ask(image.registry, path.format(repository=image.repository))

    assert response.status == status
    assert response.headers["Content-Type"] == "application/json"
    assert [error["code"] for error in response.json()["errors"]] == [code]


def tags_of(address: str, repository: str) -> list[str]:
    tags: list[str] = ask(address, f"/v2/{repository}/tags/list").json()["tags"]
    return tags


def test_tags_are_sorted(client: RegistryClient, repository: str) -> None:
    client.mint("plain", repository, tags=["b", "a", "c"])

    assert tags_of(client.address, repository) == ["a", "b", "c"]


def test_one_connection_serves_many_requests(image: MintedImage) -> None:
    connection = http.client.HTTPConnection(image.registry, timeout=10)
    connection.connect()
    own = connection.sock.getsockname()
    for path in (f"manifests/{image.digest}", "manifests/none", f"blobs/{image.config_digest}"):
        connection.request("GET", f"/v2/{image.repository}/{path}")
        connection.getresponse().read()
        assert connection.sock.getsockname() == own
    connection.close()


def test_blobs_belong_to_their_repository(client: RegistryClient, image: MintedImage) -> None:
    other = client.mint("pause", f"{image.repository}/other")

    assert ask(image.registry, f"/v2/{other.repository}/blobs/{image.config_digest}").status == 404


def test_requests_are_recorded_by_repository(client: RegistryClient, image: MintedImage) -> None:
    login = base64.b64encode(b"user:secret").decode()
    ask(
        image.registry,
        f"/v2/{image.repository}/manifests/1",
        "HEAD",
        Authorization=f"Basic {login}",
    )
    ask(image.registry, f"/v2/{image.repository}/blobs/{image.config_digest}", Range="bytes=0-3")
    ask(image.registry, f"/v2/{image.repository}/manifests/none")

    first, second, third = client.requests(image.repository)

    assert (first.method, first.kind, first.reference, first.status) == ("HEAD", "manifest", "1", 200)
    assert (first.authorization, first.username) == ("basic", "user")
    assert "secret" not in repr(first)
    assert (second.kind, second.status) == ("blob", 206)
    assert third.status == 404
    client.reset_requests(image.repository)
    assert client.requests(image.repository) == []


def test_a_removed_repository_is_gone(client: RegistryClient, image: MintedImage) -> None:
    assert client.remove_repository(image.repository)
    assert not client.remove_repository(image.repository)
    assert ask(image.registry, f"/v2/{image.repository}/manifests/1").status == 404


def test_repositories_of_a_run_are_removed_together(client: RegistryClient) -> None:
    for name in ("plain", "pause"):
        client.mint(name, repository_of("1-abcdef", name))
    remaining = client.mint("pause", repository_of("2-abcdef", "pause"))

    assert client.remove_repository("critests/1-abcdef/*")
    assert tags_of(client.address, remaining.repository) == ["1"]
    with pytest.raises(RegistryError, match="no repository critests/1-abcdef/plain"):
        client.requests("critests/1-abcdef/plain")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda client: client.mint("plan", "unit/a"), "no test image 'plan'"),
        (lambda client: client.mint("plain", "Unit/A"), "'Unit/A' is no name for a repository"),
        (lambda client: client.mint("plain", "unit/a", tags=["no tag"]), "'no tag' is no tag"),
        (lambda client: client.mint("plain", "unit/a", changes={"user": 3}), "3 is no user"),
        (
            lambda client: client.mint("docker", "unit/a", changes={"compression": "zstd"}),
            "no media type for a layer with compression zstd",
        ),
        (lambda client: client.requests("unit/none"), "no repository unit/none"),
        (
            lambda client: RegistryClient(client.address, "guess").requests("unit/a"),
            "the admin token is not this registry's",
        ),
        (lambda _: RegistryClient("127.0.0.1:9", "token").requests("unit/a"), "127.0.0.1:9 does not respond"),
    ],
)
def test_an_impossible_operation_is_an_error_with_a_message(
    client: RegistryClient, call: Callable[[RegistryClient], object], sentence: str
) -> None:
    with pytest.raises(RegistryError, match=sentence):
        call(client)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RegistryFault(kind=FaultKind.SLOW), "needs bytes_per_second"),
        (lambda: RegistryFault(kind=FaultKind.DELAY), "a delay needs seconds"),
        (Access, "basic access needs a username"),
    ],
)
def test_an_incomplete_fault_or_access_is_rejected(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


def test_the_error_of_a_used_port_names_its_process_and_the_option(registry: RegistryServer) -> None:
    with pytest.raises(
        RegistryPortTaken,
        match=r"the registry of another critests run uses it \(process \d+\)\. .*--registry-port",
    ):
        RegistryServer(registry.port).start()


def test_without_a_port_the_next_free_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        monkeypatch.setattr(ports, "_DEFAULT_PORTS", [number, 0])
        with RegistryServer() as server:
            assert server.port not in {0, number}
        monkeypatch.setattr(ports, "_DEFAULT_PORTS", [number])
        with pytest.raises(RegistryPortTaken, match="every port from"):
            RegistryServer().start()


def test_stopping_closes_idle_connections_at_once() -> None:
    with RegistryServer(0) as server:
        connection = http.client.HTTPConnection(server.address, timeout=10)
        connection.request("GET", "/v2/")
        connection.getresponse().read()
        began = time.monotonic()
    assert time.monotonic() - began < 5, "less than the client would wait"
    server.stop()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.port), timeout=1)
    connection.close()


def login(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def test_basic_access_requires_the_credentials(client: RegistryClient, image: MintedImage) -> None:
    client.set_access(image.repository, Access(username="user", password="word"))
    path = f"/v2/{image.repository}/manifests/1"

    refused = ask(image.registry, path)
    assert refused.status == 401
    assert refused.headers["WWW-Authenticate"] == 'Basic realm="critests"'
    assert ask(image.registry, path, Authorization=login("user", "other")).status == 401
    assert ask(image.registry, path, Authorization="Basic !").status == 401
    assert ask(image.registry, path, Authorization=login("user", "word")).status == 200
    assert "WWW-Authenticate" in ask(image.registry, "/v2/").headers
    client.set_access(image.repository, None)
    assert ask(image.registry, path).status == 200


def test_bearer_access_requires_a_token_of_the_repository(client: RegistryClient, image: MintedImage) -> None:
    client.set_access(
        image.repository,
        Access(scheme=Scheme.BEARER, username="user", password="word", identity_token="identity"),
    )
    path, scope = (
        f"/v2/{image.repository}/manifests/1",
        f"/token?service=x&scope=repository:{image.repository}:pull",
    )

    challenge = ask(image.registry, path).headers["WWW-Authenticate"]
    assert (
        challenge == "Bearer"
        f' realm="http://{image.registry}/token",service="{image.registry}",scope="repository:{image.repository}:pull"'
    )
    assert ask(image.registry, scope).status == 401
    assert ask(image.registry, scope, Authorization=login("user", "other")).status == 401
    token = ask(image.registry, scope, Authorization=login("user", "word")).json()["token"]
    assert ask(image.registry, path, Authorization=f"Bearer {token}").status == 200
    assert ask(image.registry, path, Authorization="Bearer made-up").status == 401


def test_bearer_token_without_credentials_expires(client: RegistryClient, image: MintedImage) -> None:
    client.set_access(image.repository, Access(scheme=Scheme.BEARER, token_seconds=0))
    response = ask(image.registry, f"/token?scope=repository:{image.repository}:pull")

    assert response.status == 200
    token = response.json()["access_token"]
    assert (
        ask(image.registry, f"/v2/{image.repository}/manifests/1", Authorization=f"Bearer {token}").status
        == 401
    )


@pytest.mark.parametrize(
    "hello",
    [b"\x16\x03\x01\x02\x00\x01", b"\x16\x03\x01 a b\r\n\r\n", b"\x16\x03\x01\x00\n"],
    ids=["usual", "like a request", "with a newline"],
)
def test_a_tls_handshake_gets_an_error_in_plain_http(registry: RegistryServer, hello: bytes) -> None:
    with socket.create_connection(("127.0.0.1", registry.port), timeout=5) as connection:
        connection.sendall(hello)

        assert connection.recv(100).startswith(b"HTTP/1.0 400 ")


def test_a_copy_of_a_repository_has_its_content_and_no_faults(
    client: RegistryClient, image: MintedImage
) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.UNAVAILABLE))
    client.copy(image.repository, f"mirror/{image.repository}")

    assert client.requests(f"mirror/{image.repository}") == []
    assert tags_of(client.address, f"mirror/{image.repository}") == list(image.tags)
    client.clear_faults(image.repository)


def test_any_bytes_can_be_put_into_a_repository(client: RegistryClient, repository: str) -> None:
    """They need not be what their media type says."""
    manifest, blob = oci_image.Blob("text/odd", b"\xff no JSON"), oci_image.Blob("text/odd", b"\0")

    client.put(repository, "odd", manifest, [blob])

    served = ask(client.address, f"/v2/{repository}/manifests/odd")
    assert (served.content, served.headers["Content-Type"]) == (manifest.content, "text/odd")
    assert ask(client.address, f"/v2/{repository}/blobs/{blob.digest}").content == blob.content
    assert ask(client.address, f"/v2/{repository}/manifests/{blob.digest}").content == blob.content
