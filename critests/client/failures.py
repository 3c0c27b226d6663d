"""What an RPC that failed says of itself: which one it was, whether it hung, and why, in words."""

import grpc

from critests.client.hangs import StillHangs


class CallNotAllowed(Exception):
    """A call that may change something was not sent, because the user allows reading only."""


def name_the_rpc(error: BaseException, rpc: str) -> None:
    """Note on an error which RPC it came from, so that a failed test can be traced to its cause."""
    # grpcio raises its call object, which has no such field of its own
    error.critests_rpc = rpc  # type: ignore[attr-defined]  # see above


def failed_rpc(error: BaseException) -> str:
    """Return the RPC that `name_the_rpc` noted on an error, or an empty string."""
    return str(getattr(error, "critests_rpc", ""))


def note_the_hang(error: BaseException, seconds: float) -> None:
    """Note on an error that its call let a whole deadline pass."""
    # as above
    error.critests_hung = round(seconds, 1)  # type: ignore[attr-defined]  # see above


def hung_for(error: BaseException) -> float:
    """Return the seconds that a call was waited for in vain, 0 where it was answered or not made."""
    return float(getattr(error, "critests_hung", 0.0))


def is_a_hang(error: BaseException) -> bool:
    """Say whether an error means that its RPC hangs: a whole deadline passed, or it was not called."""
    return isinstance(error, StillHangs) or hung_for(error) > 0


def in_words(error: grpc.RpcError) -> str:
    """Say what an RPC failed with: its code and the runtime's words, or how long it was silent."""
    rpc, waited = failed_rpc(error), hung_for(error)
    if waited:
        return f"{rpc} did not answer within {waited:g} s"
    code, details = code_of(error)
    return (
        details
        if isinstance(error, StillHangs)
        else f"{rpc} failed with {code}: {details[:500] or 'no words'}"
    )


def code_of(error: grpc.RpcError) -> tuple[str, str]:
    """Return the name of an error's code, and the runtime's words."""
    code = error.code() if hasattr(error, "code") else None
    details = error.details() if hasattr(error, "details") else str(error)
    return (code.name if code is not None else "UNKNOWN"), details or ""
