import http.client
import json
import threading
import time
from typing import Any

import pytest

from critests.images import oci_image
from critests.images.http_response import ResponseWriter
from critests.images.registry_client import RegistryClient
from critests.images.registry_faults import FaultKind, RegistryFault, Scope
from critests.images.repositories import MintedImage


@pytest.fixture
def image(client: RegistryClient, repository: str) -> MintedImage:
    return client.mint("plain", repository, salt=repository)


def get(
    image: MintedImage, what: str = "manifest", method: str = "GET", range_header: str = ""
) -> tuple[int, Any, bytes]:
    paths = {
        "manifest": "manifests/1",
        "layer": f"blobs/{image.layer_digests[-1]}",
        "config": f"blobs/{image.config_digest}",
    }
    connection = http.client.HTTPConnection(image.registry, timeout=10)
    try:
        connection.request(
            method,
            f"/v2/{image.repository}/{paths[what]}",
            headers={"Range": range_header} if range_header else {},
        )
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (FaultKind.UNAUTHORIZED, "UNAUTHORIZED"),
        (FaultKind.FORBIDDEN, "DENIED"),
        (FaultKind.TOO_MANY_REQUESTS, "TOOMANYREQUESTS"),
        (FaultKind.SERVER_ERROR, "UNKNOWN"),
        (FaultKind.UNAVAILABLE, "UNAVAILABLE"),
    ],
)
def test_error_fault_replaces_the_content_by_its_status(
    client: RegistryClient, image: MintedImage, kind: FaultKind, code: str
) -> None:
    client.fault(image.repository, RegistryFault(kind=kind, seconds=7))

    status, headers, content = get(image)

    assert str(status) == kind
    assert json.loads(content)["errors"][0]["code"] == code
    assert headers["Retry-After"] == "7"
    assert ("WWW-Authenticate" in headers) == (kind is FaultKind.UNAUTHORIZED)


@pytest.mark.parametrize("what", ["manifest", "layer", "config"])
def test_wrong_digest_changes_one_byte_and_not_the_size(
    client: RegistryClient, image: MintedImage, what: str
) -> None:
    _, honest, right = get(image, what)
    client.fault(image.repository, RegistryFault(kind=FaultKind.WRONG_DIGEST))

    status, headers, content = get(image, what)

    assert status == 200
    assert headers["Docker-Content-Digest"] == honest["Docker-Content-Digest"] == oci_image.digest(right)
    assert len(content) == len(right)
    assert sum(one != other for one, other in zip(content, right, strict=True)) == 1
    if what == "manifest":
        json.loads(content)


def test_short_is_a_complete_response_with_half_the_content(
    client: RegistryClient, image: MintedImage
) -> None:
    _, _, right = get(image, "layer")
    client.fault(image.repository, RegistryFault(kind=FaultKind.SHORT))

    _, headers, content = get(image, "layer")

    assert content == right[: len(right) // 2]
    assert int(headers["Content-Length"]) == len(content)


def test_truncated_response_ends_half_way(client: RegistryClient, image: MintedImage) -> None:
    _, _, right = get(image, "layer")
    client.fault(image.repository, RegistryFault(kind=FaultKind.TRUNCATED))

    with pytest.raises(http.client.IncompleteRead) as broken:
        get(image, "layer")

    assert broken.value.partial == right[: len(right) // 2]


def test_reset_fault_resets_the_connection(client: RegistryClient, image: MintedImage) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.RESET))

    with pytest.raises(ConnectionResetError):
        get(image, "layer")

    (request,) = client.requests(image.repository)
    assert (request.fault, request.status) == ("reset", 200)


def test_malformed_manifests_are_not_json_and_blobs_are_unchanged(
    client: RegistryClient, image: MintedImage
) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.MALFORMED_MANIFEST))

    with pytest.raises(json.JSONDecodeError):
        json.loads(get(image)[2])
    assert oci_image.digest(get(image, "config")[2]) == image.config_digest


def test_wrong_media_type_fault_changes_only_the_media_type(
    client: RegistryClient, image: MintedImage
) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.WRONG_MEDIA_TYPE))

    _, headers, content = get(image)

    assert headers["Content-Type"] == "text/html"
    assert oci_image.digest(content) == image.digest


@pytest.mark.parametrize("what", ["manifest", "layer"])
@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.CHUNKED,
        FaultKind.NO_DIGEST_HEADER,
        FaultKind.NO_RANGES,
        FaultKind.DELAY,
        FaultKind.SLOW,
    ],
)
def test_the_content_is_right_in_an_unusual_response(
    client: RegistryClient, image: MintedImage, kind: FaultKind, what: str
) -> None:
    _, _, right = get(image, what)
    client.fault(image.repository, RegistryFault(kind=kind, seconds=0.2, bytes_per_second=4 * len(right)))

    began = time.monotonic()
    _, headers, content = get(image, what)
    took = time.monotonic() - began

    assert content == right
    assert (headers["Content-Length"] is None) == (kind is FaultKind.CHUNKED)
    assert (headers["Docker-Content-Digest"] is None) == (kind is FaultKind.NO_DIGEST_HEADER)
    if kind in {FaultKind.DELAY, FaultKind.SLOW}:
        assert took > 0.15


def test_a_registry_without_ranges_sends_the_whole_blob(client: RegistryClient, image: MintedImage) -> None:
    _, _, whole = get(image, "layer")
    client.fault(image.repository, RegistryFault(kind=FaultKind.NO_RANGES))

    status, headers, content = get(image, "layer", range_header="bytes=2-5")

    assert (status, content) == (200, whole)
    assert headers["Content-Range"] is None
    assert headers["Accept-Ranges"] is None


def test_slow_fault_applies_to_small_content(client: RegistryClient, image: MintedImage) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.SLOW, scope=Scope.MANIFEST, seconds=1))

    began = time.monotonic()
    get(image, "manifest")

    assert time.monotonic() - began > 0.9


def test_a_redirection_leads_to_the_content(client: RegistryClient, image: MintedImage) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.REDIRECT, scope=Scope.BLOB))

    status, headers, _ = get(image, "layer")

    assert status == 307
    connection = http.client.HTTPConnection(image.registry, timeout=5)
    connection.request("GET", headers["Location"])
    assert oci_image.digest(connection.getresponse().read()) == image.layer_digests[-1]
    connection.close()


def test_a_stall_ends_when_its_fault_is_cleared(
    client: RegistryClient,
    image: MintedImage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.STALL))
    timer = threading.Timer(0.3, client.clear_faults, [image.repository])
    stall = ResponseWriter._stall

    def stalling(response: ResponseWriter) -> None:
        timer.start()
        stall(response)

    # a fault that is cleared before the request has no effect
    monkeypatch.setattr(ResponseWriter, "_stall", stalling)
    began = time.monotonic()
    with pytest.raises(http.client.IncompleteRead):
        get(image, "layer")

    assert time.monotonic() - began >= 0.3
    timer.join()


@pytest.mark.parametrize(
    ("scope", "met"),
    [
        (Scope.ANY, {"manifest", "config", "layer"}),
        (Scope.MANIFEST, {"manifest"}),
        (Scope.BLOB, {"config", "layer"}),
        (Scope.CONFIG, {"config"}),
        (Scope.LAYER, {"layer"}),
    ],
)
def test_a_fault_applies_to_its_scope(
    client: RegistryClient, image: MintedImage, scope: Scope, met: set[str]
) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.SERVER_ERROR, scope=scope))

    assert {what for what in ("manifest", "config", "layer") if get(image, what)[0] == 500} == met


def test_a_fault_applies_to_a_method_and_a_reference(client: RegistryClient, image: MintedImage) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.UNAVAILABLE, method="HEAD"))
    client.fault(image.repository, RegistryFault(kind=FaultKind.FORBIDDEN, reference=image.config_digest))

    assert get(image, method="HEAD")[0] == 503
    assert get(image)[0] == 200
    assert get(image, "config")[0] == 403
    assert get(image, "layer")[0] == 200


def test_the_first_of_several_faults_applies_until_they_are_cleared(
    client: RegistryClient, image: MintedImage
) -> None:
    client.fault(image.repository, RegistryFault(kind=FaultKind.UNAVAILABLE))
    client.fault(image.repository, RegistryFault(kind=FaultKind.TOO_MANY_REQUESTS))

    assert get(image)[0] == 503
    client.clear_faults(image.repository)
    assert get(image)[0] == 200
