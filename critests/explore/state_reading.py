"""Reads lists and statuses as plain data, of the objects with the label of one sequence."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.client.failures import code_of
from critests.model import World
from critests.model.observations import ObservedContainer, ObservedImage, ObservedSandbox, StateSnapshot
from critests.model.world import Image

SEQUENCE_LABEL = "critests.sequence"


def world_before(connection: Connection, images: Mapping[str, tuple[str, ...]], prefix: str) -> World:
    """Return what is known before the first step: which of the images are present already."""
    world = World(prefix, images={key: Image(key, names) for key, names in images.items()})
    for image in world.images.values():
        for entry in _images(connection, [*image.names]):
            image.id, image.entry = entry.id, entry
            image.present, image.tags = frozenset({True}), frozenset({*image.names} & entry.names)
    return world


def snapshot_of(connection: Connection, world: World) -> StateSnapshot:
    """List all objects of a sequence and call their statuses.

    Raises:
        grpc.RpcError: a list failed.
    """
    pods = connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
    sandboxes = tuple(_sandbox(item) for item in pods if item.labels.get(SEQUENCE_LABEL) == world.prefix)
    listed = connection.runtime.ListContainers(cri.ListContainersRequest()).containers
    containers = tuple(
        replace(_container(entry), sandbox_id=entry.pod_sandbox_id)
        for entry in listed
        if entry.labels.get(SEQUENCE_LABEL) == world.prefix
    )
    names = [name for image in world.images.values() for name in image.names]
    return StateSnapshot(
        sandboxes,
        containers,
        tuple(_images(connection, names)) if names else (),
        {each.id: _sandbox_status(connection, each.id) for each in sandboxes},
        {each.id: _container_status(connection, each.id) for each in containers},
        handlers=_handlers(connection),
        at=time.time_ns(),
    )


def _handlers(connection: Connection) -> tuple[str, ...]:
    """Return the names of the handlers; none if Status fails, which the model does not judge."""
    try:
        response = connection.runtime.Status(cri.StatusRequest())
    except grpc.RpcError:
        return ()
    return tuple(handler.name for handler in response.runtime_handlers)


def _images(connection: Connection, names: Iterable[str]) -> list[ObservedImage]:
    repositories = {name.rpartition(":")[0] for name in names}
    return [
        ObservedImage(image.id, frozenset(image.repo_tags))
        for image in connection.images.ListImages(cri.ListImagesRequest()).images
        if repositories
        & {
            *(tag.rpartition(":")[0] for tag in image.repo_tags),
            *(digest.partition("@")[0] for digest in image.repo_digests),
        }
    ]


def _sandbox_status(connection: Connection, sandbox_id: str) -> ObservedSandbox | str:
    try:
        status = connection.runtime.PodSandboxStatus(
            cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        ).status
    except grpc.RpcError as error:
        return code_of(error)[0]
    network = status.network
    addresses = filter(None, [network.ip, *(each.ip for each in network.additional_ips)])
    return replace(_sandbox(status), addresses=tuple(addresses))


def _container_status(connection: Connection, container_id: str) -> ObservedContainer | str:
    try:
        status = connection.runtime.ContainerStatus(
            cri.ContainerStatusRequest(container_id=container_id)
        ).status
    except grpc.RpcError as error:
        return code_of(error)[0]
    return replace(
        _container(status),
        started_at=status.started_at,
        finished_at=status.finished_at,
        exit_code=status.exit_code,
        restart_safe={
            "mounts": ", ".join(sorted(mount.container_path for mount in status.mounts)),
            "image": status.image.image,
            "image_ref": status.image_ref,
            "log_path": status.log_path,
            "reason": status.reason,
        },
    )


def _sandbox(message: cri.PodSandbox | cri.PodSandboxStatus) -> ObservedSandbox:
    """Return the fields that a list and a status have in common."""
    return ObservedSandbox(
        message.id,
        cri.PodSandboxState.Name(message.state),
        message.metadata.name,
        message.metadata.attempt,
        message.created_at,
        dict(message.labels),
        dict(message.annotations),
    )


def _container(message: cri.Container | cri.ContainerStatus) -> ObservedContainer:
    """Return the fields that a list and a status have in common."""
    return ObservedContainer(
        message.id,
        cri.ContainerState.Name(message.state),
        name=message.metadata.name,
        attempt=message.metadata.attempt,
        created_at=message.created_at,
        image_id=message.image_id,
        labels=dict(message.labels),
        annotations=dict(message.annotations),
    )
