"""How to talk to a CRI runtime: endpoints, deadlines, the recording of every call, and streaming sessions."""

from critests.client.connection import Connection, connect
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint, EndpointError, EndpointMalformed, TlsFiles
from critests.client.recording import Call, Recorder

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
