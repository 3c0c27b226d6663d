"""One way to be wrong: code between a client's call and its right response."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Answer = Any  # a message, or an iterator of messages for a streaming RPC


@dataclass
class Call:
    """One call before it reaches the server."""

    rpc: str
    request: Any
    ask: Callable[[str, Any], Any]
    """Returns the right response of an RPC to a request."""
    over: threading.Event
    """Set when the client disconnects or the server stops."""
    die: Callable[[], None]
    """Ends the server like SIGKILL."""

    def answer(self) -> Answer:
        """Return the right response to this call."""
        return self.ask(self.rpc, self.request)


Act = Callable[[Call, str], Any]


@dataclass(frozen=True)
class Way:
    """One way to be wrong: its description, the name of its argument (empty for none), and a function that
    creates it.
    """

    description: str
    argument: str
    make: Callable[[], Act]
