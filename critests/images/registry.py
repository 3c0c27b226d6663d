"""The registry on loopback that serves the test images: pull-only, in threads of the process that
starts it.
"""

import socket
import sys
import threading
from http.server import ThreadingHTTPServer
from typing import Any, Self

from critests.images.admin import RegistryContents
from critests.images.build import Builder
from critests.images.distribution_api import DistributionHandler
from critests.images.ports import listen
from critests.images.registry_client import RegistryClient
from critests.loopback import in_references

_POLL_SECONDS = 0.2
"""How often the server checks whether it should stop."""


class RegistryServer:
    """A registry. It starts within milliseconds: an image is built at its first request.

    Args:
        port: See `ports.listen`.
    """

    def __init__(self, port: int | None = None) -> None:
        self.contents = RegistryContents(Builder())
        self.port = 0
        self._requested_port = port
        self._server: _Server | None = None

    @property
    def address(self) -> str:
        """`127.0.0.1:5010`, or `localhost:5010` for ::1, once started."""
        return self.contents.address

    def start(self) -> Self:
        """Listen and serve.

        Raises:
            RegistryPortTaken: The port is in use.
        """
        listener = listen(self._requested_port)
        host, self.port, *_ = listener.getsockname()
        self.contents.address = in_references(host, self.port)
        self.contents.serving = True
        self._server = _Server(listener, self.contents)
        threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="critests-registry", daemon=True
        ).start()
        return self

    def stop(self) -> None:
        """Close every connection and stop listening. Stopping twice does nothing."""
        if self._server:
            self.contents.serving = False
            self._server.end()
            self._server = None

    def client(self) -> RegistryClient:
        """Return a client of this registry, which another process can use too."""
        return RegistryClient(self.address, self.contents.admin_token)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    """A server with a thread for each connection; it stores its connections, to close those that a runtime
    leaves open.
    """

    daemon_threads = True

    def __init__(self, listener: socket.socket, contents: RegistryContents) -> None:
        super().__init__(listener.getsockname(), DistributionHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.contents = contents
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    def end(self) -> None:
        """Stop listening, and close every connection."""
        self.shutdown()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _shut(connection)
        self.server_close()

    # the types of socketserver
    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - see above
        """Serve a connection in a thread of its own."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    # the types of socketserver
    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - see above
        """Close a connection that has ended."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    # the types of socketserver
    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - see above
        """Ignore errors of clients that disconnected."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _shut(connection: socket.socket) -> None:
    """Wake the thread that reads from a connection; that may have closed it already."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
