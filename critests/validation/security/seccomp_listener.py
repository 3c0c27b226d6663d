"""A process of the node that decides over a container's system calls: the OCI runtime hands it the kernel's
notification file descriptor over a socket, as the OCI runtime specification has it for `listenerPath`.

What the kernel tells and wants to be told are `struct seccomp_notif` and `struct seccomp_notif_resp` of
seccomp_unotify(2).
"""

import array
import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import threading
from pathlib import Path
from typing import Any, Self

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTIFICATION_BYTES = 80
_RESPONSE = struct.Struct("=QqiI")
_LONGEST_STATE = 1 << 20
_TURN_SECONDS = 0.1


class SeccompListener:
    """Listens at a path, and lets every system call that it is asked about fail with one error.

    Attributes:
        path: of its socket.
        error: the number of that error.
        states: what OCI runtimes have told of each process whose descriptor they handed over.
    """

    def __init__(self, path: Path, error: int) -> None:
        self.path = path
        self.error = error
        self.states: list[dict[str, Any]] = []
        self._open: list[int] = []
        self._over = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it; system calls that ask from now on fail with ENOSYS."""
        self._over.set()
        self._thread.join()
        self._socket.close()
        for descriptor in self._open:
            os.close(descriptor)

    def _serve(self) -> None:
        while not self._over.is_set():
            waiting: list[socket.socket | int] = [self._socket, *self._open]
            ready, _, _ = select.select(waiting, [], [], _TURN_SECONDS)
            for found in ready:
                if isinstance(found, int):
                    self._decide(found)
                else:
                    self._take_over()

    def _take_over(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            said, ancillary, _, _ = connection.recvmsg(_LONGEST_STATE, socket.CMSG_SPACE(4))
            while more := connection.recv(_LONGEST_STATE):
                said += more
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._open += array.array("i", data)
        with contextlib.suppress(ValueError):
            self.states.append(json.loads(said))

    def _decide(self, descriptor: int) -> None:
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(descriptor, _RECEIVE, notification)
            (asked,) = struct.unpack_from("=Q", notification)
            fcntl.ioctl(descriptor, _SEND, _RESPONSE.pack(asked, 0, -self.error, 0))
        except OSError:
            # the process that asked has ended, or all that could ask
            self._open.remove(descriptor)
            os.close(descriptor)
