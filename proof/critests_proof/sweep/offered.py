"""The RPCs that a runtime does not implement, found by calling them."""

from collections.abc import Iterable

import grpc

from critests.client.connection import Connection
from critests_proof.language.descriptors import RpcDescriptor, rpcs

SECONDS = 5.0


def absent(connection: Connection, names: Iterable[str]) -> frozenset[str]:
    """Return the RPCs that return UNIMPLEMENTED for an empty request.

    Args:
        connection: to the runtime.
        names: names of RPCs that may be called with an empty request.
    """
    return frozenset(name for name in names if _is_absent(connection, rpcs()[name]))


def _is_absent(connection: Connection, rpc: RpcDescriptor) -> bool:
    stub = connection.images if ".ImageService/" in rpc.path else connection.runtime
    try:
        answer = getattr(stub, rpc.name)(rpc.request(), timeout=SECONDS)
        if rpc.streams:
            next(answer, None)
            answer.cancel()
    except grpc.RpcError as error:
        return bool(error.code() is grpc.StatusCode.UNIMPLEMENTED)
    return False
