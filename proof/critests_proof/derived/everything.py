"""All derived faults, each once, with the requirements that it breaks."""

import dataclasses
import functools
from collections.abc import Iterator

from critests_proof.derived import call_faults, messages
from critests_proof.derived.broken_requirements import broken_by
from critests_proof.derived.fault import DerivedFault
from critests_proof.language.descriptors import rpcs


@functools.cache
def derived_faults() -> tuple[DerivedFault, ...]:
    """Return every fault, in the order of the API; of duplicates the first one."""
    once: dict[str, DerivedFault] = {}
    for fault in _all():
        once.setdefault(fault.text, fault)
    return tuple(
        dataclasses.replace(fault, breaks=fault.breaks or broken_by(fault.id, fault.reach))
        for fault in once.values()
    )


def _all() -> Iterator[DerivedFault]:
    for rpc in rpcs().values():
        yield from call_faults.call_faults(rpc)
        yield from call_faults.list_faults(rpc)
        yield from call_faults.event_faults(rpc)
        yield from messages.request_faults(rpc)
        yield from messages.response_faults(rpc)
    yield from call_faults.session_faults()
    yield from call_faults.log_faults()
