"""The sandbox image of a runtime: if it is neither on the node nor can be pulled, no pod starts. That is a
problem of the node, not a failure of the runtime.
"""

import contextlib
import re

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.client.failures import is_a_hang
from critests.lifecycle.requests import RequestBuilder, pulling
from critests.lifecycle.sandbox import Sandbox

_REFERENCE = re.compile(r"[\w.-]+(?::\d+)?(?:/[\w.-]+)+(?::\w[\w.-]*|@sha256:[0-9a-f]{64})")
"""An image with a registry or a path, and a tag or a digest, in a sentence."""
_MOST = 3
"""How many images of a sentence are looked up."""


def missing_sandbox_image(connection: Connection, requests: RequestBuilder, handler: str) -> str:
    """Return which sandbox image a runtime lacks and cannot pull; empty if it can create a sandbox, or fails
    for another reason, which the tests report.

    A sandbox is created in any case, because similar or pinned images may belong to another release or
    configuration. If that fails, the error message is searched for image names: a missing image is one that
    the runtime does not have and fails to pull.

    Args:
        connection: to the runtime.
        requests: builds the sandbox.
        handler: of the sandbox; empty for the default.

    Returns:
        What is missing, and what would help.
    """
    try:
        Sandbox.run(connection, requests.sandbox("probe-sandbox-image"), handler).discard()
    except grpc.RpcError as error:
        if is_a_hang(error):
            return ""
        for reference in list(dict.fromkeys(_REFERENCE.findall(error.details() or "")))[:_MOST]:
            if why := why_not_available(connection, reference):
                return (
                    f"the runtime makes no sandbox without the image {reference}, which is not on this node,"
                    f" and to pull it fails ({why}). Bring it here (an archive of it, or a registry that the"
                    " runtime reaches), or name an image that is here in the runtime's configuration"
                    " (containerd: pinned_images.sandbox, before 2.0 sandbox_image; CRI-O: pause_image;"
                    " cri-dockerd: --pod-infra-container-image)"
                )
    return ""


def why_not_available(connection: Connection, reference: str) -> str:
    """Return why the runtime cannot get an image; empty where it has it, or gets it now."""
    with contextlib.suppress(grpc.RpcError):
        wanted = cri.ImageStatusRequest(image=cri.ImageSpec(image=reference))
        if connection.images.ImageStatus(wanted).HasField("image"):
            return ""
        try:
            connection.images.PullImage(pulling(reference))
        except grpc.RpcError as error:
            return error.details() or error.code().name
    return ""
