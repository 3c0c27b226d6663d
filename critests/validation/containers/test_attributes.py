"""CTA: what status, list and statistics report of a container."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.images import Images
from critests.fixtures.runtime import Runtime
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.requests import ImageName
from critests.lifecycle.sandboxes import Sandbox
from critests.lifecycle.verbose_info import objects_of
from critests.run.marks import requirement, requires
from critests.validation.containers.agreement import differences

LABELS = {"plain": "value", "empty": "", "app.example.com/part-of": "a.b-c_d"}
ANNOTATIONS = {"plain": "value", "example.com/json": '{"a": [1, "ä"]}', "empty": "", "lines": "one\ntwo"}


def listed(container: Container) -> cri.Container:
    """Return the entry of a container in the list of all."""
    [entry] = container.entries()
    return entry


def without_scheme(reference: str) -> str:
    """Return a reference to an image as image services know it; some runtimes put into a container's status
    where the reference is good for (`docker-pullable://NAME@DIGEST`).
    """
    return reference.rpartition("://")[2]


@requirement("CTA-01")
def test_status_names_the_container_as_it_was_requested(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus MUST tell the container's id, and the name and attempt that were requested.

    Source: ContainerStatus.id and metadata.
    """
    container = containers.created(name="named-" + secrets.token_hex(4), attempt=3)

    answer = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id))

    assert answer.status.id == container.id
    assert answer.status.metadata == container.config.metadata


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
def test_labels_and_annotations_come_back_unchanged(containers: Containers, rpc: str) -> None:
    """Labels and annotations of a container MUST come back as they were requested, without any being added.

    Source: ContainerConfig.labels and annotations, ContainerStatus, Container, ContainerAttributes.
    """
    container = containers.running(labels=LABELS, annotations=ANNOTATIONS)

    reported = ATTRIBUTES[rpc](container)

    assert dict(reported.labels) == dict(container.config.labels)
    assert dict(reported.annotations) == dict(container.config.annotations)


@requirement("CTA-03")
def test_label_keys_keep_their_prefix(containers: Containers) -> None:
    """A label whose key has a DNS prefix and a slash MUST keep its key.

    Source: ContainerConfig.labels.
    """
    container = containers.created(labels={"deep.sub.example.com/Name_with.all-three": "kept"})

    status = container.status()

    assert status.labels.get("deep.sub.example.com/Name_with.all-three") == "kept"


@requirement("CTA-04")
def test_creation_times_follow_the_order_of_creation(containers: Containers) -> None:
    """The creation time MUST be in nanoseconds, the same in list and status, and later for a container that
    was made later.

    Source: ContainerStatus.created_at, Container.created_at.
    """
    in_order = [containers.created(), containers.created(), containers.created()]

    reported = [container.status().created_at for container in in_order]

    assert reported == [listed(container).created_at for container in in_order]
    assert reported == sorted(set(reported))
    # nanoseconds since 1970, and neither micro- nor milliseconds, have this many digits from 2001 to 2286
    assert {len(str(time)) for time in reported} == {19}


@requirement("CTA-04")
def test_creation_of_a_container_lies_within_its_call(
    runtime: Runtime, sandbox: Sandbox, containers: Containers
) -> None:
    """The creation time MUST be nanoseconds of the wall clock while CreateContainer ran.

    Source: ContainerStatus.created_at.
    """
    config = containers.config()
    call = runtime.timed(runtime.stub.CreateContainer, containers.creation(config, sandbox))
    made = containers.adopt(call.response.container_id, config, sandbox)

    created_at = runtime.stub.ContainerStatus(
        cri.ContainerStatusRequest(container_id=made.id)
    ).status.created_at

    assert call.started_ns <= created_at <= call.ended_ns


@requirement("CTA-05")
def test_status_names_the_image_that_was_requested(
    container: Container, image: ImageName, images: Images
) -> None:
    """The image in ContainerStatus MUST be the reference that was requested or another name or id of the same
    image.

    Source: ContainerStatus.image.
    """
    wanted = images.id_of(image.reference)

    named = container.status().image.image

    assert named
    assert images.id_of(named) == wanted


@requirement("CTA-06/if-set")
def test_user_specified_image_is_not_another_one(container: Container, image: ImageName) -> None:
    """What list and status report as the image that the user specified MUST be empty or what was given.

    Source: ImageSpec.user_specified_image.
    """
    reported = [
        container.status().image.user_specified_image,
        listed(container).image.user_specified_image,
    ]

    assert set(reported) <= {"", image.written}


@requirement("CTA-06/form")
def test_whether_the_user_specified_image_is_reported(
    container: Container, image: ImageName, observe: Observe
) -> None:
    """The image that the user specified MAY be left out of list and status.

    Source: ImageSpec.user_specified_image; the CRI does not say.
    """
    in_status, in_list = container.status().image, listed(container).image

    reported = {"status": in_status.user_specified_image, "list": in_list.user_specified_image}
    observe("; ".join(f"{where}: {'told' if value else 'empty'}" for where, value in reported.items()))
    assert set(reported.values()) <= {"", image.written}


@requirement("CTA-07")
def test_image_ref_identifies_the_image(container: Container, image: ImageName, images: Images) -> None:
    """The image reference in ContainerStatus MUST identify the image by a digest or by its id.

    Source: ContainerStatus.image_ref.
    """
    wanted = images.id_of(image.reference)

    reported = without_scheme(container.status().image_ref)

    assert reported
    assert reported == wanted or "@sha256:" in reported or reported.startswith("sha256:")
    assert images.id_of(reported) == wanted


@requirement("CTA-08/image-id")
@requires(Capability.IMAGE_ID)
def test_image_id_is_the_id_of_the_image(container: Container, image: ImageName, images: Images) -> None:
    """The image id in the status, and in the list if it is there, MUST be the id by which the image
    service knows the image.

    Source: ContainerStatus.image_id, Container.image_id, Image.id.
    """
    wanted = images.id_of(image.reference)

    assert container.status().image_id == wanted
    assert listed(container).image_id in {"", wanted}


@requirement("CTA-08/pull-ref")
@requires(Capability.IMAGE_ID)
def test_image_id_is_what_the_pull_returned(container: Container, image: ImageName) -> None:
    """The image id in ContainerStatus MUST be the reference that PullImage returned.

    Source: ContainerStatus.image_id, PullImageResponse.image_ref.
    """
    reported = container.status().image_id

    assert reported == image.reference


@requirement("CTA-14")
@pytest.mark.parametrize("code", [0, 1], ids=["success", "failure"])
def test_status_of_an_ended_container_has_a_reason(containers: Containers, code: int) -> None:
    """ContainerStatus of a container that has ended SHOULD have a reason.

    Source: ContainerStatus.reason.
    """
    container = containers.exited(script=f"exit {code}")

    assert container.status().reason


@requirement("CTA-15")
def test_verbose_status_reports_pid_and_process_settings(
    runtime: Runtime, running_container: Container
) -> None:
    """A verbose ContainerStatus SHOULD tell, as JSON, at least the process id and the settings that the OCI
    runtime got.

    Source: ContainerStatusResponse.info; its keys are not stated by the CRI, tools for debugging a node rely
    on these two.
    """
    answer = runtime.stub.ContainerStatus(
        cri.ContainerStatusRequest(container_id=running_container.id, verbose=True)
    )

    reported: dict[str, Any] = {}
    for told in objects_of(answer.info):
        reported |= told
    assert reported.get("pid", 0) > 0
    assert "process" in reported.get("runtimeSpec", {})


@requirement("CTA-15")
def test_plain_status_has_no_debugging_information(runtime: Runtime, running_container: Container) -> None:
    """A ContainerStatus that is not verbose SHOULD leave out the debugging information.

    Source: ContainerStatusRequest.verbose.
    """
    answer = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=running_container.id))

    assert dict(answer.info) == {}


@requirement("CTA-23/equal")
@pytest.mark.parametrize(
    "state",
    [cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED],
    ids=["created", "running", "ended"],
)
def test_list_and_status_agree(containers: Containers, state: "cri.ContainerState") -> None:
    """ListContainers MUST tell of a container what ContainerStatus tells.

    Source: Container, ContainerStatus.
    """
    container = containers.in_state(state, labels=LABELS, annotations=ANNOTATIONS)

    entry, status = listed(container), container.status()

    assert entry.pod_sandbox_id == container.sandbox.id
    assert (entry.id, entry.metadata, entry.state) == (status.id, status.metadata, status.state)
    assert (entry.created_at, entry.image_id) == (status.created_at, status.image_id)
    assert (dict(entry.labels), dict(entry.annotations)) == (dict(status.labels), dict(status.annotations))


@requirement("CTA-23/image-form")
def test_form_of_the_image_in_list_and_status(container: Container, images: Images, observe: Observe) -> None:
    """ListContainers and ContainerStatus MAY name the image of a container in different forms.

    Source: Container.image and image_ref, ContainerStatus.image and image_ref.
    """
    entry, status = listed(container), container.status()

    forms = {
        "image": (entry.image.image, status.image.image),
        "image_ref": (entry.image_ref, status.image_ref),
    }
    observe(
        "; ".join(
            f"{field}: {'the same' if one == other else 'another form'}"
            for field, (one, other) in forms.items()
        )
    )
    for one, other in forms.values():
        names = [images.id_of(without_scheme(name)) for name in (one, other)]
        assert names[0] == names[1] != ""


CHOSEN_BY_THE_RUNTIME = ("image", "image_ref", "image_id", "resources", "created_at", "started_at")
"""Fields of a status whose form or value is not the request's."""


@requirement("CTA-31")
def test_status_reports_nothing_but_what_was_requested(runtime: Runtime, containers: Containers) -> None:
    """The status of a running container SHOULD tell what was requested of it, its state, who its process is
    and which signal stops it, and nothing else.

    Source: ContainerStatus, ContainerConfig. Not stated by the CRI of all fields together.
    """
    container = containers.running(labels=LABELS, annotations=ANNOTATIONS, attempt=3)
    asked, expected = container.config, cri.ContainerStatus(id=container.id, state=cri.CONTAINER_RUNNING)
    expected.metadata.CopyFrom(asked.metadata)
    expected.labels.update(asked.labels)
    expected.annotations.update(asked.annotations)
    expected.log_path = str(container.log_path)

    told = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status

    assert told.stop_signal in {cri.SIGNAL_RUNTIME_DEFAULT, cri.SIGNAL_SIGTERM}
    assert (told.user.linux.uid, told.user.linux.gid) == (0, 0)
    for field in (*CHOSEN_BY_THE_RUNTIME, "user", "stop_signal"):
        told.ClearField(field)
    assert differences(told, expected) == {}
