"""The stubs of CRI v1, made from the compiled descriptor: protoc would write two thousand lines for them. The
types are in `api_pb2_grpc.pyi`.
"""

from typing import Any

import grpc

from critests.api import api_pb2


class _Stub:
    """A callable for each RPC of a service, by its name."""

    service: str

    def __init__(self, channel: grpc.Channel) -> None:
        service = api_pb2.DESCRIPTOR.services_by_name[self.service]
        for method in service.methods:
            # a channel of gRPC takes more arguments than its public type has
            opened: Any = channel.unary_stream if method.server_streaming else channel.unary_unary
            call = opened(
                f"/{service.full_name}/{method.name}",
                request_serializer=getattr(api_pb2, method.input_type.name).SerializeToString,
                response_deserializer=getattr(api_pb2, method.output_type.name).FromString,
                _registered_method=True,
            )
            setattr(self, method.name, call)


class RuntimeServiceStub(_Stub):
    """Pods and containers, the streaming addresses, statistics, and the runtime itself."""

    service = "RuntimeService"


class ImageServiceStub(_Stub):
    """Images: pulling, listing, removing, and the space they take."""

    service = "ImageService"
