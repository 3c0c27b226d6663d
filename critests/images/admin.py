"""The content of a registry, and its control API for the suite: images and faults, over HTTP for every
worker.

Each operation is a POST to `/critests/<operation>` with the admin token in `X-Critests-Token` and the JSON
array of its arguments in the body; the response is a JSON object with `answer` or `error`.
`registry_client.RegistryClient` is the only caller; the two change together.
"""

import base64
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from critests.exit_codes import CannotTest
from critests.images.build import Builder
from critests.images.catalogue import Changes, image_spec
from critests.images.oci_image import Blob
from critests.images.registry_faults import Access, RegistryFault
from critests.images.repositories import MintedImage, Repositories
from critests.record.codec import from_plain, to_plain


@dataclass(eq=False)
class RegistryContents:
    """The state that all connections to a registry share.

    Attributes:
        builder: builds an image at its first request.
        repositories: the images by repository, with faults, access and requests.
        admin_token: authorises the control API.
        address: `127.0.0.1:5010`; empty before the registry listens.
        serving: false before the registry starts and after it stops.
    """

    builder: Builder
    repositories: Repositories = field(default_factory=Repositories)
    admin_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    address: str = ""
    serving: bool = False

    def greeting(self) -> dict[str, object]:
        """Return the registry's public description of itself."""
        return {"registry": "critests", "pid": os.getpid(), "address": self.address}


def _mint(
    contents: RegistryContents,
    name: str,
    repository: str,
    tags: list[str] | None,
    salt: str,
    labels: dict[str, str],
    changes: Changes,
) -> MintedImage:
    spec = image_spec(name).changed(changes)
    image_tags = tuple(spec.tags if tags is None else tags)
    image = contents.builder.build(spec, salt=salt, labels=labels)
    contents.repositories.add(repository, image_tags, image)
    return MintedImage(
        image=spec.name,
        registry=contents.address,
        repository=repository,
        tags=image_tags,
        digest=image.top.digest,
        manifest_digest=image.native.digest if image.native else "",
        config_digest=image.config.digest if image.config else "",
        layer_digests=tuple(layer.blob.digest for layer in image.layers),
        size=image.size,
    )


def _put(
    contents: RegistryContents, repository: str, tag: str, manifest: list[str], blobs: list[list[str]]
) -> None:
    top, *others = (Blob(media_type, base64.b64decode(content)) for media_type, content in (manifest, *blobs))
    contents.repositories.put(repository, tag, top, others)


def _operations(contents: RegistryContents) -> dict[str, Callable[..., object]]:
    repositories = contents.repositories
    return {
        "mint": partial(_mint, contents),
        "put": partial(_put, contents),
        "copy": repositories.copy,
        "remove": repositories.remove,
        "fault": lambda repository, fault: repositories.add_fault(
            repository, from_plain(RegistryFault, fault)
        ),
        "clear-faults": repositories.clear_faults,
        "access": lambda repository, access: repositories.set_access(
            repository, from_plain(Access, access) if access else None
        ),
        "requests": repositories.requests,
        "reset-requests": repositories.reset_requests,
    }


def administer(
    contents: RegistryContents, operation: str, token: str, body: bytes
) -> tuple[HTTPStatus, dict[str, object]]:
    """Do one operation and return the response; `{"error": …}` if it failed."""
    if not secrets.compare_digest(token.encode(), contents.admin_token.encode()):
        return HTTPStatus.FORBIDDEN, {"error": "the admin token is not this registry's"}
    try:
        result = _operations(contents)[operation](*json.loads(body))
    except (ValueError, TypeError, AttributeError, LookupError, CannotTest) as error:
        return HTTPStatus.BAD_REQUEST, {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - a bug of the suite, which the caller must report
        return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"{operation} failed: {error!r}"}
    return HTTPStatus.OK, {"answer": to_plain(result)}
