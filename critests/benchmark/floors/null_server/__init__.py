"""A CRI server that does nothing, in a process of its own: what is left of a call when the runtime's part is
taken away.
"""

from critests.benchmark.floors.null_server.server import NullServer, NullServerFailed, start_null_server

__all__ = ["NullServer", "NullServerFailed", "start_null_server"]
