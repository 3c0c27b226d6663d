"""Unique images of a benchmark, so that a pull fetches and unpacks all layers."""

import contextlib
import secrets

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.target import PLAIN, Target
from critests.images.catalogue import Changes
from critests.images.registry_client import RegistryClient
from critests.images.repositories import MintedImage
from critests.lifecycle.requests import ImageName, pulling
from critests.lifecycle.run_label import RUN_LABEL
from critests.run.outcomes import Blocked


def registry_of(target: Target) -> RegistryClient:
    """Return the registry that serves a side's images.

    Raises:
        Blocked: this run has no registry.
    """
    if target.context.registry is None:
        msg = "needs the suite's own registry, which this run does not serve (--image-prefix)"
        raise Blocked(msg)
    return target.context.registry


def mint(
    target: Target,
    image: str = PLAIN,
    *,
    repository: str = "",
    changes: Changes | None = None,
    salt: str = "",
) -> MintedImage:
    """Create an image that no runtime has pulled yet.

    Args:
        target: the side that will pull it.
        image: name in the catalogue.
        repository: last component of the repository name; a new one by default.
        changes: changes to the image of the catalogue.
        salt: the same salt gives the same image; a new one by default.
    """
    run = target.context.run
    name = f"critests/{run.id}/{repository or f'bench-{secrets.token_hex(5)}'}"
    return registry_of(target).mint(
        image, name, salt=salt or secrets.token_hex(8), labels={RUN_LABEL: run.id}, changes=changes
    )


def pull(target: Target, meter: Meter, minted: MintedImage) -> ImageName:
    """Pull an image in a timed window, and check outside it that the registry received a request.

    Raises:
        NotDone: the pull succeeded without a request to the registry.
    """
    response = meter.call("PullImage", target.image_service.PullImage, pulling(minted.reference))
    if not registry_of(target).requests(minted.repository):
        msg = f"PullImage of {minted.reference} succeeded, and the registry received no request for it"
        raise NotDone(msg)
    return ImageName(response.image_ref, minted.reference)


def removal(target: Target, minted: MintedImage) -> cri.RemoveImageRequest:
    """Return the request that removes an image with all its names: by the id that ImageStatus reports,
    because runtimes differ in the form of ids.
    """
    response = target.connection.images.ImageStatus(
        cri.ImageStatusRequest(image=cri.ImageSpec(image=minted.reference))
    )
    return cri.RemoveImageRequest(image=cri.ImageSpec(image=response.image.id or minted.reference))


def remove_image(target: Target, minted: MintedImage) -> None:
    """Remove an image from the runtime and from the registry, outside every timed window."""
    with contextlib.suppress(grpc.RpcError):
        target.connection.images.RemoveImage(removal(target, minted))
    registry_of(target).remove_repository(minted.repository)
