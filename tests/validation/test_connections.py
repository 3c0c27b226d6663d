"""The sockets of the tests: the search for an ephemeral port finds an open one, and nothing if there is
none.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from critests.validation.networking.connections import Node

WORD = "critests-says-so"


@pytest.fixture
def port() -> Iterator[int]:
    """An ephemeral port whose server sends a word to each client."""
    with socket.create_server((Node(1.0).address, 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client:
                        client.sendall(WORD.encode())

        server_thread = threading.Thread(target=serve)
        server_thread.start()
        yield int(server.getsockname()[1])
        # ends the accept, which close does not
        server.shutdown(socket.SHUT_RDWR)
        server_thread.join()


def test_an_ephemeral_port_is_found_by_what_its_server_sends(port: int) -> None:
    node = Node(3.0)
    assert node.ephemeral_port_that_sends(WORD) == port
    assert node.ephemeral_port_that_sends("something else") is None
