"""A connection with nothing between the caller and gRPC: no recording, no deadlines. For what is timed."""

from dataclasses import dataclass

import grpc

from critests.api import api_pb2_grpc as cri_grpc
from critests.client.connection import RECEIVE_LIMIT_BYTES, open_channel
from critests.client.endpoint import Endpoint, TlsFiles


@dataclass(frozen=True)
class PlainConnection:
    """An open connection whose stubs are gRPC's own.

    Attributes:
        runtime: stub of RuntimeService; a call without `timeout` may wait for ever.
        images: stub of ImageService, likewise.
        channel: below `runtime`.
        image_channel: below `images`; the same where there is one endpoint.
    """

    runtime: cri_grpc.RuntimeServiceStub
    images: cri_grpc.ImageServiceStub
    channel: grpc.Channel
    image_channel: grpc.Channel

    def close(self) -> None:
        """Close both channels; calls under way end with CANCELLED."""
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
        receive_limit_bytes: the largest answer that is accepted.
    """
    channel = open_channel(endpoint, tls, receive_limit_bytes)
    image_channel = channel
    if image_endpoint is not None and image_endpoint != endpoint:
        image_channel = open_channel(image_endpoint, tls, receive_limit_bytes)
    return PlainConnection(
        cri_grpc.RuntimeServiceStub(channel), cri_grpc.ImageServiceStub(image_channel), channel, image_channel
    )
