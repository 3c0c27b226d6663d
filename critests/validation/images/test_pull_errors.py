"""IMG, ERR: what the error of a pull reports, and what it must not contain."""

import grpc
import pytest

from critests.images.distribution_api import FAULT_MESSAGE
from critests.testing import (
    FaultKind,
    Images,
    Registry,
    RegistryFault,
    Runtime,
    Scope,
    must_be_refused,
    requirement,
)

REQUESTS = {
    "manifest": (Scope.MANIFEST, ""),
    "GET of the manifest": (Scope.MANIFEST, "GET"),
    "configuration": (Scope.CONFIG, ""),
    "layer": (Scope.LAYER, ""),
}
SERVER_ERRORS = (FaultKind.SERVER_ERROR, FaultKind.UNAVAILABLE)
# then a client computes the digest from what GET returns
HEAD_WITHOUT_DIGEST = RegistryFault(kind=FaultKind.NO_DIGEST_HEADER, scope=Scope.MANIFEST, method="HEAD")
FORBIDDEN = RegistryFault(kind=FaultKind.FORBIDDEN, scope=Scope.MANIFEST)
SECRET = "c2lnbmF0dXJl-critests"  # noqa: S105 - not a secret
UNUSED_ADDRESS = "http://127.0.0.1:1"
"""Nothing listens here. Registries that store blobs elsewhere redirect clients to a signed URL."""
ELSEWHERE = RegistryFault(
    kind=FaultKind.REDIRECT, scope=Scope.LAYER, location=f"{UNUSED_ADDRESS}{{path}}?X-Amz-Signature={SECRET}"
)


def error_of(runtime: Runtime, images: Images, reference: str) -> str:
    """Make a pull that must fail, and return the error message."""
    with must_be_refused(grpc.StatusCode.UNAVAILABLE) as refusal:
        runtime.images.PullImage(images.pull_request(reference))
    return refusal.words


@requirement("IMG-19/reason")
def test_error_of_a_pull_contains_the_reason_of_the_registry(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """The error of PullImage SHOULD contain the reason that the registry gives with its status 403.

    Source: OCI distribution specification, error codes. Not stated by the CRI; the kubelet shows the error
    with the pod, the only place where users find the reason.
    """
    minted = registry.mint()
    registry.fault(minted, FORBIDDEN)

    assert FAULT_MESSAGE in error_of(runtime, images, minted.reference)


@requirement("IMG-46")
@pytest.mark.parametrize("failing", REQUESTS)
def test_a_server_error_is_not_reported_as_a_missing_image(
    runtime: Runtime, registry: Registry, images: Images, failing: str
) -> None:
    """PullImage SHOULD NOT fail with NotFound if the registry returns a server error for one of the requests
    of the pull.

    Source: codes of gRPC. Not stated by the CRI; a user who reads that an image does not exist looks for
    another name, not for the registry's failure.
    """
    scope, method = REQUESTS[failing]
    for error in SERVER_ERRORS:
        # faults are of a repository
        minted = registry.mint(repository=f"status-{error}")
        registry.fault(minted, RegistryFault(kind=error, scope=scope, method=method))
        registry.fault(minted, HEAD_WITHOUT_DIGEST)

        with must_be_refused(grpc.StatusCode.UNAVAILABLE) as refusal:
            runtime.images.PullImage(images.pull_request(minted.reference))

        assert refusal.code is not grpc.StatusCode.NOT_FOUND
        assert error in {request.fault for request in registry.requests(minted)}
        assert images.look_up(minted.reference) is None


@requirement("ERR-06")
def test_the_error_of_a_pull_contains_no_secret(runtime: Runtime, registry: Registry, images: Images) -> None:
    """The error of PullImage SHOULD NOT contain the signature of a signed URL at which the pull fails.

    Source: not stated by the CRI; the kubelet copies the error into an event, which many can read.
    """
    minted = registry.mint()
    registry.fault(minted, ELSEWHERE)

    assert SECRET not in error_of(runtime, images, minted.reference)


@requirement("IMG-23")
def test_the_error_for_an_unreachable_registry_has_its_reason(runtime: Runtime, images: Images) -> None:
    """The error of PullImage SHOULD contain the word RegistryUnavailable if no registry listens at the
    address.

    Source: the package of errors in the CRI's repository; from these names, the kubelet derives the reason
    that it shows with the pod.
    """
    assert "RegistryUnavailable" in error_of(
        runtime, images, f"{UNUSED_ADDRESS.rpartition('/')[2]}/critests/nobody:1"
    )
