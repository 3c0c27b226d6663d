"""Faults in requests and responses: every field lost, in part or as a whole, or with another value."""

from collections.abc import Iterator

from critests_proof.derived.fault import DerivedFault, Reach
from critests_proof.derived.fields import ReachedField, fields_of
from critests_proof.language.descriptors import RpcDescriptor

HOUR_NANOSECONDS = 3600 * 10**9
_TIMES = ("_at", "timestamp")
_MEASURED = ("Usage", "Stats", "UInt64Value", "Metric", "Psi")
"""Parts of the names of messages with measurements: there a difference of one is not an error, but another
unit is.
"""
_ALWAYS_THERE = frozenset({"number", "bool", "enum"})
"""Kinds that always have a value, because proto3 does not distinguish 0 from an unset field."""


def request_faults(rpc: RpcDescriptor) -> Iterator[DerivedFault]:
    """Yield the faults of an RPC that ignores or changes fields of its request."""
    for field in fields_of(rpc, "request"):
        reach = Reach(rpc.name, "request", field.path)
        yield DerivedFault(
            f"{field.target}:ignored", "request", f"{field.target}: clear", f"ignores {field.path}", reach
        )
        if field.kind in {"list", "map"}:
            yield DerivedFault(
                f"{field.target}:one-ignored",
                "request",
                f"{field.target}: drop-first",
                f"ignores the first of {field.path}",
                reach,
            )
        # false is the same as unset, and `ignored` covers the loss of true
        elif field.kind not in {"message", "bool"}:
            yield DerivedFault(
                f"{field.target}:mistaken",
                "request",
                f"{field.target}: {_other_value(field, field.kind)}{_where_set(field)}",
                f"takes {field.path} for another value",
                reach,
            )


def response_faults(rpc: RpcDescriptor) -> Iterator[DerivedFault]:
    """Yield the faults of an RPC that reports fields wrongly or not at all."""
    for field in fields_of(rpc, "response"):
        filled = Reach(rpc.name, "response", field.path)
        yield DerivedFault(
            f"{field.target}:missing",
            "response",
            f"{field.target}: clear",
            f"does not report {field.path}",
            filled,
        )
        for name, target, action, says in _wrong(field):
            # 0 times a thousand is 0, and an unset time stays unset
            always = field.kind in _ALWAYS_THERE and not action.startswith(("times", "add -"))
            held = Reach(rpc.name, "response", field.parent) if always else filled
            yield DerivedFault(f"{field.target}:{name}", "response", f"{target}: {action}", says, held)


def _wrong(field: ReachedField) -> Iterator[tuple[str, str, str, str]]:
    """Yield the ways to report a field wrongly: name, target, action, and what the runtime does."""
    path, target = field.path, field.target
    match field.kind:
        case "message":
            return
        case "list":
            yield "one-missing", target, "drop-first", f"does not report the first of {path}"
            yield "one-twice", target, "duplicate-first", f"reports the first of {path} twice"
            if field.element_kind != "message":
                action = _other_value(field, field.element_kind)
                yield "wrong", f"{target}[]", action, f"reports other {path}"
        case "map":
            yield "one-missing", target, "drop-first", f"does not report the first of {path}"
            yield "wrong", f"{target}[]", "change-last", f"reports other values in {path}"
        case kind:
            yield "wrong", target, _other_value(field, kind), f"reports another {path}"


def _other_value(field: ReachedField, kind: str) -> str:
    """Return the action that sets a field to another value of its type."""
    name, holder = field.field.name, field.field.containing_type
    assert holder is not None
    match kind:
        case "bool":
            return "toggle"
        case "enum":
            return "next"
        case "number" if name.endswith(_TIMES):
            return f"add -{HOUR_NANOSECONDS}"
        case "number" if any(word in holder.name for word in _MEASURED):
            return "times 1000"
        case "number":
            return "add 1"
    return "change-last"


def _where_set(field: ReachedField) -> str:
    """Return the condition that a request sets the field."""
    return f" when request.{field.path}" if field.kind in _ALWAYS_THERE else ""
