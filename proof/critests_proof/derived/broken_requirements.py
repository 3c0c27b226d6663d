"""The requirements that a derived fault breaks, found by the words of the catalogue."""

import functools
import re
from collections import defaultdict

from critests.catalogue.loading import load
from critests.catalogue.requirements import Requirement
from critests.catalogue.rpcs import rpc_of
from critests_proof.derived.fault import Reach

_VAGUE = frozenset({"id", "name", "value", "key", "state", "type", "status", "config", "metadata", "message"})
"""Field names of many messages: a requirement must also name the message."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


OF_EVERY_CALL = {"not-idempotent": ("GEN-18",), "late": ("GEN-19",)}
"""Last part of a fault's id to the requirements that it breaks for any RPC."""


def broken_by(fault: str, reach: Reach) -> tuple[str, ...]:
    """Return the requirements about the place where a fault acts, in the catalogue's order.

    For a call as a whole this is the requirement that judges the basic function of the RPC, unless one about
    this fault in all calls exists.

    Args:
        fault: its id.
        reach: where it acts.
    """
    if not reach.path:
        what = fault.rpartition(":")[2]
        if what in OF_EVERY_CALL:
            return OF_EVERY_CALL[what]
        rpc = rpc_of(reach.rpc)
        return (rpc.judge,) if rpc is not None else ()
    names = [step.removesuffix("[]") for step in reach.path.split(".")]
    needed = set(names[-2:] if names[-1] in _VAGUE else names[-1:])
    if needed <= _VAGUE:
        needed.add(reach.rpc)
    return tuple(
        entry.id
        for entry, words in _speaking_of().get(names[-1], ())
        if needed <= words and (not entry.rpcs or reach.rpc in entry.rpcs)
    )


@functools.cache
def _speaking_of() -> dict[str, list[tuple[Requirement, frozenset[str]]]]:
    """Return the requirements by each word of their `fields` and `rpcs`."""
    found: dict[str, list[tuple[Requirement, frozenset[str]]]] = defaultdict(list)
    for entry in load().requirements:
        words = frozenset(_WORD.findall(entry.fields))
        for word in words:
            found[word].append((entry, words))
    return found
