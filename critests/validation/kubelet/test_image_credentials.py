"""K8S: images that need credentials, on a node that has them already."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import Access, Images, Registry, Runtime, Scheme, requirement

# some clients remember for a whole registry how they must authenticate
pytestmark = pytest.mark.usefixtures("authenticating_alone")

TENANT, BEFORE, AFTER = "tenant", "first password", "second password"
FIRST = cri.AuthConfig(username=TENANT, password=BEFORE)
SECOND = cri.AuthConfig(username=TENANT, password=AFTER)


def access_with(auth: cri.AuthConfig) -> Access:
    """Return the access rule of a registry that accepts only these credentials."""
    return Access(scheme=Scheme.BASIC, username=auth.username, password=auth.password)


@requirement("K8S-13")
def test_a_present_image_cannot_be_pulled_without_its_credentials(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage without credentials SHOULD fail for an image that was pulled with them: in this way the
    kubelet checks whether a pod may use an image that another pod's secret has pulled.

    Source: PullImage; the kubelet's check of images that are present (KEP-2535).
    """
    minted = registry.mint()
    registry.set_access(minted, access_with(FIRST))
    runtime.images.PullImage(images.pull_request(minted.reference, FIRST))

    runtime.refusal(runtime.images.PullImage, images.pull_request(minted.reference))

    assert images.look_up(minted.reference) is not None


@requirement("K8S-13")
def test_rotated_credentials_apply_to_the_next_pull(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage SHOULD fail with the old password after the registry has a new one, and SHOULD pull the same
    image with the new one.

    Source: PullImage, AuthConfig; the kubelet's check of images that are present (KEP-2535).
    """
    minted = registry.mint()
    registry.set_access(minted, access_with(FIRST))
    before = runtime.images.PullImage(images.pull_request(minted.reference, FIRST)).image_ref

    registry.set_access(minted, access_with(SECOND))
    runtime.refusal(runtime.images.PullImage, images.pull_request(minted.reference, FIRST))
    after = runtime.images.PullImage(images.pull_request(minted.reference, SECOND)).image_ref

    assert after == before
