"""The faults that reach beyond messages, made from what was read: logs and streaming sessions."""

from collections.abc import Callable

from critests.audit.exchange import Effect
from critests.audit.faults import LogFault, StreamFault


def make_effect(fault: LogFault | StreamFault, hit: Callable[[str], None]) -> Effect:
    """Return the effect of a fault.

    Args:
        fault: in the log or in streaming sessions.
        hit: is told the fault's text for every change that the effect makes outside of messages.
    """
    raise NotImplementedError
