"""The sockets of the tests: a port that was given away at random is found, and none where there is none."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from critests.validation.networking.connections import Node

WORD = "critests-says-so"


@pytest.fixture
def port() -> Iterator[int]:
    """A port that the kernel gave away, at which a word is said to everybody who comes."""
    with socket.create_server((Node(1.0).address, 0)) as server:

        def speak() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client:
                        client.sendall(WORD.encode())

        speaker = threading.Thread(target=speak)
        speaker.start()
        yield int(server.getsockname()[1])
        # wakes it up, which a plain close does not
        server.shutdown(socket.SHUT_RDWR)
        speaker.join()


def test_a_port_among_all_that_the_kernel_gives_away_is_found_by_what_it_says(port: int) -> None:
    node = Node(3.0)
    assert node.port_that_says(WORD) == port
    assert node.port_that_says("something else") is None
