"""DOC: responses, challenges and tokens of registries with unusual values."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from critests.documents.document_fields import Expected
from critests.documents.registry_responses import response_variants
from critests.documents.token_responses import (
    VALID,
    ChallengeVariant,
    invalid_challenges,
    token_variants,
    valid_challenges,
)
from critests.documents.variants import Variant
from critests.images.oci_image import Blob
from critests.testing import (
    Access,
    FaultKind,
    OwnRuntime,
    RegistryFault,
    Scheme,
    Scope,
    disruptive,
    documents,
    requirement,
)
from critests.validation.documents.harmless_use import DocumentBreach
from critests.validation.documents.images_in_use import ImageUser

pytestmark = [documents, disruptive]
STAGES = {
    "manifest": (Scope.MANIFEST, "GET"),
    # then a client computes the digest from what GET returns
    "manifest after a HEAD without a digest": (Scope.MANIFEST, "GET"),
    "head": (Scope.MANIFEST, "HEAD"),
    "config": (Scope.CONFIG, "GET"),
    "layer": (Scope.LAYER, "GET"),
}
"""The requests of a pull that get an unusual response."""
EARLIER = {
    "manifest after a HEAD without a digest": (
        RegistryFault(kind=FaultKind.NO_DIGEST_HEADER, scope=Scope.MANIFEST, method="HEAD"),
    )
}
"""What else the registry does at a stage."""
LAYER_BYTES = 80 << 10
"""Of the layer that gets an unusual response: several parts, if the runtime fetches layers in parts."""


@pytest.fixture(scope="module")
def image_user(module_runtime: OwnRuntime) -> ImageUser:
    """Images of this module."""
    return ImageUser(module_runtime, {"filler_bytes": LAYER_BYTES, "filler_layers": 1})


def content_of(image_user: ImageUser, stage: str) -> Blob:
    """Return the content of a request's valid response."""
    image = image_user.image
    if STAGES[stage][0] is Scope.MANIFEST:
        return image.top
    assert image.config is not None
    # the layer with the filler; the top one is small
    return image.config if stage == "config" else image.layers[-2].blob


def response_breaches(image_user: ImageUser, stage: str, *expected: Expected) -> list[DocumentBreach]:
    """Pull the image with each response of which this is expected, and return what went wrong."""
    scope, method = STAGES[stage]
    blob = content_of(image_user, stage)
    media_type = blob.media_type if scope is Scope.MANIFEST else "application/octet-stream"

    def use(variant: Variant) -> None:
        fault = RegistryFault(
            kind=FaultKind.RESPONSE,
            scope=scope,
            method=method,
            reference="" if scope is Scope.MANIFEST else blob.digest,
            response=variant.content.decode("latin-1"),
        )
        with image_user.faults(fault, *EARLIER.get(stage, ())):
            image_user.pull(image_user.reference)

    every = response_variants(blob.content, media_type, blob.digest)
    return image_user.documents.breaches([each for each in every if each.expected in expected], use)


V = TypeVar("V", ChallengeVariant, Variant)


def access_breaches(
    image_user: ImageUser, every: list[V], access: Callable[[V], Access], *expected: Expected
) -> list[DocumentBreach]:
    """Pull the image with each challenge or token of which this is expected, and return what went wrong."""

    def use(variant: V) -> None:
        with image_user.access(access(variant)):
            image_user.pull(image_user.reference)

    return image_user.documents.breaches([each for each in every if each.expected in expected], use)


def challenging(variant: ChallengeVariant) -> Access:
    """Return the access to a repository that answers with a challenge."""
    return Access(scheme=Scheme.BEARER, challenges=variant.challenges or ("",))


def issuing(variant: Variant) -> Access:
    """Return the access to a repository whose token endpoint responds so."""
    return Access(scheme=Scheme.BEARER, token_response=variant.content.decode("latin-1"))


@requirement("DOC-06/harmless")
@pytest.mark.parametrize("stage", STAGES)
def test_an_unusual_response_of_a_registry_does_no_harm(image_user: ImageUser, stage: str) -> None:
    """A registry's response with an unusual status, header or framing MUST NOT end the daemon, escape to the
    node, leave anything there, or affect the next pod, and PullImage MUST return.

    Source: OCI distribution specification, which leaves open how a client reports invalid responses.
    """
    assert response_breaches(image_user, stage, Expected.EITHER) == []


@requirement("DOC-06/meaning")
@pytest.mark.parametrize("stage", STAGES)
def test_an_unusual_but_valid_response_of_a_registry_is_used(image_user: ImageUser, stage: str) -> None:
    """PullImage MUST accept every form of a valid response: without optional headers, with unknown ones,
    chunked, ended by the connection, or after interim responses.

    Source: RFC 9110, sections 5.1 and 15.2; RFC 9112, sections 6.3 and 7.1; OCI distribution specification.
    """
    assert response_breaches(image_user, stage, Expected.ACCEPTED) == []


@requirement("DOC-07/harmless")
@pytest.mark.usefixtures("authenticating_alone")
def test_an_unusual_challenge_does_no_harm(image_user: ImageUser) -> None:
    """A challenge with unusual values MUST NOT end the daemon, escape to the node, leave anything there, or
    affect the next pod, and PullImage MUST return.

    Source: RFC 9110, section 11, which leaves open how a client reports invalid challenges.
    """
    assert access_breaches(image_user, list(invalid_challenges()), challenging, Expected.EITHER) == []


@requirement("DOC-07/meaning")
@pytest.mark.usefixtures("authenticating_alone")
@pytest.mark.parametrize("form", VALID)
def test_every_form_of_a_valid_challenge_is_understood(image_user: ImageUser, form: str) -> None:
    """PullImage MUST request a token, and use it, whatever form a valid challenge has: letter case,
    whitespace, quoting, empty elements, unknown parameters, several challenges in one header or in several.

    Source: RFC 9110, sections 2.2 (a recipient must be able to parse any value that matches the grammar),
    5.6 and 11.
    """
    assert access_breaches(image_user, list(valid_challenges(form)), challenging, Expected.ACCEPTED) == []


@requirement("DOC-07/harmless")
@pytest.mark.usefixtures("authenticating_alone")
def test_an_unusual_token_does_no_harm(image_user: ImageUser) -> None:
    """A response of a token endpoint with unusual values MUST NOT end the daemon, escape to the node, leave
    anything there, or affect the next pod, and PullImage MUST return.

    Source: Token Authentication Specification, which leaves open how a client reports invalid tokens.
    """
    assert access_breaches(image_user, list(token_variants()), issuing, Expected.EITHER) == []


@requirement("DOC-07/meaning")
@pytest.mark.usefixtures("authenticating_alone")
def test_every_form_of_a_valid_token_is_used(image_user: ImageUser) -> None:
    """PullImage MUST use a token under either of its names, and without the optional fields of the response.

    Source: Token Authentication Specification, Token Response Fields.
    """
    assert access_breaches(image_user, list(token_variants()), issuing, Expected.ACCEPTED) == []
