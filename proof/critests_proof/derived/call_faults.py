"""Faults in whole calls, in lists, in the order of streams, and in sessions and logs."""

from collections.abc import Iterator

from critests_proof.derived.fault import DerivedFault, Reach
from critests_proof.language.descriptors import RpcDescriptor, descriptor_of, held_enum
from critests_proof.language.faults import STREAMING_RPCS
from critests_proof.language.log_changes import LOG_CHANGES
from critests_proof.language.stream_changes import STREAM_CHANGES

LATE = "6s"
"""Delay of a response: GEN-19 limits it to five seconds."""
LATE_MESSAGE = "3s"
_CREATING = ("RunPodSandbox", "CreateContainer", "StartContainer", "RestorePod")
"""RPCs whose second call with the same request may fail, because the object exists already."""
_STATUS_OF_SESSIONS = {"status": '{"status":"Failure","message":"lost"}', "exit-code": "42"}
"""Changes to sessions that need a value."""


def call_faults(rpc: RpcDescriptor) -> Iterator[DerivedFault]:
    """Yield the faults of an RPC as a whole."""
    late = "delay" if rpc.streams else "delay-answer"
    ways = [
        ("does-nothing", "swallow", "says OK and does nothing", "call"),
        ("unimplemented", "error UNIMPLEMENTED", "is not there", "call"),
        ("wrong-code", "recode DATA_LOSS", "fails with another code", "error"),
        ("late", f"{late} {LATE}", "answers late", "call"),
        ("hangs", "hang", "does not answer", "call"),
    ]
    if rpc.name not in _CREATING:
        again = "error INTERNAL when repeated"
        ways.insert(3, ("not-idempotent", again, "fails when it is called again", "repeated"))
    for name, action, says, side in ways:
        yield DerivedFault(f"{rpc.name}:{name}", "call", f"{rpc.name}: {action}", says, Reach(rpc.name, side))


def list_faults(rpc: RpcDescriptor) -> Iterator[DerivedFault]:
    """Yield the faults of a list RPC; none for other RPCs."""
    lists = [field.name for field in descriptor_of(rpc.response).fields if field.is_repeated]
    if not rpc.name.startswith(("List", "Stream")) or not lists:
        return
    listed = f"{rpc.name}.response.{lists[0]}"
    filled = Reach(rpc.name, "response", lists[0])
    if "filter" in descriptor_of(rpc.request).fields_by_name:
        yield DerivedFault(
            f"{rpc.name}:filter-ignored",
            "list",
            f"{rpc.name}.request.filter: clear",
            "ignores the filter",
            Reach(rpc.name, "request", "filter"),
        )
    if not rpc.streams:
        says = {"lagging": "returns the previous response", "frozen": "returns the first response"}
        for action, words in says.items():
            yield DerivedFault(
                f"{rpc.name}:{action}",
                "list",
                f"{rpc.name}: {action}",
                words,
                Reach(rpc.name, "repeated"),
            )
    for name, action, says_it in (
        ("one-twice", "duplicate-first", "lists the first twice"),
        ("first-missing", "drop-first", "does not list the first"),
        ("last-missing", "drop-last", "does not list the last"),
    ):
        yield DerivedFault(f"{rpc.name}:{name}", "list", f"{listed}: {action}", says_it, filled)


def event_faults(rpc: RpcDescriptor) -> Iterator[DerivedFault]:
    """Yield the faults in the messages of a stream, for every kind of message; none for a unary RPC."""
    if not rpc.streams:
        return
    kinds = [
        (value.name, f" when response.{field.name}=={value.name}")
        for field in descriptor_of(rpc.response).fields
        if field.enum_type and not field.is_repeated
        for value in held_enum(field).values
    ]
    for kind, condition in kinds or [("message", "")]:
        for name, action, says in (
            ("lost", "drop", "is lost"),
            ("twice", "duplicate", "comes twice"),
            ("out-of-order", "postpone", "comes behind the next"),
            ("delayed", f"delay {LATE_MESSAGE}", "comes late"),
        ):
            yield DerivedFault(
                f"{rpc.name}.{kind}:{name}",
                "event",
                f"{rpc.name}.response: {action}{condition}",
                f"{kind} {says}",
                Reach(rpc.name),
            )


def session_faults() -> Iterator[DerivedFault]:
    """Yield the faults in streaming sessions."""
    for rpc in STREAMING_RPCS:
        for name, change in STREAM_CHANGES.items():
            given = _STATUS_OF_SESSIONS.get(name, "")
            yield DerivedFault(
                f"{rpc}.stream:{name}",
                "session",
                f"{rpc}.stream: {name} {given}".strip(),
                change.says,
                Reach(rpc),
            )


def log_faults() -> Iterator[DerivedFault]:
    """Yield the faults in the logs of containers."""
    for name, change in LOG_CHANGES.items():
        yield DerivedFault(
            f"log:{name}", "log", f"log: {name}", change.says, Reach("StartContainer"), (change.breaks,)
        )
