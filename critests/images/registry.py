"""The registry on loopback that serves the test images: pull-only, in threads of the process that starts
it.
"""

import socket
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from critests.images.build import Builder
from critests.images.contents import RegistryContents
from critests.images.distribution import DistributionHandler
from critests.images.ports import listen
from critests.images.registry_client import RegistryClient

_END_SECONDS = 5.0


class RegistryServer:
    """A registry. Starting takes milliseconds: an image is built when it is first asked for.

    Args:
        port: See `ports.listen`.
        busybox: See `rootfs.find_busybox`.
    """

    def __init__(self, port: int | None = None, *, busybox: Path | None = None) -> None:
        self.contents = RegistryContents(Builder(busybox=busybox))
        self.port = 0
        self._wanted_port = port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """`127.0.0.1:5010`, once started."""
        return self.contents.address

    def start(self) -> Self:
        """Listen and serve.

        Raises:
            RegistryPortTaken: The port is another's.
        """
        listener = listen(self._wanted_port)
        self.port = int(listener.getsockname()[1])
        self.contents.address = f"127.0.0.1:{self.port}"
        self.contents.serving = True
        self._server = _Server(listener, self.contents)
        self._thread = threading.Thread(target=self._server.serve, name="critests-registry", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End every connection and stop listening. Stopping twice does nothing."""
        if not self._server or not self._thread:
            return
        self.contents.serving = False
        self._server.end()
        self._thread.join(_END_SECONDS)
        self._server = self._thread = None

    def client(self) -> RegistryClient:
        """Return what drives this registry, also from another process (see `RegistryClient.to_json`)."""
        return RegistryClient(self.address, self.contents.admin_token)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    """A thread for each connection; it knows its connections, so that it can end those that a runtime keeps
    open.
    """

    daemon_threads = True

    def __init__(self, listener: socket.socket, contents: RegistryContents) -> None:
        super().__init__(listener.getsockname(), DistributionHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.contents = contents
        self._connections: set[socket.socket] = set()
        self._workers: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Accept connections until `end`."""
        while self.contents.serving:
            self.handle_request()

    def end(self) -> None:
        """End every connection and the accepting thread, which waits for one connection more."""
        try:
            socket.create_connection(self.socket.getsockname(), timeout=1).close()
        finally:
            with self._lock:
                going, workers = list(self._connections), list(self._workers)
            for connection in going:
                _shut(connection)
            for worker in workers:
                worker.join(_END_SECONDS)
            self.server_close()

    # the types of socketserver
    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - see above
        """Serve a connection in a thread of its own."""
        worker = threading.Thread(
            target=self._work,
            args=(request, client_address),
            name="critests-registry-connection",
            daemon=True,
        )
        with self._lock:
            self._connections.add(request)
            self._workers.add(worker)
            worker.start()  # before anybody may join it

    # the types of socketserver
    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - see above
        """Say nothing of a client that went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    # the types of socketserver
    def _work(self, request: socket.socket, client_address: Any) -> None:  # noqa: ANN401 - see above
        try:
            self.process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._connections.discard(request)
                self._workers.discard(threading.current_thread())


def _shut(connection: socket.socket) -> None:
    """Wake the thread that reads from a connection; it may just have closed it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
