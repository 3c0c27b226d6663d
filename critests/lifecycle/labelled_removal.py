"""Removes all objects with a run's label, in whatever state the run left them."""

import re
import time
from dataclasses import dataclass, field

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.lifecycle.run_label import RUN_ID, RUN_LABEL, RunIdentity
from critests.lifecycle.sandbox import kill

SETTLED_WITHIN_SECONDS = 5.0
"""How long failed removals are repeated: a call of a dead client may still be in progress, and a container
that is being started cannot be removed.
"""
_OWN_REPOSITORY = re.compile(rf"/critests/({RUN_ID.pattern})/")


@dataclass
class Removed:
    """The result of a removal.

    Attributes:
        containers: number of containers removed.
        sandboxes: number of sandboxes removed.
        images: number of images removed.
        problems: a sentence for each object that could not be removed.
    """

    containers: int = 0
    sandboxes: int = 0
    images: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"{self.containers} containers, {self.sandboxes} sandboxes, {self.images} images"
        return f"{text}; {len(self.problems)} not removed" if self.problems else text


def runs_on(connection: Connection) -> set[str]:
    """Return the ids of the runs with a sandbox, a container or an image on the runtime."""
    sandboxes = connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
    containers = connection.runtime.ListContainers(cri.ListContainersRequest()).containers
    labels = [*(sandbox.labels for sandbox in sandboxes), *(container.labels for container in containers)]
    images = connection.images.ListImages(cri.ListImagesRequest()).images
    names = [name for image in images for name in (*image.repo_tags, *image.repo_digests)]
    return {each[RUN_LABEL] for each in labels if RUN_LABEL in each} | {
        run for name in names if (run := _run_of(name))
    }


def remove_run(connection: Connection, run: RunIdentity) -> Removed:
    """Remove a run's containers, sandboxes and images.

    The label is checked here on each object, so that a runtime with broken list filters loses no other
    objects.

    Args:
        connection: to the runtime.
        run: whose objects are removed; an image is its own if all its names have the run's id in the
            repository.
    """
    deadline = time.monotonic() + SETTLED_WITHIN_SECONDS
    removed = _remove_once(connection, run)
    while removed.problems and time.monotonic() < deadline:
        time.sleep(0.05)
        again = _remove_once(connection, run)
        removed = Removed(
            containers=removed.containers + again.containers,
            sandboxes=removed.sandboxes + again.sandboxes,
            images=removed.images + again.images,
            problems=again.problems,
        )
    return removed


def _remove_once(connection: Connection, run: RunIdentity) -> Removed:
    removed = Removed()
    for container in connection.runtime.ListContainers(cri.ListContainersRequest()).containers:
        if run.owns(container.labels) and _attempt(
            removed, f"container {container.id}", lambda c=container: _remove_container(connection, c.id)
        ):
            removed.containers += 1
    for sandbox in connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items:
        if run.owns(sandbox.labels) and _attempt(
            removed, f"sandbox {sandbox.id}", lambda s=sandbox: _remove_sandbox(connection, s.id)
        ):
            removed.sandboxes += 1
    for image in connection.images.ListImages(cri.ListImagesRequest()).images:
        names = [*image.repo_tags, *image.repo_digests]
        if not names or {_run_of(name) for name in names} != {run.id}:
            continue
        request = cri.RemoveImageRequest(image=cri.ImageSpec(image=image.id))
        if _attempt(removed, f"image {names[0]}", lambda r=request: connection.images.RemoveImage(r)):
            removed.images += 1
    return removed


def _run_of(image_name: str) -> str:
    """Return the run that an image was served for, by its repository; empty for other images."""
    found = _OWN_REPOSITORY.search(image_name)
    return found[1] if found else ""


def _remove_container(connection: Connection, container_id: str) -> None:
    kill(connection, container_id)
    connection.runtime.RemoveContainer(cri.RemoveContainerRequest(container_id=container_id))


def _remove_sandbox(connection: Connection, sandbox_id: str) -> None:
    connection.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
    connection.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))


def _attempt(removed: Removed, what: str, remove: object) -> bool:
    try:
        remove()  # type: ignore[operator]  # a lambda with a bound default has no simple callable type
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return True
        removed.problems.append(f"{what}: {error.code().name}: {error.details()}")
        return False
    return True
