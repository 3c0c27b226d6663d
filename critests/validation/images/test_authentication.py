"""AUT: what a pull does with credentials, and where they go."""

import base64

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.images import Images, Registry
from critests.fixtures.runtime import Runtime, may_be_refused, must_be_refused
from critests.fixtures.session import Observe
from critests.images.faults import Access, Fault, FaultKind, Scheme, Scope
from critests.run.marks import requirement, slow
from critests.run.outcomes import unsupported

pytestmark = pytest.mark.usefixtures("authenticating_alone")

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
SLOW_MANIFEST = Fault(kind=FaultKind.SLOW, scope=Scope.MANIFEST, method="GET", seconds=63)
"""A token is good for a minute at least, says its specification; and of a registry that is silent for as long
a client may well have had enough.
"""
BY_IDENTITY = cri.AuthConfig(identity_token=IDENTITY)
BY_REGISTRY_TOKEN = cri.AuthConfig(registry_token="critests-registry-token")  # noqa: S106 - nobody's
FOR_ANOTHER_SERVER = cri.AuthConfig(
    username=USERNAME, password=PASSWORD, server_address="https://registry.critests.example"
)
ENCODED = {
    "as it is": base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode(),
    "with zero bytes behind it": base64.b64encode(f"{USERNAME}:{PASSWORD}\0\0".encode()).decode(),
}


def redirection(location: str) -> Fault:
    """Return the fault by which the blob with an image's configuration is to be had elsewhere."""
    return Fault(kind=FaultKind.REDIRECT, scope=Scope.CONFIG, location=location)


@requirement("AUT-01")
def test_anonymous_pull_gets_a_token(runtime: Runtime, registry: Registry, images: Images) -> None:
    """A pull without credentials MUST get itself a token where the registry hands tokens out to everybody.

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
        pytest.param(CREDENTIALS, marks=requirement("AUT-02"), id="in the clear"),
        *(
            pytest.param(cri.AuthConfig(auth=encoded), marks=requirement("AUT-03"), id=form)
            for form, encoded in ENCODED.items()
        ),
    ],
)
def test_username_and_password_are_used_for_basic_authentication(
    runtime: Runtime, registry: Registry, images: Images, credentials: cri.AuthConfig
) -> None:
    """A pull MUST present username and password to a registry that asks for them, also where they stand in
    `auth`, in base64 with a colon between them.

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
def test_a_pull_gets_itself_a_token(
    runtime: Runtime, registry: Registry, images: Images, access: Access, credentials: cri.AuthConfig | None
) -> None:
    """A pull MUST present username and password to the token endpoint of a registry that asks for a token,
    and MUST get one also where a parameter of the registry's challenge is an empty string.

    Source: AuthConfig.username and password; RFC 9110, challenges; the distribution project's token
    specification.
    """
    minted = registry.mint()
    registry.set_access(minted, access)

    runtime.images.PullImage(images.pull_request(minted.reference, credentials))

    assert images.look_up(minted.reference) is not None


@requirement("AUT-02")
def test_wrong_password_fails_the_pull(runtime: Runtime, registry: Registry, images: Images) -> None:
    """A pull MUST present the password that it was given, and so fail where the registry expects another one.

    Source: AuthConfig.password.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)

    runtime.refusal(runtime.images.PullImage, images.pull_request(minted.reference, WRONG_CREDENTIALS))

    assert images.look_up(minted.reference) is None


@requirement("AUT-04")
def test_credentials_that_are_not_base64_are_refused_in_silence(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """A pull with an `auth` that is not base64 SHOULD fail where credentials are needed, without telling the
    value to anybody.

    Source: AuthConfig.auth. Not stated by the CRI; errors of pulls end in events that many may read.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)
    # "secret" in base64, spoilt by a character that base64 does not have
    not_base64 = "c2VjcmV0*not-base64"

    with must_be_refused() as refusal:
        runtime.images.PullImage(images.pull_request(minted.reference, cri.AuthConfig(auth=not_base64)))

    assert not_base64 not in refusal.words
    assert images.look_up(minted.reference) is None


@requirement("AUT-08")
def test_credentials_are_not_sent_to_where_a_redirection_leads(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """A pull MUST NOT send credentials to another host that a blob is redirected to.

    Source: not stated by the CRI; credentials are for the registry, and stores of blobs belong to others.
    """
    # the same salt gives the same image, so that the other repository has the blob
    asked = registry.mint(repository="asked", salt=registry.prefix)
    elsewhere = registry.mint(repository="elsewhere", salt=registry.prefix)
    registry.set_access(asked, BASIC)
    # the same server under another name: clients go by the name
    other_host = f"http://localhost:{asked.registry.rpartition(':')[2]}/v2/{elsewhere.repository}/blobs/{asked.config_digest}"
    registry.fault(asked, redirection(other_host))

    runtime.images.PullImage(images.pull_request(asked.reference, CREDENTIALS))

    assert {request.reference for request in registry.requests(elsewhere) if request.status == 200} == {
        asked.config_digest
    }
    assert {request.authorization for request in registry.requests(elsewhere)} == {""}


@requirement("AUT-10")
def test_credentials_are_not_kept_for_a_later_pull(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """A pull without credentials MUST NOT use those of an earlier pull.

    Source: PullImageRequest.auth; pods of several owners share a node.
    """
    # two images in one repository, for which credentials would be remembered first of all
    first, second = registry.mint(tags=["1"]), registry.mint(tags=["2"])
    registry.set_access(first, BASIC)
    runtime.images.PullImage(images.pull_request(first.reference, CREDENTIALS))
    registry.forget_requests(first)

    runtime.refusal(runtime.images.PullImage, images.pull_request(second.reference))

    assert images.look_up(second.reference) is None
    # none at all, where a client that has no credentials does not even ask
    assert {request.username for request in registry.requests(first)} <= {""}


@requirement("AUT-13")
def test_empty_credentials_mean_an_anonymous_pull(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """A pull with credentials whose every field is empty SHOULD be one without credentials.

    Source: PullImageRequest.auth.
    """
    minted = registry.mint()

    runtime.images.PullImage(images.pull_request(minted.reference, cri.AuthConfig()))

    assert images.look_up(minted.reference) is not None
    assert {request.authorization for request in registry.requests(minted)} == {""}


@requirement("AUT-05")
def test_identity_token_is_used_for_a_token(runtime: Runtime, registry: Registry, images: Images) -> None:
    """A pull with an identity token MUST present it to the token endpoint of the registry, where the runtime
    uses such tokens.

    Source: AuthConfig.identity_token; the distribution project's specification of OAuth2.
    """
    minted = registry.mint()
    registry.set_access(minted, REFRESHED)

    pulled = False
    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference, BY_IDENTITY))
        pulled = True

    if not pulled:
        unsupported("identity tokens: a pull that needs one is refused")
    assert images.look_up(minted.reference) is not None


@requirement("AUT-06")
def test_what_becomes_of_a_registry_token(
    runtime: Runtime, registry: Registry, images: Images, observe: Observe
) -> None:
    """A pull with a registry token MAY send it to the registry as it is, or pull without it; it never hangs.

    Source: AuthConfig.registry_token.
    """
    minted = registry.mint()
    registry.set_access(minted, TOKENS_FOR_A_USER)

    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference, BY_REGISTRY_TOKEN))

    sent = "bearer" in {request.authorization for request in registry.requests(minted)}
    observe("a bearer token is sent" if sent else "no bearer token is sent")


@requirement("AUT-07")
def test_credentials_for_another_server_are_not_sent(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """A pull SHOULD NOT send credentials to the registry whose `server_address` names another host.

    Source: AuthConfig.server_address. Not stated by the CRI; credentials are for whom they name.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)

    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference, FOR_ANOTHER_SERVER))

    assert {request.username for request in registry.requests(minted)} <= {""}


@requirement("AUT-07")
def test_credentials_for_the_server_of_the_image_are_sent(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """A pull SHOULD send credentials to the registry that `server_address` names.

    Source: AuthConfig.server_address. Not stated by the CRI; credentials are for whom they name.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)
    for_it = cri.AuthConfig(username=USERNAME, password=PASSWORD, server_address=f"https://{minted.registry}")

    answer = runtime.images.PullImage(images.pull_request(minted.reference, for_it))

    assert answer.image_ref != ""
    assert USERNAME in {request.username for request in registry.requests(minted)}


@requirement("AUT-09")
def test_wrong_credentials_for_an_image_that_is_there(
    runtime: Runtime, registry: Registry, images: Images, observe: Observe
) -> None:
    """A pull with wrong credentials of an image that the runtime holds MAY fail or succeed; the image stays.

    Source: PullImageRequest.auth; the CRI does not say. The kubelet keeps account of who may use an image.
    """
    minted = registry.mint()
    registry.set_access(minted, BASIC)
    runtime.images.PullImage(images.pull_request(minted.reference, CREDENTIALS))

    form = "fails"
    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference, WRONG_CREDENTIALS))
        form = "succeeds"

    observe(f"a pull with wrong credentials of an image that is there {form}")
    assert images.look_up(minted.reference) is not None


@slow
@requirement("AUT-11")
def test_a_token_that_expires_during_a_pull_is_renewed(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """A pull during which its token expires SHOULD get itself another one, and succeed.

    Source: the distribution project's token specification, `expires_in`; large images take longer than the
    minute that a token may be good for.
    """
    minted = registry.mint()
    registry.set_access(minted, SHORT_LIVED)
    # the registry has looked at the token by then, and what the manifest names is asked for after that
    registry.fault(minted, SLOW_MANIFEST)

    runtime.images.PullImage(images.pull_request(minted.reference, CREDENTIALS), timeout=120 * runtime.scale)

    assert images.look_up(minted.reference) is not None
    assert SLOW_MANIFEST.kind in {request.fault for request in registry.requests(minted)}
