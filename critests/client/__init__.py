"""How to talk to a CRI runtime: endpoints, deadlines, the recording of every call, and streaming sessions.

Names are imported when they are used: whoever only looks for an endpoint does not wait for gRPC.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from critests.client.call_recording import Call, Recorder
    from critests.client.connection import Connection, connect
    from critests.client.deadlines import Deadlines
    from critests.client.endpoint import Endpoint, EndpointError, EndpointMalformed, TlsFiles
else:
    _MODULES = {
        "connection": ("Connection", "connect"),
        "deadlines": ("Deadlines",),
        "endpoint": ("Endpoint", "EndpointError", "EndpointMalformed", "TlsFiles"),
        "recording": ("Call", "Recorder"),
    }

    def __getattr__(name: str) -> object:
        for module, names in _MODULES.items():
            if name in names:
                return getattr(importlib.import_module(f"{__name__}.{module}"), name)
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)


__all__ = [
    "Call",
    "Connection",
    "Deadlines",
    "Endpoint",
    "EndpointError",
    "EndpointMalformed",
    "Recorder",
    "TlsFiles",
    "connect",
]
