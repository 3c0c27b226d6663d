"""Details of a failed RPC: its name, whether it hung, and a message."""

import grpc

from critests.client.hangs import StillHangs


class CallNotAllowed(Exception):
    """A call that may change something was not sent, because the user allows reading only."""


def name_the_rpc(error: BaseException, rpc: str) -> None:
    """Note the name of the RPC on its error, so that a failed test can be traced to its cause."""
    # grpcio raises its call object, which does not have the field
    error.critests_rpc = rpc  # type: ignore[attr-defined]  # see above


def failed_rpc(error: BaseException) -> str:
    """Return the RPC that `name_the_rpc` noted on an error, or an empty string."""
    return str(getattr(error, "critests_rpc", ""))


def note_the_hang(error: BaseException, seconds: float) -> None:
    """Note on an error that its call used up its deadline."""
    # as above
    error.critests_hung = round(seconds, 1)  # type: ignore[attr-defined]  # see above


def hung_for(error: BaseException) -> float:
    """Return how long a call without a response took, in seconds; 0 if it had one or was not made."""
    return float(getattr(error, "critests_hung", 0.0))


def is_a_hang(error: BaseException) -> bool:
    """Whether an error means that its RPC hangs: its deadline passed, or it was not called."""
    return isinstance(error, StillHangs) or hung_for(error) > 0


def in_words(error: grpc.RpcError) -> str:
    """Return a message for a failed RPC: its code and the runtime's message, or how long it had no
    response.
    """
    rpc, waited = failed_rpc(error), hung_for(error)
    if waited:
        return f"{rpc} did not answer within {waited:g} s"
    code, details = code_of(error)
    return (
        details
        if isinstance(error, StillHangs)
        else f"{rpc} failed with {code}: {details[:500] or 'no message'}"
    )


def code_of(error: grpc.RpcError) -> tuple[str, str]:
    """Return the name of an error's code, and the runtime's message."""
    code = error.code() if hasattr(error, "code") else None
    details = error.details() if hasattr(error, "details") else str(error)
    return (code.name if code is not None else "UNKNOWN"), details or ""
