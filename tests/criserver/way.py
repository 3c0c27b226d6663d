"""One way to be wrong: what stands between a client's call and its right answer."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Answer = Any  # a message, or an iterator of messages where the RPC streams


@dataclass
class Call:
    """One call on its way to the server."""

    rpc: str
    request: Any
    ask: Callable[[str, Any], Any]
    """Gets the right answer of an RPC to a request."""
    over: threading.Event
    """Set when the client has gone or the server stops."""
    die: Callable[[], None]
    """Ends the server as SIGKILL would."""

    def answer(self) -> Answer:
        """Return the right answer to this call."""
        return self.ask(self.rpc, self.request)


Act = Callable[[Call, str], Any]


@dataclass(frozen=True)
class Way:
    """One way to be wrong: what it does, what its argument is (empty where it takes none), and what makes
    it.
    """

    says: str
    argument: str
    make: Callable[[], Act]
