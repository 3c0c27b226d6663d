"""The condition `kills`: during which calls of a test the daemon is killed, and before which of its changes
to files.
"""

import select
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.conditions.once_per_test import OncePerTest
from critests.node.host import kill_at_write

CHANCE: Final = 0.25
"""Of a kill during a call: most tests make four to ten of these calls."""


@dataclass(frozen=True)
class KilledRequest:
    """A kind of request during which the daemon is killed.

    Attributes:
        judge: aspect that judges what follows.
        changes: about as many as a daemon makes to files for it.
    """

    judge: str
    changes: int


KILLED: Final[dict[type[Message], KilledRequest]] = {
    cri.RunPodSandboxRequest: KilledRequest("RST-14", 160),
    cri.CreateContainerRequest: KilledRequest("RST-14", 64),
    cri.PullImageRequest: KilledRequest("RST-14", 256),
    cri.StartContainerRequest: KilledRequest("RST-04/removable", 16),
    cri.StopContainerRequest: KilledRequest("RST-15", 32),
    cri.RemoveContainerRequest: KilledRequest("RST-15", 64),
    cri.StopPodSandboxRequest: KilledRequest("RST-15", 32),
    cri.RemovePodSandboxRequest: KilledRequest("RST-15", 64),
}
"""The numbers are those of containerd 2.3 and CRI-O 1.36. With fewer changes than were drawn, a call is not
interrupted, and a later call of the test may be.
"""
ATTACH_SECONDS: Final = 5.0
"""How long the tracer may take to start and to stop each thread of the daemon; usually 30 ms."""


@dataclass
class KillDraws(OncePerTest):
    """Draws where the daemon is killed during a test."""

    def change(self, request: Message) -> int:
        """Return before which of its changes for a request the daemon is to be killed, counted from 1; 0 for
        no kill.
        """
        killed = KILLED.get(type(request))
        if self.is_over or killed is None or self.draws.random() >= CHANCE:
            return 0
        return self.draws.randint(1, killed.changes)


class PlannedKill:
    """A process that kills the daemon before one of its changes; see `kill_at_write`."""

    def __init__(self, daemon: int, change: int, directories: Sequence[Path]) -> None:
        """Start it, and wait until it watches the daemon.

        Args:
            daemon: its process id.
            change: before which of its changes, counted from 1.
            directories: of the daemon.

        Raises:
            RuntimeError: it cannot trace the daemon.
        """
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", kill_at_write.__file__),
                *(str(daemon), str(change), *map(str, directories)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._killed_at: str | None = None
        output = self._process.stdout
        assert output is not None
        readable, _, _ = select.select([output], [], [], ATTACH_SECONDS)
        if not readable or output.readline() != b"ready\n":
            self.end()
            raise RuntimeError(f"the daemon, process {daemon}, cannot be traced by ptrace(2)")

    def end(self) -> str:
        """End it; return the system call before which it has killed the daemon, empty if it has not."""
        if self._killed_at is None:
            self._process.kill()
            out, _ = self._process.communicate()
            self._killed_at = out.decode().strip()
        return self._killed_at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
