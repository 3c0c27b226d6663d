"""What grpcio raises for a call that failed."""

import grpc

from critests.client.failures import name_the_rpc


class Refused(grpc.RpcError):
    """The error of a call, which notes its RPC if there is a name."""

    def __init__(
        self, code: grpc.StatusCode = grpc.StatusCode.UNKNOWN, details: str = "no", rpc: str = ""
    ) -> None:
        super().__init__()
        self._code, self._details = code, details
        if rpc:
            name_the_rpc(self, rpc)

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details
