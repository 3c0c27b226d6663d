"""Servers in pods, as targets of port-forward."""

from collections.abc import Callable

from critests.testing import Container

Serve = Callable[..., Container]
"""Takes a port, the command of a server, and `in_sandbox`; see the fixture `serve`."""
