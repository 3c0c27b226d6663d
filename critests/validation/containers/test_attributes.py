"""CTA: the attributes of a container in ContainerStatus, ListContainers and ContainerStats."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    ImageName,
    Images,
    RecordVariant,
    Runtime,
    Sandbox,
    objects_of,
    requirement,
    requires,
)
from critests.validation.containers.agreement import differences

# Kubernetes permits an empty value and a key with a DNS prefix; an annotation may hold any text
LABELS = {"plain": "value", "empty": "", "app.example.com/part-of": "a.b-c_d"}
ANNOTATIONS = {"plain": "value", "example.com/json": '{"a": [1, "ä"]}', "empty": "", "lines": "one\ntwo"}


def listed(container: Container) -> cri.Container:
    """Return the entry of a container in ListContainers."""
    [entry] = container.entries()
    return entry


def without_scheme(reference: str) -> str:
    """Return an image reference as ImageStatus takes it: some runtimes report it in ContainerStatus with a
    scheme (`docker-pullable://NAME@DIGEST`).
    """
    return reference.rpartition("://")[2]


@requirement("CTA-01")
def test_status_reports_the_requested_name_and_attempt(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus MUST report the container's id, and the name and attempt of the create request.

    Source: ContainerStatus.id and metadata.
    """
    # not attempt 0, which a runtime that drops the field would report as well
    container = containers.created(name="named-" + secrets.token_hex(4), attempt=3)

    response = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id))

    assert response.status.id == container.id
    assert response.status.metadata == container.config.metadata


ATTRIBUTES: dict[str, Callable[[Container], Any]] = {
    "ContainerStatus": Container.status,
    "ListContainers": listed,
    "ContainerStats": lambda container: (
        container.connection.runtime.ContainerStats(
            cri.ContainerStatsRequest(container_id=container.id)
        ).stats.attributes
    ),
}


@requirement("CTA-02")
@pytest.mark.parametrize("rpc", ATTRIBUTES)
def test_labels_and_annotations_are_reported_unchanged(containers: Containers, rpc: str) -> None:
    """ContainerStatus, ListContainers and ContainerStats MUST report the labels and annotations of the create
    request unchanged, and no others.

    Source: ContainerConfig.labels and annotations, ContainerStatus, Container, ContainerAttributes.
    """
    container = containers.running(labels=LABELS, annotations=ANNOTATIONS)

    reported = ATTRIBUTES[rpc](container)

    assert dict(reported.labels) == dict(container.config.labels)
    assert dict(reported.annotations) == dict(container.config.annotations)


@requirement("CTA-03")
def test_label_keys_keep_their_prefix(containers: Containers) -> None:
    """ContainerStatus MUST report a label key with a DNS prefix and a slash unchanged.

    Source: ContainerConfig.labels.
    """
    container = containers.created(labels={"deep.sub.example.com/Name_with.all-three": "value"})

    status = container.status()

    assert status.labels.get("deep.sub.example.com/Name_with.all-three") == "value"


@requirement("CTA-04")
def test_creation_times_follow_the_order_of_creation(containers: Containers) -> None:
    """`created_at` MUST be in nanoseconds, equal in ContainerStatus and ListContainers, and later for a
    container that was created later.

    Source: ContainerStatus.created_at, Container.created_at.
    """
    in_order = [containers.created(), containers.created(), containers.created()]

    reported = [container.status().created_at for container in in_order]

    assert reported == [listed(container).created_at for container in in_order]
    assert reported == sorted(set(reported))
    # from 2001 to 2286, nanoseconds since 1970 have 19 digits; micro- and milliseconds have fewer
    assert {len(str(time)) for time in reported} == {19}


@requirement("CTA-04")
def test_creation_time_is_within_the_create_call(
    runtime: Runtime, sandbox: Sandbox, containers: Containers
) -> None:
    """`created_at` MUST be a time during the CreateContainer call, in nanoseconds of the wall clock.

    Source: ContainerStatus.created_at.
    """
    config = containers.config()
    call = runtime.timed(runtime.stub.CreateContainer, containers.creation(config, sandbox))
    container = containers.adopt(call.response.container_id, config, sandbox)

    created_at = runtime.stub.ContainerStatus(
        cri.ContainerStatusRequest(container_id=container.id)
    ).status.created_at

    assert call.started_ns <= created_at <= call.ended_ns


@requirement("CTA-05")
def test_status_reports_the_requested_image(container: Container, image: ImageName, images: Images) -> None:
    """The image in ContainerStatus MUST be the requested reference, or another name or id of the same image.

    Source: ContainerStatus.image.
    """
    image_id = images.id_of(image.reference)

    reported = container.status().image.image

    assert reported
    assert images.id_of(reported) == image_id


@requirement("CTA-06/if-set")
def test_user_specified_image_is_empty_or_that_of_the_request(container: Container, image: ImageName) -> None:
    """`user_specified_image` in ListContainers and ContainerStatus MUST be empty or that of the request.

    Source: ImageSpec.user_specified_image.
    """
    reported = [
        container.status().image.user_specified_image,
        listed(container).image.user_specified_image,
    ]

    assert set(reported) <= {"", image.written}


@requirement("CTA-06/form")
def test_whether_the_user_specified_image_is_reported(
    container: Container, image: ImageName, record_variant: RecordVariant
) -> None:
    """ListContainers and ContainerStatus MAY leave `user_specified_image` empty.

    Source: ImageSpec.user_specified_image; not stated by the CRI.
    """
    in_status, in_list = container.status().image, listed(container).image

    reported = {"status": in_status.user_specified_image, "list": in_list.user_specified_image}
    record_variant(
        "; ".join(f"{where}: {'reported' if value else 'empty'}" for where, value in reported.items())
    )
    assert set(reported.values()) <= {"", image.written}


@requirement("CTA-07")
def test_image_ref_identifies_the_image(container: Container, image: ImageName, images: Images) -> None:
    """`image_ref` in ContainerStatus and ListContainers MUST identify the image by a digest or by its id.

    Source: ContainerStatus.image_ref, Container.image_ref; the kubelet keeps the images that the list names.
    """
    image_id = images.id_of(image.reference)

    for image_ref in (container.status().image_ref, listed(container).image_ref):
        reported = without_scheme(image_ref)
        assert reported
        assert reported == image_id or "@sha256:" in reported or reported.startswith("sha256:")
        assert images.id_of(reported) == image_id


@requirement("CTA-08/image-id")
@requires(Capability.IMAGE_ID)
def test_image_id_is_the_id_of_the_image(container: Container, image: ImageName, images: Images) -> None:
    """`image_id` in ContainerStatus, and in ListContainers if it is set there, MUST be the id of the image in
    ListImages.

    Source: ContainerStatus.image_id, Container.image_id, Image.id.
    """
    image_id = images.id_of(image.reference)

    assert container.status().image_id == image_id
    assert listed(container).image_id in {"", image_id}


@requirement("CTA-08/pull-ref")
@requires(Capability.IMAGE_ID)
def test_image_id_is_what_the_pull_returned(container: Container, image: ImageName) -> None:
    """`image_id` in ContainerStatus MUST be the reference that PullImage returned.

    Source: ContainerStatus.image_id, PullImageResponse.image_ref.
    """
    reported = container.status().image_id

    assert reported == image.reference


@requirement("CTA-14")
@pytest.mark.parametrize("code", [0, 1], ids=["success", "failure"])
def test_status_of_an_exited_container_has_a_reason(containers: Containers, code: int) -> None:
    """ContainerStatus of an exited container SHOULD have a reason.

    Source: ContainerStatus.reason.
    """
    container = containers.exited(script=f"exit {code}")

    assert container.status().reason


@requirement("CTA-15")
def test_verbose_status_reports_pid_and_process_settings(
    runtime: Runtime, running_container: Container
) -> None:
    """A verbose ContainerStatus SHOULD report, as JSON, at least the process id and the OCI runtime
    specification of the container.

    Source: ContainerStatusResponse.info. The CRI does not state its keys; tools for debugging a node rely on
    these two.
    """
    response = runtime.stub.ContainerStatus(
        cri.ContainerStatusRequest(container_id=running_container.id, verbose=True)
    )

    reported: dict[str, Any] = {}
    for info in objects_of(response.info):
        reported |= info
    assert reported.get("pid", 0) > 0
    assert "process" in reported.get("runtimeSpec", {})


@requirement("CTA-15")
def test_plain_status_has_no_debugging_information(runtime: Runtime, running_container: Container) -> None:
    """ContainerStatus without `verbose` SHOULD NOT return debugging information.

    Source: ContainerStatusRequest.verbose.
    """
    response = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=running_container.id))

    assert dict(response.info) == {}


@requirement("CTA-23/equal")
@pytest.mark.parametrize(
    "state",
    [cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED],
    ids=["created", "running", "exited"],
)
def test_list_and_status_agree(containers: Containers, state: "cri.ContainerState") -> None:
    """ListContainers MUST report the same attributes of a container as ContainerStatus.

    Source: Container, ContainerStatus.
    """
    container = containers.in_state(state, labels=LABELS, annotations=ANNOTATIONS)

    entry, status = listed(container), container.status()

    assert entry.pod_sandbox_id == container.sandbox.id
    assert (entry.id, entry.metadata, entry.state) == (status.id, status.metadata, status.state)
    assert (entry.created_at, entry.image_id) == (status.created_at, status.image_id)
    assert (dict(entry.labels), dict(entry.annotations)) == (dict(status.labels), dict(status.annotations))


@requirement("CTA-23/image-form")
def test_form_of_the_image_in_list_and_status(
    container: Container, images: Images, record_variant: RecordVariant
) -> None:
    """ListContainers and ContainerStatus MAY report the image of a container in different forms.

    Source: Container.image and image_ref, ContainerStatus.image and image_ref.
    """
    entry, status = listed(container), container.status()

    forms = {
        "image": (entry.image.image, status.image.image),
        "image_ref": (entry.image_ref, status.image_ref),
    }
    record_variant(
        "; ".join(
            f"{field}: {'the same' if one == other else 'another form'}"
            for field, (one, other) in forms.items()
        )
    )
    # whatever the forms are, both name the same image
    for one, other in forms.values():
        names = [images.id_of(without_scheme(name)) for name in (one, other)]
        assert names[0] == names[1] != ""


CHOSEN_BY_THE_RUNTIME = ("image", "image_ref", "image_id", "resources", "created_at", "started_at")
"""Fields of ContainerStatus whose form or value the request does not determine."""


@requirement("CTA-31")
def test_status_reports_nothing_but_what_was_requested(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus of a running container SHOULD report the settings of the create request, the state, the
    user and the stop signal, and nothing else.

    Source: ContainerStatus, ContainerConfig. Not stated by the CRI for all fields together.
    """
    # not attempt 0, which is also the value of a field that is not set
    container = containers.running(labels=LABELS, annotations=ANNOTATIONS, attempt=3)
    config, expected = container.config, cri.ContainerStatus(id=container.id, state=cri.CONTAINER_RUNNING)
    expected.metadata.CopyFrom(config.metadata)
    expected.labels.update(config.labels)
    expected.annotations.update(config.annotations)
    expected.log_path = str(container.log_path)

    status = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status

    # without a configured signal, a runtime reports the default, or 0 if it does not have the field
    assert status.stop_signal in {cri.SIGNAL_RUNTIME_DEFAULT, cri.SIGNAL_SIGTERM}
    # neither the request nor the image names a user
    assert (status.user.linux.uid, status.user.linux.gid) == (0, 0)
    for field in (*CHOSEN_BY_THE_RUNTIME, "user", "stop_signal"):
        status.ClearField(field)
    assert differences(status, expected) == {}
