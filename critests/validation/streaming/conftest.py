"""Fixtures of the tests of streaming."""

import pytest

from critests.testing import Container, Containers, Runtime, Sandbox, yielding
from critests.validation.streaming.serving import Serve


@pytest.fixture
def serve(runtime: Runtime, containers: Containers) -> Serve:
    """Run a server in a pod and wait until it listens: an echo server, or another one by its command."""

    def start(port: int, *command: str, in_sandbox: Sandbox | None = None) -> Container:
        server = command or ("nc", "-ll", "-p", str(port), "-e", "cat")
        # `nc -ll` serves further clients; yielding() because PID 1 ignores SIGTERM without a handler for it
        container = containers.running(command=yielding(*server), in_sandbox=in_sandbox)
        runtime.eventually(
            f"a listener at port {port}",
            lambda: container.output("netstat", "-ltn"),
            holds=lambda seen: f":{port} " in seen,
        )
        return container

    return start
