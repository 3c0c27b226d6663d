"""What each message about one container must hold, whatever came before."""

from collections.abc import Iterable

from critests.api import api_pb2 as cri
from critests.responses.rules import Difference, Response, rule


@rule("CTA-01", "ContainerStatus.id")
def status_is_of_the_requested_container(status: cri.ContainerStatus, of: Response) -> Iterable[Difference]:
    """ContainerStatus reports the container whose id, or the beginning of it, was in the request."""
    if not status.id:
        yield Difference("id", "an id", status.id)
    if isinstance(of.request, cri.ContainerStatusRequest) and not status.id.startswith(
        of.request.container_id
    ):
        yield Difference("id", of.request.container_id, status.id, status.id)


@rule("CTR-01", "CreateContainerResponse.container_id")
def creation_returns_an_id(response: cri.CreateContainerResponse, _: Response) -> Iterable[Difference]:
    """CreateContainer returns the id of the new container."""
    if not response.container_id:
        yield Difference("container_id", "an id", "")


@rule("CTA-23/equal", "Container.id", "Container.pod_sandbox_id")
def listed_container_has_ids(entry: cri.Container, _: Response) -> Iterable[Difference]:
    """An entry of ListContainers names the container and its sandbox."""
    if not entry.id:
        yield Difference("id", "an id", "")
    if not entry.pod_sandbox_id:
        yield Difference("pod_sandbox_id", "an id", "", entry.id)


@rule("CTA-05", "ContainerStatus.image", "ImageSpec.image")
def status_names_the_image(status: cri.ContainerStatus, _: Response) -> Iterable[Difference]:
    """ContainerStatus names the image of the container."""
    if not status.image.image:
        yield Difference("image.image", "a reference or an id", "", status.id)


@rule("CTA-07", "ContainerStatus.image_ref")
def status_has_a_reference_of_the_image(status: cri.ContainerStatus, _: Response) -> Iterable[Difference]:
    """ContainerStatus identifies the image by digest or id."""
    if not status.image_ref:
        yield Difference("image_ref", "a digest or an id", "", status.id)


@rule("CTA-07", "Container.image_ref")
def listed_container_has_a_reference_of_the_image(entry: cri.Container, _: Response) -> Iterable[Difference]:
    """ListContainers identifies the image by digest or id."""
    if not entry.image_ref:
        yield Difference("image_ref", "a digest or an id", "", entry.id)


@rule("CTR-01", "ContainerStatus.started_at", "ContainerStatus.finished_at", "ContainerStatus.exit_code")
def created_container_has_not_run(status: cri.ContainerStatus, _: Response) -> Iterable[Difference]:
    """A container in state CREATED has neither start, end nor exit code."""
    if status.state != cri.CONTAINER_CREATED:
        return
    for field in ("started_at", "finished_at", "exit_code"):
        if getattr(status, field):
            yield Difference(field, 0, getattr(status, field), status.id)


@rule("CTA-29", "ContainerStatus.started_at", "ContainerStatus.finished_at")
def running_container_has_a_start_and_no_end(
    status: cri.ContainerStatus, _: Response
) -> Iterable[Difference]:
    """A RUNNING container has a start and no end."""
    if status.state != cri.CONTAINER_RUNNING:
        return
    if not status.started_at:
        yield Difference("started_at", "a time", 0, status.id)
    if status.finished_at:
        yield Difference("finished_at", 0, status.finished_at, status.id)


@rule("CTR-21", "ContainerStatus.finished_at", "ContainerStatus.exit_code")
def exited_container_ended_after_its_start(status: cri.ContainerStatus, _: Response) -> Iterable[Difference]:
    """An EXITED container that has run ended after its start."""
    if status.state == cri.CONTAINER_EXITED and status.started_at > status.finished_at:
        yield Difference("finished_at", f">= {status.started_at}", status.finished_at, status.id)


@rule("CTA-14", "ContainerStatus.reason", "ContainerStatus.message")
def exited_container_has_a_reason(status: cri.ContainerStatus, _: Response) -> Iterable[Difference]:
    """An EXITED container has a reason."""
    if status.state == cri.CONTAINER_EXITED and not status.reason:
        yield Difference("reason", "a reason", "", status.id)


@rule("STA-01", "ContainerStatsResponse.stats", "ContainerStats.attributes", "ContainerAttributes.id")
def stats_are_of_the_requested_container(
    response: cri.ContainerStatsResponse, of: Response
) -> Iterable[Difference]:
    """ContainerStats reports the container whose id was in the request."""
    if not isinstance(of.request, cri.ContainerStatsRequest) or not response.HasField("stats"):
        return
    reported = response.stats.attributes.id
    if not reported or not reported.startswith(of.request.container_id):
        yield Difference("attributes.id", of.request.container_id, reported)


RULES = [
    status_is_of_the_requested_container,
    creation_returns_an_id,
    listed_container_has_ids,
    status_names_the_image,
    status_has_a_reference_of_the_image,
    listed_container_has_a_reference_of_the_image,
    created_container_has_not_run,
    running_container_has_a_start_and_no_end,
    exited_container_ended_after_its_start,
    exited_container_has_a_reason,
    stats_are_of_the_requested_container,
]
