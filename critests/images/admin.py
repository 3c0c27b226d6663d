"""The registry's other side, for the suite alone: making images and driving faults, over HTTP for every
worker.

Each operation is a POST to `/critests/<operation>` with the admin token in `X-Critests-Token` and a JSON
object in the body, answered by a JSON object. `registry_client.RegistryClient` is the only caller; the two
change together.
"""

import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from critests.exit_codes import CannotTest
from critests.images.catalogue import image_spec
from critests.images.contents import RegistryContents
from critests.images.faults import Access, Fault
from critests.images.repositories import MintedImage, UnknownRepositoryError

_Body = dict[str, Any]


def _mint(contents: RegistryContents, body: _Body) -> _Body:
    spec = image_spec(body["image"]).changed(body.get("changes") or {})
    tags = tuple(spec.tags if body.get("tags") is None else body["tags"])
    image = contents.builder.build(spec, salt=body.get("salt", ""), labels=body.get("labels") or {})
    contents.repositories.add(body["repository"], tags, image)
    return MintedImage(
        image=spec.name,
        registry=contents.address,
        repository=body["repository"],
        tags=tags,
        digest=image.top.digest,
        manifest_digest=image.native.digest if image.native else "",
        index_digest=image.top.digest if image.top not in image.manifests else "",
        config_digest=image.config.digest if image.config else "",
        layer_digests=tuple(layer.blob.digest for layer in image.layers),
        diff_ids=tuple(layer.diff_id for layer in image.layers),
        size=image.size,
    ).to_json()


def _tag(contents: RegistryContents, body: _Body) -> _Body:
    contents.repositories.move_tag(body["repository"], body["tag"], body["digest"])
    return {}


def _tags(contents: RegistryContents, body: _Body) -> _Body:
    return {"tags": contents.repositories.tags(body["repository"])}


def _copy(contents: RegistryContents, body: _Body) -> _Body:
    contents.repositories.copy(body["repository"], body["other"])
    return {}


def _remove(contents: RegistryContents, body: _Body) -> _Body:
    return {"removed": contents.repositories.remove(body["repository"])}


def _fault(contents: RegistryContents, body: _Body) -> _Body:
    contents.repositories.add_fault(body["repository"], Fault.from_json(body["fault"]))
    return {}


def _clear_faults(contents: RegistryContents, body: _Body) -> _Body:
    contents.repositories.clear_faults(body["repository"])
    return {}


def _access(contents: RegistryContents, body: _Body) -> _Body:
    contents.repositories.set_access(
        body["repository"], Access.from_json(body["access"]) if body.get("access") else None
    )
    return {}


def _requests(contents: RegistryContents, body: _Body) -> _Body:
    return {"requests": [request.to_json() for request in contents.repositories.requests(body["repository"])]}


def _reset_requests(contents: RegistryContents, body: _Body) -> _Body:
    contents.repositories.reset_requests(body["repository"])
    return {}


_OPERATIONS: dict[str, Callable[[RegistryContents, _Body], _Body]] = {
    "mint": _mint,
    "tag": _tag,
    "tags": _tags,
    "copy": _copy,
    "remove": _remove,
    "fault": _fault,
    "clear-faults": _clear_faults,
    "access": _access,
    "requests": _requests,
    "reset-requests": _reset_requests,
}


def administer(
    contents: RegistryContents, operation: str, token: str, body: bytes
) -> tuple[HTTPStatus, _Body]:
    """Do one operation and return the answer; `{"error": …}` where it could not be done."""
    if not secrets.compare_digest(token.encode(), contents.admin_token.encode()):
        return HTTPStatus.FORBIDDEN, {"error": "the admin token is not this registry's"}
    if operation not in _OPERATIONS:
        return HTTPStatus.NOT_FOUND, {"error": f"there is no operation {operation}"}
    try:
        return HTTPStatus.OK, _OPERATIONS[operation](contents, json.loads(body))
    except UnknownRepositoryError as error:
        status, problem = HTTPStatus.NOT_FOUND, str(error)
    except KeyError as error:
        status, problem = HTTPStatus.BAD_REQUEST, f"the operation {operation} needs {error}"
    except (ValueError, TypeError, AttributeError) as error:
        status, problem = HTTPStatus.BAD_REQUEST, str(error)
    except CannotTest as error:
        status, problem = HTTPStatus.SERVICE_UNAVAILABLE, str(error)
    except Exception as error:  # noqa: BLE001 - a mistake of ours, which whoever asked must hear of
        status, problem = HTTPStatus.INTERNAL_SERVER_ERROR, f"{operation} failed: {error!r}"
    return status, {"error": problem}
