"""GEN: credentials of a pull in the daemon's log."""

import base64
import secrets

import grpc

from critests.api import api_pb2 as cri
from critests.testing import (
    FaultKind,
    Images,
    OwnRuntime,
    Registry,
    RegistryFault,
    disruptive,
    may_be_refused,
    requirement,
)

USERNAME = "critests"
REFUSAL = RegistryFault(kind=FaultKind.UNAUTHORIZED)


def credentials(secret: str) -> list[cri.AuthConfig]:
    """Return AuthConfigs with a secret, one for each field that may contain one."""
    encoded = base64.b64encode(f"{USERNAME}:{secret}".encode()).decode()
    return [
        cri.AuthConfig(username=USERNAME, password=secret),
        cri.AuthConfig(auth=encoded),
        cri.AuthConfig(identity_token=secret),
        cri.AuthConfig(registry_token=secret),
    ]


@requirement("GEN-13")
@disruptive
def test_secrets_of_a_pull_are_not_in_the_log(
    own_runtime: OwnRuntime, registry: Registry, images: Images
) -> None:
    """The daemon's log SHOULD NOT contain passwords and tokens of a pull, whether the pull succeeds or fails.

    Source: AuthConfig, whose fields are marked as secret; logs are sent to where many can read them.
    """
    # random, so that no other line of the log contains it
    secret = secrets.token_hex(12)
    minted, refusing = registry.mint(), registry.mint(repository="refusing")
    registry.fault(refusing, REFUSAL)
    log = own_runtime.daemon.log_file

    for auth in credentials(secret):
        for each in (minted, refusing):
            # a registry that denies access may make the pull fail with any code
            with may_be_refused(grpc.StatusCode.UNAVAILABLE):
                own_runtime.images.PullImage(images.pull_request(each.reference, auth))

    written = log.read_text(encoding="utf-8", errors="replace")
    assert [form for form in (secret, credentials(secret)[1].auth) if form in written] == []
