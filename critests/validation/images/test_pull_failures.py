"""IMG: pulls that must fail, what they leave, and that the next pull works."""

import socket
from collections.abc import Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FaultKind,
    Images,
    Registry,
    RegistryFault,
    Runtime,
    Scope,
    pulling,
    refused_with,
    requirement,
)

INVALID_REFERENCES = {
    "capital letters in the repository": "{registry}/Critests/PLAIN:1",
    "digest that is too short": "{name}@sha256:0123abcd",
    "unknown algorithm of the digest": "{name}@nosuch:0123abcd",
    "space in the tag": "{name}:not a tag",
}
ABSENT_REFERENCES = {
    "tag": "{name}:absent",
    "digest": "{name}@sha256:" + "0" * 64,
    "repository": "{name}-absent:1",
}
REFUSALS = {"401": RegistryFault(kind=FaultKind.UNAUTHORIZED), "403": RegistryFault(kind=FaultKind.FORBIDDEN)}
# one second is the Retry-After of the response
TOO_MANY_REQUESTS = RegistryFault(kind=FaultKind.TOO_MANY_REQUESTS, seconds=1)
FAILING_LAYER = RegistryFault(kind=FaultKind.SERVER_ERROR, scope=Scope.LAYER)
SERVER_ERRORS = {
    "500 for the manifest": RegistryFault(kind=FaultKind.SERVER_ERROR, scope=Scope.MANIFEST),
    "503 for the manifest": RegistryFault(kind=FaultKind.UNAVAILABLE, scope=Scope.MANIFEST),
    "500 for a layer": FAILING_LAYER,
    "500 for the configuration": RegistryFault(kind=FaultKind.SERVER_ERROR, scope=Scope.CONFIG),
}
CORRUPT_LAYER = RegistryFault(kind=FaultKind.WRONG_DIGEST, scope=Scope.LAYER)
CORRUPTIONS = {
    "layer": CORRUPT_LAYER,
    "configuration": RegistryFault(kind=FaultKind.WRONG_DIGEST, scope=Scope.CONFIG),
    "layer that is too short": RegistryFault(kind=FaultKind.SHORT, scope=Scope.LAYER),
}
ANOTHER_MANIFEST = RegistryFault(kind=FaultKind.WRONG_DIGEST, scope=Scope.MANIFEST)
BAD_MANIFESTS = {
    "not JSON": RegistryFault(kind=FaultKind.MALFORMED_MANIFEST, scope=Scope.MANIFEST),
    "media type of a web page": RegistryFault(kind=FaultKind.WRONG_MEDIA_TYPE, scope=Scope.MANIFEST),
    "truncated": RegistryFault(kind=FaultKind.SHORT, scope=Scope.MANIFEST),
}
INTERRUPTIONS = {
    "connection closed half-way": RegistryFault(kind=FaultKind.TRUNCATED, scope=Scope.LAYER),
    "connection reset half-way": RegistryFault(kind=FaultKind.RESET, scope=Scope.LAYER),
}
STALLING_LAYER = RegistryFault(kind=FaultKind.STALL, scope=Scope.LAYER)
LATE_LAYER = RegistryFault(kind=FaultKind.DELAY, scope=Scope.LAYER, seconds=0.5)
"""Time for a second pull of the same image to begin."""


@pytest.fixture
def refusing_address() -> Iterator[str]:
    """An address on loopback that refuses every connection, and whose port nobody else can take."""
    with socket.socket() as taken:
        # bound and not listening: the kernel answers each connection attempt with a reset
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def expect_failed_pull(runtime: Runtime, reference: str, timeout: float | None = None) -> None:
    """Make a pull that must fail, with any code: Unavailable may refer to the registry if the runtime
    itself still responds.
    """
    try:
        runtime.refusal(runtime.images.PullImage, pulling(reference), timeout=timeout)
    except grpc.RpcError as error:
        refused_with(error, grpc.StatusCode.UNAVAILABLE)
        # the version that the kubelet sends
        runtime.stub.Version(cri.VersionRequest(version="0.1.0"))


@pytest.mark.parametrize(
    ("image", "fault"),
    [
        pytest.param("foreign-index", None, marks=requirement("IMG-07"), id="no variant for the node"),
        *(
            pytest.param("plain", fault, marks=requirement("IMG-19/error"), id=status)
            for status, fault in REFUSALS.items()
        ),
        *(
            pytest.param("plain", fault, marks=requirement("IMG-24"), id=f"corrupt {what}")
            for what, fault in CORRUPTIONS.items()
        ),
        *(
            pytest.param("plain", fault, marks=requirement("IMG-27"), id=f"manifest: {what}")
            for what, fault in BAD_MANIFESTS.items()
        ),
        pytest.param("wrong-diff-id", None, marks=requirement("IMG-27"), id="another diff id"),
    ],
)
def test_pull_fails_unless_the_registry_has_a_valid_image(
    runtime: Runtime, registry: Registry, images: Images, image: str, fault: RegistryFault | None
) -> None:
    """PullImage MUST fail and leave nothing listed if the registry responds with 401 or 403, an index has no
    variant for the node, a blob does not match its digest, a manifest is invalid, or a layer does not match
    the image's configuration.

    Source: OCI distribution specification, error codes; OCI image specification, image index, descriptors and
    digests, image manifest, rootfs.diff_ids.
    """
    minted = registry.mint(image)
    if fault is not None:
        registry.fault(minted, fault)

    runtime.refusal(runtime.images.PullImage, images.pull_request(minted.reference))

    assert images.look_up(minted.reference) is None
    assert images.listed(minted) == []


@requirement("IMG-17")
@pytest.mark.parametrize("reference", INVALID_REFERENCES.values(), ids=INVALID_REFERENCES)
def test_invalid_reference_is_refused_without_a_request(
    runtime: Runtime, registry: Registry, images: Images, reference: str
) -> None:
    """PullImage of an invalid reference MUST fail without a request to any registry.

    Source: reference rules of the OCI distribution project.
    """
    minted = registry.mint()

    runtime.refusal(
        runtime.images.PullImage,
        images.pull_request(reference.format(registry=minted.registry, name=minted.name)),
    )

    assert registry.requests(minted) == []


@requirement("IMG-18")
@pytest.mark.parametrize("reference", ABSENT_REFERENCES.values(), ids=ABSENT_REFERENCES)
def test_pull_of_an_unknown_reference_fails(
    runtime: Runtime, registry: Registry, images: Images, reference: str
) -> None:
    """PullImage of a tag, digest or repository that the registry does not have MUST fail.

    Source: OCI distribution specification, 404 for a manifest.
    """
    absent = reference.format(name=registry.mint().name)

    runtime.refusal(runtime.images.PullImage, images.pull_request(absent))

    assert images.look_up(absent) is None


@requirement("IMG-19/code")
@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS)
def test_code_of_a_pull_that_the_registry_rejects(
    runtime: Runtime, registry: Registry, images: Images, fault: RegistryFault
) -> None:
    """PullImage SHOULD fail with Unauthenticated or PermissionDenied if the registry returns 401 or 403.

    Source: codes of gRPC. Not stated by the CRI; only by the code can the caller distinguish a wrong password
    from a wrong name.
    """
    minted = registry.mint()
    registry.fault(minted, fault)

    code = runtime.refusal(runtime.images.PullImage, images.pull_request(minted.reference))

    assert code in {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}


@requirement("IMG-20")
def test_pull_fails_at_a_rate_limit(runtime: Runtime, registry: Registry, images: Images) -> None:
    """PullImage SHOULD fail after a bounded number of requests if the registry always responds with 429.

    Source: OCI distribution specification, TOOMANYREQUESTS.
    """
    minted = registry.mint()
    registry.fault(minted, TOO_MANY_REQUESTS)

    expect_failed_pull(runtime, minted.reference)

    assert images.look_up(minted.reference) is None
    # a client that respects Retry-After sends a few requests; one that does not sends them as fast as it can
    assert 0 < len(registry.requests(minted)) < 100


@requirement("IMG-21")
@pytest.mark.parametrize("fault", SERVER_ERRORS.values(), ids=SERVER_ERRORS)
def test_server_error_fails_the_pull(
    runtime: Runtime, registry: Registry, images: Images, fault: RegistryFault
) -> None:
    """PullImage MUST fail if the registry always responds with a server error for the manifest or a blob.

    Source: OCI distribution specification.
    """
    minted = registry.mint()
    registry.fault(minted, fault)

    expect_failed_pull(runtime, minted.reference)

    assert images.look_up(minted.reference) is None


@requirement("IMG-21")
def test_pull_works_once_the_server_error_is_over(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage MUST succeed after an earlier pull failed because of a server error that is now over.

    Source: the kubelet pulls again after a pause.
    """
    minted = registry.mint()
    registry.fault(minted, FAILING_LAYER)
    expect_failed_pull(runtime, minted.reference)
    registry.clear_faults(minted)

    runtime.images.PullImage(images.pull_request(minted.reference))

    assert images.look_up(minted.reference) is not None


@requirement("IMG-22")
def test_pull_fails_in_bounded_time_if_connections_are_refused(
    runtime: Runtime, refusing_address: str
) -> None:
    """PullImage from an address that refuses connections MUST fail, and in bounded time.

    Source: the kubelet waits for the response before it tries again.
    """
    reference = f"{refusing_address}/critests/nobody:1"

    # a refused connection fails at once; 40 s leave time for a runtime that retries
    expect_failed_pull(runtime, reference, timeout=40 * runtime.scale)


@requirement("IMG-24")
def test_pull_works_once_the_corruption_is_over(runtime: Runtime, registry: Registry, images: Images) -> None:
    """PullImage MUST succeed after an earlier pull failed because of a corrupt blob that is now correct.

    Source: OCI image specification, descriptors and digests. A runtime may need a moment to discard the
    corrupt blob.
    """
    minted = registry.mint()
    registry.fault(minted, CORRUPT_LAYER)
    runtime.refusal(runtime.images.PullImage, images.pull_request(minted.reference))
    registry.clear_faults(minted)

    runtime.eventually(
        "a pull that works, now that the registry does",
        lambda: runtime.images.PullImage.future(images.pull_request(minted.reference)).exception() is None,
        # the kubelet's first back-off after a failed pull
        seconds=10,
    )

    assert images.look_up(minted.reference) is not None


@requirement("IMG-25")
@pytest.mark.parametrize("fault", INTERRUPTIONS.values(), ids=INTERRUPTIONS)
def test_interrupted_download_leaves_no_image_behind(
    runtime: Runtime, registry: Registry, images: Images, fault: RegistryFault
) -> None:
    """PullImage MUST fail, or resume the download, if every download breaks off half-way; an image MUST be
    visible only if it is complete.

    Source: OCI distribution specification, range requests.
    """
    minted = registry.mint()
    registry.fault(minted, fault)

    pull = runtime.images.PullImage.future(images.pull_request(minted.reference))

    succeeded = pull.exception() is None
    assert [minted.reference in image.repo_tags for image in images.listed(minted)] == [True] * succeeded
    assert str(fault.kind) in {request.fault for request in registry.requests(minted)}


@requirement("IMG-26")
def test_manifest_that_does_not_match_its_digest_is_refused(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage by digest MUST fail if the registry responds with another manifest.

    Source: OCI image specification, descriptors and digests.
    """
    minted = registry.mint(tags=[])
    registry.fault(minted, ANOTHER_MANIFEST)

    runtime.refusal(runtime.images.PullImage, images.pull_request(minted.by_digest))

    assert images.look_up(minted.by_digest) is None


@requirement("IMG-30")
def test_pull_works_after_one_that_was_cancelled(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage that the client cancels MUST leave no image, and the next pull MUST succeed.

    Source: the kubelet cancels a pull with its context. A runtime may need a moment to end the cancelled
    pull.
    """
    minted = registry.mint()
    registry.fault(minted, STALLING_LAYER)
    pull = runtime.images.PullImage.future(images.pull_request(minted.reference))
    runtime.eventually(
        "a layer that stalls", lambda: [each for each in registry.requests(minted) if each.fault]
    )

    # by now the runtime downloads, so that the cancellation meets a pull under way
    pull.cancel()

    assert images.look_up(minted.reference) is None
    registry.clear_faults(minted)
    runtime.eventually(
        "a pull that works, now that nothing stalls",
        lambda: runtime.images.PullImage.future(images.pull_request(minted.reference)).exception() is None,
        # the kubelet's first back-off before the next pull
        seconds=10,
    )
    assert images.look_up(minted.reference) is not None


@requirement("IMG-31")
def test_cancelled_pull_does_not_fail_another_one(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage SHOULD NOT fail if another pull of the same image is cancelled at the same time.

    Source: two pods may start from one image at once.
    """
    minted = registry.mint()
    registry.fault(minted, LATE_LAYER)
    first = runtime.images.PullImage.future(images.pull_request(minted.reference))
    runtime.eventually(
        "a layer that is delayed", lambda: [each for each in registry.requests(minted) if each.fault]
    )
    second = runtime.images.PullImage.future(images.pull_request(minted.reference))

    first.cancel()

    assert second.result().image_ref != ""
    assert images.look_up(minted.reference) is not None
