"""The condition `killed-monitors`: before which calls of a test the shims or monitors of a pod are killed."""

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from critests.api import api_pb2 as cri
from critests.conditions.once_per_test import OncePerTest
from critests.lifecycle.process import host_processes
from critests.runtimes.known_runtimes import monitors

ENDING: Final = (cri.StopPodSandboxRequest, cri.RemovePodSandboxRequest)
"""The requests before which they are killed."""
CHANCE: Final = 0.5
"""Of a kill before a call: a test makes one call of each kind for each of its pods, usually one."""
JUDGE: Final = "SBX-40/removed"
"""The aspect by which the call succeeds."""


@dataclass
class MonitorDraws(OncePerTest):
    """Draws before which call of a test the shims and monitors of its pod are killed."""

    def is_due(self) -> bool:
        """Whether they are to be killed before the next of these calls."""
        return not self.is_over and self.draws.random() < CHANCE


def kill_monitors(ids: Iterable[str]) -> int:
    """Kill the shims and monitors whose command line has one of these ids; return their number."""
    names = tuple(monitor.name for monitor in monitors())
    killed = 0
    for id_ in ids:
        for pid, command in host_processes(id_).items():
            program = command.partition(" ")[0].rpartition("/")[2]
            if program.startswith(names):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
    return killed
