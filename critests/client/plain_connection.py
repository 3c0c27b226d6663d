"""A connection without recording and deadlines, directly on gRPC, for what is timed."""

from dataclasses import dataclass

import grpc

from critests.api import api_pb2_grpc as cri_grpc
from critests.client.connection import RECEIVE_LIMIT_BYTES, open_channel
from critests.client.endpoint import Endpoint, TlsFiles


@dataclass(frozen=True)
class PlainConnection:
    """An open connection with gRPC's own stubs.

    Attributes:
        runtime: stub of RuntimeService; a call without `timeout` may wait forever.
        images: stub of ImageService; a call without `timeout` may wait forever.
        channel: of `runtime`.
        image_channel: of `images`; the same if there is one endpoint.
    """

    runtime: cri_grpc.RuntimeServiceStub
    images: cri_grpc.ImageServiceStub
    channel: grpc.Channel
    image_channel: grpc.Channel

    def close(self) -> None:
        """Close both channels; pending calls end with CANCELLED."""
        self.channel.close()
        if self.image_channel is not self.channel:
            self.image_channel.close()


def plain_stubs(
    endpoint: Endpoint,
    image_endpoint: Endpoint | None = None,
    tls: TlsFiles | None = None,
    *,
    receive_limit_bytes: int = RECEIVE_LIMIT_BYTES,
) -> PlainConnection:
    """Open a connection without recording; nothing is sent before the first call. Open it in the process that
    uses it, after any fork.

    Args:
        endpoint: of the runtime service.
        image_endpoint: of the image service; the same by default.
        tls: certificates for `tcp:` endpoints.
        receive_limit_bytes: the largest response that is accepted.
    """
    channel = open_channel(endpoint, tls, receive_limit_bytes)
    image_channel = channel
    if image_endpoint is not None and image_endpoint != endpoint:
        image_channel = open_channel(image_endpoint, tls, receive_limit_bytes)
    return PlainConnection(
        cri_grpc.RuntimeServiceStub(channel), cri_grpc.ImageServiceStub(image_channel), channel, image_channel
    )
