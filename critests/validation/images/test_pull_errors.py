"""IMG, ERR: what the error of a pull tells, and what it must not."""

import grpc

from critests.fixtures.images import Images, Registry
from critests.fixtures.runtime import Runtime, must_be_refused
from critests.images.distribution import TOLD_TO
from critests.images.faults import Fault, FaultKind, Scope
from critests.run.marks import requirement

FORBIDDEN = Fault(kind=FaultKind.FORBIDDEN, scope=Scope.MANIFEST)
SECRET = "c2lnbmF0dXJl-critests"  # noqa: S105 - nobody's
NOBODY = "http://127.0.0.1:1"
"""Where nobody listens: a registry that stores blobs elsewhere sends its clients there with a signed URL."""
ELSEWHERE = Fault(
    kind=FaultKind.REDIRECT, scope=Scope.LAYER, location=f"{NOBODY}{{path}}?X-Amz-Signature={SECRET}"
)


def error_of(runtime: Runtime, images: Images, reference: str) -> str:
    """Pull in vain, and return the words of the error."""
    with must_be_refused(grpc.StatusCode.UNAVAILABLE) as refusal:
        runtime.images.PullImage(images.pull_request(reference))
    return refusal.words


@requirement("IMG-19/reason")
def test_what_the_registry_says_of_a_refusal_is_told(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """Where the registry refuses a pull with 403 and says why, that SHOULD stand in the error.

    Source: OCI distribution specification, error codes. Not stated by the CRI; the kubelet shows it with the
    pod, and nobody else would find it.
    """
    minted = registry.mint()
    registry.fault(minted, FORBIDDEN)

    assert TOLD_TO in error_of(runtime, images, minted.reference)


@requirement("ERR-06")
def test_the_error_of_a_pull_holds_no_secret(runtime: Runtime, registry: Registry, images: Images) -> None:
    """The error of a pull that fails at a signed URL SHOULD NOT hold the signature.

    Source: not stated by the CRI; the kubelet makes an event of the error, which many may read.
    """
    minted = registry.mint()
    registry.fault(minted, ELSEWHERE)

    assert SECRET not in error_of(runtime, images, minted.reference)


@requirement("IMG-23")
def test_a_registry_that_is_not_there_is_named_as_such(runtime: Runtime, images: Images) -> None:
    """The error of a pull from where nobody answers SHOULD hold the word RegistryUnavailable.

    Source: the package of errors of the CRI's repository, by whose names the kubelet finds the reason that it
    shows with the pod.
    """
    assert "RegistryUnavailable" in error_of(
        runtime, images, f"{NOBODY.rpartition('/')[2]}/critests/nobody:1"
    )
