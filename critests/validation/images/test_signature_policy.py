"""IMG: images that a policy of the node rejects, as the required signature is missing."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    ImageName,
    MintedImage,
    OwnRuntime,
    Registry,
    Runtime,
    RuntimeSetup,
    Sandbox,
    SignaturePolicy,
    disruptive,
    must_be_refused,
    pulling,
    requirement,
    setting_up,
    start_configured,
)
from critests.validation.images.signed_images import SigningKey

REJECTED, OTHER = "rejected", "other"
"""Last parts of the names of images."""
STRICT = "critests-strict"
"""The namespace of pods to which the policy applies."""
SALT = "policy"

pytestmark = disruptive


def name_of(registry: Registry, repository: str) -> str:
    """Return the name of the images of a repository, without tag."""
    return f"{registry.client.address}/{registry.prefix}/{repository}"


@pytest.fixture
def guarded(request: pytest.FixtureRequest, runtime: Runtime, registry: Registry) -> Iterator[OwnRuntime]:
    """A runtime whose policy rejects the images of one repository."""
    policy = SignaturePolicy(name_of(registry, REJECTED))
    with start_configured(request, runtime, RuntimeSetup(settings=(policy,))) as own:
        yield own


@pytest.fixture
def guarded_in_a_namespace(
    request: pytest.FixtureRequest, runtime: Runtime, registry: Registry
) -> Iterator[OwnRuntime]:
    """A runtime with a policy for the pods of one namespace, which rejects the images of one repository."""
    policy = SignaturePolicy(name_of(registry, REJECTED), STRICT)
    with start_configured(request, runtime, RuntimeSetup(settings=(policy,))) as own:
        yield own


@pytest.fixture
def key(host_folder: Path) -> SigningKey:
    """The key whose signatures the policies of these tests require."""
    return SigningKey.new(host_folder, "required")


@pytest.fixture
def requiring(
    request: pytest.FixtureRequest, runtime: Runtime, registry: Registry, key: SigningKey
) -> Iterator[OwnRuntime]:
    """A runtime whose policy requires signatures for the images of one repository."""
    policy = SignaturePolicy(name_of(registry, REJECTED), key=key.public)
    with start_configured(request, runtime, RuntimeSetup(settings=(policy,))) as own:
        yield own


@pytest.fixture
def requiring_in_a_namespace(
    request: pytest.FixtureRequest, runtime: Runtime, registry: Registry, key: SigningKey
) -> Iterator[OwnRuntime]:
    """The same, with a policy that applies to the pods of one namespace."""
    policy = SignaturePolicy(name_of(registry, REJECTED), STRICT, key.public)
    with start_configured(request, runtime, RuntimeSetup(settings=(policy,))) as own:
        yield own


@pytest.fixture
def rejected(registry: Registry) -> MintedImage:
    """An image that the policy rejects."""
    return registry.mint(repository=REJECTED)


def is_present(runtime: Runtime, reference: str) -> bool:
    """Return whether a runtime has an image."""
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=reference))
    return runtime.images.ImageStatus(request).HasField("image")


def pull_for(image: MintedImage, namespace: str) -> cri.PullImageRequest:
    """Return the request that pulls an image for a pod of a namespace."""
    request = pulling(image.reference)
    request.sandbox_config.metadata.CopyFrom(
        cri.PodSandboxMetadata(name="pod", uid="pod", namespace=namespace)
    )
    return request


@requirement("IMG-44/pull")
def test_an_image_that_the_policy_rejects_is_not_pulled(
    guarded: OwnRuntime, registry: Registry, rejected: MintedImage
) -> None:
    """PullImage MUST fail for an image that the signature policy of the node rejects, and MUST succeed for
    others; the runtime MUST NOT have the rejected image afterwards.

    Source: PullImage; SignatureValidationFailed in the package of errors in the CRI's repository.
    """
    other = registry.mint(repository=OTHER)

    with must_be_refused():
        guarded.images.PullImage(pulling(rejected.reference))
    guarded.images.PullImage(pulling(other.reference))

    assert (is_present(guarded, rejected.reference), is_present(guarded, other.reference)) == (False, True)


@requirement("IMG-44/pull")
def test_an_image_that_is_present_is_rejected_by_another_name(
    guarded: OwnRuntime, registry: Registry
) -> None:
    """PullImage MUST fail for a name that the signature policy of the node rejects, even if the runtime has
    the same image under another name.

    Source: PullImage; SignatureValidationFailed in the package of errors in the CRI's repository.
    """
    # equal salts make equal images
    accepted, same = (registry.mint(repository=name, salt=SALT) for name in (OTHER, REJECTED))
    with setting_up():
        guarded.images.PullImage(pulling(accepted.reference))

    with must_be_refused():
        guarded.images.PullImage(pulling(same.reference))

    assert (is_present(guarded, accepted.reference), is_present(guarded, same.reference)) == (True, False)


@requirement("IMG-44/signed")
def test_an_image_with_the_required_signature_is_pulled(
    requiring: OwnRuntime, registry: Registry, key: SigningKey
) -> None:
    """PullImage MUST succeed for an image with the signature that the policy of the node requires, and
    containers of it MUST start.

    Source: PullImage; containers-policy.json(5).
    """
    image = registry.mint(repository=REJECTED)
    key.sign(registry, image)

    pulled = requiring.images.PullImage(pulling(image.reference)).image_ref

    assert is_present(requiring, image.reference)
    requiring.container(image=ImageName(pulled, image.reference))


def sign_with_another_key(folder: Path, registry: Registry, image: MintedImage, _: SigningKey) -> None:
    """Sign an image with a key that the policy does not have."""
    SigningKey.new(folder, "other").sign(registry, image)


def sign_another_digest(_: Path, registry: Registry, image: MintedImage, key: SigningKey) -> None:
    """Give an image the signature of other content."""
    key.sign(registry, image, digest=registry.mint(repository=OTHER).digest)


def sign_another_name(_: Path, registry: Registry, image: MintedImage, key: SigningKey) -> None:
    """Give an image the signature of the same content under another name."""
    key.sign(registry, image, name=name_of(registry, OTHER))


WRONG: Final[dict[str, Callable[[Path, Registry, MintedImage, SigningKey], None]]] = {
    "of another key": sign_with_another_key,
    "of another digest": sign_another_digest,
    "of another name": sign_another_name,
}


@requirement("IMG-44/signed")
@pytest.mark.parametrize("signature", WRONG)
def test_an_image_with_the_wrong_signature_is_not_pulled(
    requiring: OwnRuntime, registry: Registry, key: SigningKey, host_folder: Path, signature: str
) -> None:
    """PullImage MUST fail for an image whose signature is not of the key, digest and name that the policy of
    the node requires; the runtime MUST NOT have the image afterwards.

    Source: PullImage; containers-policy.json(5).
    """
    image = registry.mint(repository=REJECTED)
    WRONG[signature](host_folder, registry, image, key)

    with must_be_refused():
        requiring.images.PullImage(pulling(image.reference))

    assert not is_present(requiring, image.reference)


@requirement("IMG-23")
def test_the_error_for_a_rejected_image_has_its_reason(guarded: OwnRuntime, rejected: MintedImage) -> None:
    """The error of PullImage SHOULD contain the word SignatureValidationFailed if the signature policy of the
    node rejects the image.

    Source: the package of errors in the CRI's repository; from these names, the kubelet derives the reason
    that it shows with the pod.
    """
    with must_be_refused() as refusal:
        guarded.images.PullImage(pulling(rejected.reference))

    assert "SignatureValidationFailed" in refusal.words


@requirement("IMG-44/namespaces")
def test_a_policy_of_a_namespace_applies_to_its_pods(
    guarded_in_a_namespace: OwnRuntime, rejected: MintedImage
) -> None:
    """PullImage for a pod of a namespace with its own signature policy SHOULD fail for an image that this
    policy rejects, whether the runtime has the image or not, and SHOULD succeed for pods of other namespaces.

    Source: PullImageRequest.sandbox_config; not stated by the CRI, the configuration has the policies.
    """
    runtime = guarded_in_a_namespace

    with must_be_refused():
        runtime.images.PullImage(pull_for(rejected, STRICT))
    assert not is_present(runtime, rejected.reference)
    runtime.images.PullImage(pull_for(rejected, "default"))
    with must_be_refused():
        runtime.images.PullImage(pull_for(rejected, STRICT))

    assert is_present(runtime, rejected.reference)


def container_of(
    runtime: OwnRuntime, pod: Sandbox, image: ImageName, *mounts: cri.Mount
) -> cri.CreateContainerRequest:
    """Return the request for a container in a pod."""
    config = runtime.containers.config(
        image=image,
        pod=pod.config.metadata,
        namespaces=pod.config.linux.security_context.namespace_options,
        mounts=mounts,
    )
    return runtime.containers.creation(config, pod)


@requirement("IMG-44/containers")
@pytest.mark.parametrize("form", ["tag", "id", "reference of the pull"])
def test_no_container_is_created_of_an_image_that_the_policy_rejects(
    guarded_in_a_namespace: OwnRuntime, rejected: MintedImage, form: str
) -> None:
    """CreateContainer SHOULD fail for an image that the policy of the pod's namespace rejects, however the
    request names the image, even if the runtime has it; and SHOULD succeed for pods of other namespaces.

    Source: CreateContainer, ImageSpec.user_specified_image; not stated by the CRI. Otherwise an image that
    another pod has pulled would circumvent the policy.
    """
    runtime = guarded_in_a_namespace
    strict, ordinary = runtime.sandboxes.ready(namespace=STRICT), runtime.sandboxes.ready()
    with setting_up():
        pulled = runtime.images.PullImage(pull_for(rejected, "default")).image_ref
        found = runtime.images.ImageStatus(
            cri.ImageStatusRequest(image=cri.ImageSpec(image=rejected.reference))
        ).image
    names = {"tag": rejected.reference, "id": found.id, "reference of the pull": pulled}
    image = ImageName(names[form], rejected.reference)

    with must_be_refused():
        runtime.stub.CreateContainer(container_of(runtime, strict, image))
    created = runtime.stub.CreateContainer(container_of(runtime, ordinary, image)).container_id

    listed = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    assert [each.id for each in listed] == [created]


@requirement("IMG-44/containers")
def test_no_image_that_the_policy_rejects_is_mounted(
    guarded_in_a_namespace: OwnRuntime, registry: Registry
) -> None:
    """CreateContainer SHOULD fail for a mount of an image that the policy of the namespace rejects, even
    if the runtime has the image; and SHOULD succeed for pods of other namespaces.

    Source: Mount.image, ImageSpec.user_specified_image; not stated by the CRI.
    """
    runtime = guarded_in_a_namespace
    strict, ordinary = runtime.sandboxes.ready(namespace=STRICT), runtime.sandboxes.ready()
    accepted, volume = registry.mint(repository=OTHER), registry.mint("volume", repository=REJECTED)
    with setting_up():
        program = runtime.images.PullImage(pull_for(accepted, "default")).image_ref
        mounted = runtime.images.PullImage(pull_for(volume, "default")).image_ref
    image = ImageName(program, accepted.reference)
    mount = cri.Mount(
        container_path="/volume", readonly=True, image=ImageName(mounted, volume.reference).spec()
    )

    with must_be_refused():
        runtime.stub.CreateContainer(container_of(runtime, strict, image, mount))
    created = runtime.stub.CreateContainer(container_of(runtime, ordinary, image, mount)).container_id

    listed = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    assert [each.id for each in listed] == [created]


@requirement("IMG-44/signed")
def test_a_container_is_created_of_an_image_with_the_required_signature(
    requiring_in_a_namespace: OwnRuntime, registry: Registry, key: SigningKey
) -> None:
    """CreateContainer MUST succeed for an image with the signature that the policy of the pod's namespace
    requires, also if the image was pulled for a pod of another namespace.

    Source: CreateContainer; containers-policy.json(5).
    """
    runtime = requiring_in_a_namespace
    pod = runtime.sandboxes.ready(namespace=STRICT)
    image = registry.mint(repository=REJECTED)
    key.sign(registry, image)
    with setting_up():
        pulled = runtime.images.PullImage(pull_for(image, "default")).image_ref
    request = container_of(runtime, pod, ImageName(pulled, image.reference))

    created = runtime.stub.CreateContainer(request).container_id

    listed = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    assert [each.id for each in listed] == [created]
