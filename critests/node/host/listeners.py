"""Which program listens on a unix socket: its process, its binary, the binary's hash and version."""

import hashlib
import os
import socket
import struct
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from critests.node.host.binaries import MissingProgram, version_text

_SECONDS = 3.0  # connect(2) waits while the listener's backlog is full
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid; unix(7)
_DELETED = " (deleted)"


@dataclass(frozen=True)
class SocketOwner:
    """The process that listens on a socket, as far as it is visible."""

    pid: int
    binary: str
    """Path of its executable; empty without permission to read it."""
    sha256: str
    """Of the running executable, even if the file has been replaced; empty without permission to read it."""
    version: str
    """Output of the binary with `--version`; empty if the file is gone or prints nothing."""


def pid_of_socket(path: Path) -> int | None:
    """Return the process that listens on a unix socket; None if it is in another PID namespace that is not
    visible.

    With socket activation it is systemd, which opened the socket.

    Raises:
        OSError: nothing accepts connections at the path.
    """
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(_SECONDS)
        connection.connect(str(path))
        pid, _, _ = _CREDENTIALS.unpack(
            connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
    return pid or None


def binary_of_process(pid: int) -> SocketOwner:
    """Return the binary of a process, with empty texts for invisible facts."""
    try:
        name = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115 - Path would remove the " (deleted)"
        with Path(f"/proc/{pid}/exe").open("rb") as executable:
            digest = hashlib.file_digest(executable, "sha256").hexdigest()
    except OSError:
        return SocketOwner(pid, "", "", "")
    if name.endswith(_DELETED):
        return SocketOwner(pid, name.removesuffix(_DELETED), digest, "")
    try:
        version = version_text(Path(name))
    except MissingProgram:
        version = ""
    return SocketOwner(pid, name, digest, version)
