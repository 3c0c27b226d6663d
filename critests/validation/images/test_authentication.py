"""AUT: which credentials a pull uses, and to which server it sends them."""

import base64

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Access,
    FaultKind,
    Images,
    RecordVariant,
    Registry,
    RegistryFault,
    Runtime,
    Scheme,
    Scope,
    may_be_refused,
    must_be_refused,
    requirement,
    slow,
    unsupported,
)

# some clients remember for a whole registry how they must authenticate
pytestmark = pytest.mark.usefixtures("authenticating_alone")

# a password may contain colons: only the first one ends the username (RFC 7617)
USERNAME, PASSWORD = "critests-user", "critests:pass word"
BASIC = Access(scheme=Scheme.BASIC, username=USERNAME, password=PASSWORD)
TOKENS_FOR_A_USER = Access(scheme=Scheme.BEARER, username=USERNAME, password=PASSWORD)
TOKENS_FOR_ALL = Access(scheme=Scheme.BEARER)
EMPTY_PARAMETER = Access(scheme=Scheme.BEARER, empty_parameter=True)
CREDENTIALS = cri.AuthConfig(username=USERNAME, password=PASSWORD)
WRONG_CREDENTIALS = cri.AuthConfig(username=USERNAME, password=PASSWORD[::-1])
IDENTITY = "critests-identity"
REFRESHED = Access(scheme=Scheme.BEARER, username=USERNAME, password=PASSWORD, identity_token=IDENTITY)
SHORT_LIVED = Access(scheme=Scheme.BEARER, username=USERNAME, password=PASSWORD, token_seconds=60)
SLOW_MANIFEST = RegistryFault(kind=FaultKind.SLOW, scope=Scope.MANIFEST, method="GET", seconds=63)
"""63 s: the token specification says that a token is valid for 60 s at least, so a faster manifest proves
nothing; with a much slower one, clients may time out.
"""
BY_IDENTITY = cri.AuthConfig(identity_token=IDENTITY)
BY_REGISTRY_TOKEN = cri.AuthConfig(registry_token="critests-registry-token")  # noqa: S106 - not a secret
# the username and password are right, so that a pull that sends them succeeds
FOR_ANOTHER_SERVER = cri.AuthConfig(
    username=USERNAME, password=PASSWORD, server_address="https://registry.critests.example"
)
ENCODED = {
    "base64": base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode(),
    # Docker's client ignores zero bytes at the end of what it decodes
    "base64 with trailing zero bytes": base64.b64encode(f"{USERNAME}:{PASSWORD}\0\0".encode()).decode(),
}


def redirection(location: str) -> RegistryFault:
    """Return the fault that redirects requests for the image's configuration blob to `location`."""
    return RegistryFault(kind=FaultKind.REDIRECT, scope=Scope.CONFIG, location=location)


@requirement("AUT-01")
def test_anonymous_pull_requests_a_token(runtime: Runtime, registry: Registry, images: Images) -> None:
    """A pull without credentials MUST request an anonymous token from a registry that offers them.

    Source: the distribution project's token specification, `WWW-Authenticate: Bearer`.
    """
    minted = registry.mint()
    registry.set_access(minted, TOKENS_FOR_ALL)

    runtime.images.PullImage(images.pull_request(minted.reference))

    assert images.look_up(minted.reference) is not None
    assert {request.authorization for request in registry.requests(minted) if request.status == 200} == {
        "bearer"
    }


@pytest.mark.parametrize(
    "credentials",
    [
        pytest.param(CREDENTIALS, marks=requirement("AUT-02"), id="plain"),
        *(
            pytest.param(cri.AuthConfig(auth=encoded), marks=requirement("AUT-03"), id=form)
            for form, encoded in ENCODED.items()
        ),
    ],
)
def test_username_and_password_are_used_for_basic_authentication(
    runtime: Runtime, registry: Registry, images: Images, credentials: cri.AuthConfig
) -> None:
    """PullImage MUST present the username and password of AuthConfig to a registry with basic
    authentication, also those in `auth`: base64 of `username:password`.

    Source: AuthConfig.username, AuthConfig.password, AuthConfig.auth.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)

    runtime.images.PullImage(images.pull_request(minted.reference, credentials))

    assert images.look_up(minted.reference) is not None
    assert {request.username for request in registry.requests(minted) if request.status == 200} == {
        CREDENTIALS.username
    }


@pytest.mark.parametrize(
    ("access", "credentials"),
    [
        pytest.param(TOKENS_FOR_A_USER, CREDENTIALS, marks=requirement("AUT-02"), id="for a user"),
        pytest.param(EMPTY_PARAMETER, None, marks=requirement("AUT-01"), id="with an empty parameter"),
    ],
)
def test_pull_requests_a_token(
    runtime: Runtime, registry: Registry, images: Images, access: Access, credentials: cri.AuthConfig | None
) -> None:
    """PullImage MUST present username and password to the token endpoint of a registry with Bearer
    authentication, and MUST accept a challenge that has an empty string as a parameter.

    Source: AuthConfig.username and password; RFC 9110, challenges; the distribution project's token
    specification.
    """
    minted = registry.mint()
    registry.set_access(minted, access)

    runtime.images.PullImage(images.pull_request(minted.reference, credentials))

    assert images.look_up(minted.reference) is not None


@requirement("AUT-02")
def test_wrong_password_fails_the_pull(runtime: Runtime, registry: Registry, images: Images) -> None:
    """PullImage MUST present the password of the request, and therefore fail if the registry rejects it.

    Source: AuthConfig.password.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)

    runtime.refusal(runtime.images.PullImage, images.pull_request(minted.reference, WRONG_CREDENTIALS))

    assert images.look_up(minted.reference) is None


@requirement("AUT-04")
def test_credentials_that_are_not_base64_are_refused_and_not_quoted(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage SHOULD fail if the registry needs credentials and `auth` is not base64; the error SHOULD NOT
    quote the value.

    Source: AuthConfig.auth. Not stated by the CRI; the kubelet copies pull errors into events, which many can
    read.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)
    # "secret" in base64, followed by a character that base64 does not have
    not_base64 = "c2VjcmV0*not-base64"

    with must_be_refused() as refusal:
        runtime.images.PullImage(images.pull_request(minted.reference, cri.AuthConfig(auth=not_base64)))

    assert not_base64 not in refusal.words
    assert images.look_up(minted.reference) is None


@requirement("AUT-08")
def test_credentials_are_not_sent_to_the_target_of_a_redirection(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage MUST NOT send credentials to another host to which the registry redirects a blob request.

    Source: not stated by the CRI; the credentials are for the registry, and others run the blob storage.
    """
    # equal salts make equal images, so that the other repository has the blob
    asked = registry.mint(repository="asked", salt=registry.prefix)
    elsewhere = registry.mint(repository="elsewhere", salt=registry.prefix)
    registry.set_access(asked, BASIC)
    # the same server under another host name: clients compare names
    other_host = f"http://localhost:{asked.registry.rpartition(':')[2]}/v2/{elsewhere.repository}/blobs/{asked.config_digest}"
    registry.fault(asked, redirection(other_host))

    runtime.images.PullImage(images.pull_request(asked.reference, CREDENTIALS))

    assert {request.reference for request in registry.requests(elsewhere) if request.status == 200} == {
        asked.config_digest
    }
    assert {request.authorization for request in registry.requests(elsewhere)} == {""}


@requirement("AUT-10")
def test_credentials_are_not_reused_for_a_later_pull(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage without credentials MUST NOT use those of an earlier pull.

    Source: PullImageRequest.auth; pods of several owners share a node.
    """
    # two images in one repository: a client that caches credentials does so per repository or per host
    first, second = registry.mint(tags=["1"]), registry.mint(tags=["2"])
    registry.set_access(first, BASIC)
    runtime.images.PullImage(images.pull_request(first.reference, CREDENTIALS))
    # those of the first pull have the username
    registry.forget_requests(first)

    runtime.refusal(runtime.images.PullImage, images.pull_request(second.reference))

    assert images.look_up(second.reference) is None
    # the set is empty if a client without credentials sends no request
    assert {request.username for request in registry.requests(first)} <= {""}


@requirement("AUT-13")
def test_empty_credentials_mean_an_anonymous_pull(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage with an AuthConfig whose fields are all empty SHOULD pull anonymously.

    Source: PullImageRequest.auth.
    """
    minted = registry.mint()

    runtime.images.PullImage(images.pull_request(minted.reference, cri.AuthConfig()))

    assert images.look_up(minted.reference) is not None
    assert {request.authorization for request in registry.requests(minted)} == {""}


@requirement("AUT-05")
def test_identity_token_is_sent_to_the_token_endpoint(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage with an identity token MUST present it to the token endpoint of the registry, if the runtime
    supports identity tokens.

    Source: AuthConfig.identity_token; the distribution project's specification of OAuth2.
    """
    minted = registry.mint()
    registry.set_access(minted, REFRESHED)

    pulled = False
    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference, BY_IDENTITY))
        pulled = True

    if not pulled:
        unsupported("identity tokens: a pull that needs one is rejected")
    assert images.look_up(minted.reference) is not None


@requirement("AUT-06")
def test_form_of_a_pull_with_a_registry_token(
    runtime: Runtime, registry: Registry, images: Images, record_variant: RecordVariant
) -> None:
    """PullImage with a registry token MAY send it as a bearer token or ignore it; it MUST NOT hang.

    Source: AuthConfig.registry_token.
    """
    minted = registry.mint()
    registry.set_access(minted, TOKENS_FOR_A_USER)

    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference, BY_REGISTRY_TOKEN))

    sent = "bearer" in {request.authorization for request in registry.requests(minted)}
    record_variant("a bearer token is sent" if sent else "no bearer token is sent")


@requirement("AUT-07")
def test_credentials_for_another_server_are_not_sent(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage SHOULD NOT send credentials whose `server_address` names another host than the registry.

    Source: AuthConfig.server_address. Not stated by the CRI; credentials are for the server that they name.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)

    # without credentials, the registry rejects the pull
    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference, FOR_ANOTHER_SERVER))

    assert {request.username for request in registry.requests(minted)} <= {""}


@requirement("AUT-07")
def test_credentials_for_the_server_of_the_image_are_sent(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage SHOULD send credentials whose `server_address` names the registry of the image.

    Source: AuthConfig.server_address. Not stated by the CRI; credentials are for the server that they name.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)
    credentials = cri.AuthConfig(
        username=USERNAME, password=PASSWORD, server_address=f"https://{minted.registry}"
    )

    response = runtime.images.PullImage(images.pull_request(minted.reference, credentials))

    assert response.image_ref != ""
    assert USERNAME in {request.username for request in registry.requests(minted)}


@requirement("AUT-09")
def test_wrong_credentials_for_a_present_image(
    runtime: Runtime, registry: Registry, images: Images, record_variant: RecordVariant
) -> None:
    """PullImage with wrong credentials MAY fail or succeed if the image is present; the image stays.

    Source: PullImageRequest.auth; the CRI does not say. The kubelet records which pods may use an image.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)
    runtime.images.PullImage(images.pull_request(minted.reference, CREDENTIALS))

    form = "fails"
    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference, WRONG_CREDENTIALS))
        form = "succeeds"

    record_variant(f"a pull with wrong credentials of an image that is there {form}")
    assert images.look_up(minted.reference) is not None


@slow
@requirement("AUT-11")
def test_a_token_that_expires_during_a_pull_is_renewed(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage SHOULD request a new token if its token expires during the pull, and succeed.

    Source: the distribution project's token specification, `expires_in`; pulls of large images can take
    longer than the 60 s for which a token may be valid.
    """
    minted = registry.mint()
    registry.set_access(minted, SHORT_LIVED)
    # the token is checked before the manifest is sent; the blobs that it names are requested after that
    registry.fault(minted, SLOW_MANIFEST)

    # the manifest alone takes 63 s
    runtime.images.PullImage(images.pull_request(minted.reference, CREDENTIALS), timeout=120 * runtime.scale)

    assert images.look_up(minted.reference) is not None
    assert SLOW_MANIFEST.kind in {request.fault for request in registry.requests(minted)}
