"""The effects of faults outside messages: logs, streaming sessions and plugins."""

from collections.abc import Callable

from critests_proof.language.faults import LogFault, StreamFault
from critests_proof.language.plugin_faults import PluginFault
from critests_proof.proxy.exchange import Effect
from critests_proof.proxy.logs import LogEffect
from critests_proof.proxy.plugins import PluginEffect
from critests_proof.proxy.stream_relay import StreamEffect


def make_effect(fault: LogFault | StreamFault | PluginFault, hit: Callable[[str], None]) -> Effect:
    """Return the effect of a fault.

    Args:
        fault: in logs, streaming sessions, or plugins.
        hit: called with the fault's text for every change that the effect makes.
    """
    if isinstance(fault, LogFault):
        return LogEffect(fault, lambda: hit(fault.text))
    if isinstance(fault, PluginFault):
        return PluginEffect(fault, lambda: hit(fault.text))
    return StreamEffect(fault, lambda: hit(fault.text))
