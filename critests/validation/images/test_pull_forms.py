"""IMG: unusual images and references."""

from critests.api import api_pb2 as cri
from critests.testing import (
    Container,
    Containers,
    Images,
    RecordVariant,
    Registry,
    Runtime,
    may_be_refused,
    requirement,
    unsupported,
)

IPV6_REGISTRY = "[::1]:1/critests/nobody:1"


@requirement("IMG-15")
def test_no_container_is_created_from_an_artifact(
    runtime: Runtime,
    registry: Registry,
    images: Images,
    containers: Containers,
    record_variant: RecordVariant,
) -> None:
    """PullImage of a manifest whose configuration is not that of an image MAY succeed or fail; a container of
    it MUST NOT start.

    Source: OCI image specification, artifacts; the CRI does not say.
    """
    minted = registry.mint("artifact")

    pulled = ""
    with may_be_refused():
        pulled = runtime.images.PullImage(images.pull_request(minted.reference)).image_ref

    record_variant("an artifact is pulled" if pulled else "a pull of an artifact is refused")
    config = containers.config()
    # by its name if the pull was rejected
    config.image.image, config.image.user_specified_image = pulled or minted.reference, minted.reference
    containers.refusal(config)


@requirement("IMG-16")
def test_form_of_a_pull_from_an_ipv6_address(
    runtime: Runtime, images: Images, record_variant: RecordVariant
) -> None:
    """PullImage from a registry at an IPv6 address MAY fail as an invalid reference or as a failed
    connection; where nothing listens, it MUST end in an error.

    Source: reference rules of the OCI distribution project, by which a host may be an IPv6 address.
    """
    # a connection to a port without a listener fails at once; 40 s leave time for retries
    call = runtime.images.PullImage.future(images.pull_request(IPV6_REGISTRY), timeout=40 * runtime.scale)

    error = call.exception()

    assert error is not None, "a pull succeeded from an address where nothing listens"
    record_variant(f"a pull from an IPv6 address where nobody listens fails with {call.code().name}")
    assert call.code().name != "DEADLINE_EXCEEDED", "the pull hangs"


@requirement("IMG-36")
def test_a_pull_for_an_unknown_handler_leaves_no_image(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage for an unknown runtime handler MUST leave no image if it fails; without a handler, which
    means the default one, the same image is pulled.

    Source: ImageSpec.runtime_handler.
    """
    minted = registry.mint()
    request = images.pull_request(minted.reference)
    request.image.runtime_handler = "critests-no-such-handler"

    pulled = False
    with may_be_refused():
        runtime.images.PullImage(request)
        pulled = True

    if pulled:
        unsupported("image runtime handler: a pull for an unknown one succeeds")
    assert images.look_up(minted.reference) is None
    runtime.images.PullImage(images.pull_request(minted.reference))
    assert images.look_up(minted.reference) is not None


@requirement("IMG-39")
def test_image_of_more_than_a_hundred_layers_works_or_is_refused(
    runtime: Runtime, registry: Registry, images: Images, containers: Containers
) -> None:
    """An image of more than a hundred layers SHOULD run, or be rejected with an error.

    Source: OCI image specification, which has no limit; file systems have one.
    """
    # the paths of 110 layers exceed the page that mount(2) takes as options, unless a runtime shortens them
    minted = registry.mint("many-layers", changes={"filler_layers": 110})

    started: list[Container] = []
    with may_be_refused():
        response = runtime.images.PullImage(images.pull_request(minted.reference))
        config = containers.config(script="echo runs")
        config.image.image, config.image.user_specified_image = response.image_ref, minted.reference
        started.append(containers.attempt(config))

    assert [container.final_log_lines() for container in started] in ([], [["runs"]])


@requirement("IMG-39")
def test_image_without_layers_is_pulled_or_refused(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage of an image without layers SHOULD succeed, or fail with an error.

    Source: OCI image specification, image manifest, whose list of layers may be empty.
    """
    minted = registry.mint("no-layers")

    pulled = False
    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference))
        pulled = True

    assert (images.look_up(minted.reference) is not None) is pulled


@requirement("IMG-40")
def test_container_without_a_user_specified_image(
    containers: Containers, record_variant: RecordVariant
) -> None:
    """CreateContainer with an empty `user_specified_image` MAY fail, for example if signatures are checked by
    that name; otherwise the container runs.

    Source: ImageSpec.user_specified_image, which a kubelet before 1.28 does not send.
    """
    config = containers.config()
    config.image.user_specified_image = ""

    started: list[Container] = []
    with may_be_refused():
        started.append(containers.attempt(config))

    record_variant("it runs" if started else "it is refused")
    assert [container.state() for container in started] in ([], [cri.CONTAINER_RUNNING])
