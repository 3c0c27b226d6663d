"""A process of the node that decides over a container's system calls. The OCI runtime sends it the kernel's
notification file descriptor over a socket, as the OCI runtime specification defines it for `listenerPath`.

The kernel's request and response are `struct seccomp_notif` and `struct seccomp_notif_resp` of
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
"""The ioctl requests SECCOMP_IOCTL_NOTIF_RECV and SECCOMP_IOCTL_NOTIF_SEND."""
_NOTIFICATION_BYTES = 80  # the size of struct seccomp_notif
_RESPONSE = struct.Struct("=QqiI")  # id, val, error and flags of struct seccomp_notif_resp
_STATE_BYTES = 1 << 20
_POLL_SECONDS = 0.1  # the thread looks so often whether it has been stopped


class SeccompListener:
    """Listens at a path, and makes every system call fail for which the kernel notifies it.

    Attributes:
        path: of its socket.
        error: the number of the error with which system calls fail.
        states: of the container process, which the OCI runtime sends with each descriptor.
    """

    def __init__(self, path: Path, error: int) -> None:
        self.path = path
        self.error = error
        self.states: list[dict[str, Any]] = []
        self._descriptors: list[int] = []
        self._stopped = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening; later system calls with SCMP_ACT_NOTIFY fail with ENOSYS."""
        self._stopped.set()
        self._thread.join()
        self._socket.close()
        for descriptor in self._descriptors:
            os.close(descriptor)

    def _serve(self) -> None:
        while not self._stopped.is_set():
            waiting: list[socket.socket | int] = [self._socket, *self._descriptors]
            ready, _, _ = select.select(waiting, [], [], _POLL_SECONDS)
            for source in ready:
                if isinstance(source, int):
                    self._respond(source)
                else:
                    self._receive_descriptor()

    def _receive_descriptor(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            # 4 bytes: one file descriptor
            state, ancillary, _, _ = connection.recvmsg(_STATE_BYTES, socket.CMSG_SPACE(4))
            # the OCI runtime closes the connection after the state
            while piece := connection.recv(_STATE_BYTES):
                state += piece
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._descriptors += array.array("i", data)
        with contextlib.suppress(ValueError):
            self.states.append(json.loads(state))

    def _respond(self, descriptor: int) -> None:
        # the kernel requires zeros here, and returns EINVAL otherwise
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(descriptor, _RECEIVE, notification)
            (notification_id,) = struct.unpack_from("=Q", notification)
            fcntl.ioctl(descriptor, _SEND, _RESPONSE.pack(notification_id, 0, -self.error, 0))
        except OSError:
            # the process that made the call has exited, or all processes with the filter
            self._descriptors.remove(descriptor)
            os.close(descriptor)
