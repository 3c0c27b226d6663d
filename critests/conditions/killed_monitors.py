"""The condition `killed-monitors`: before which call of a test the shims or monitors of a pod are killed."""

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.conditions.once_per_test import OncePerTest
from critests.lifecycle.process import host_processes
from critests.runtimes.known_runtimes import monitors

NAMES: Final = ("pod_sandbox_id", "container_id")
"""The fields of requests with the sandbox or container that the call is about."""
ENDING: Final = (cri.StopPodSandboxRequest, cri.RemovePodSandboxRequest)
"""The requests that end a pod."""
CHANCE: Final = 0.5
"""Of a kill before such a call: a test makes one call of each kind for each of its pods, usually one."""
EARLIER_CHANCE: Final = 0.1
"""Of a kill before another call about the pod or one of its containers: most tests make four to ten."""
JUDGE: Final = "SBX-40/removed"
"""The aspect by which the call succeeds."""


@dataclass
class MonitorDraws(OncePerTest):
    """Draws before which call of a test the shims and monitors of its pod are killed."""

    def is_due(self, request: Message) -> bool:
        """Whether they are to be killed before the call with a request."""
        if self.is_over or not any(hasattr(request, name) for name in NAMES):
            return False
        return self.draws.random() < (CHANCE if isinstance(request, ENDING) else EARLIER_CHANCE)


def pod_of(request: Message, containers: Iterable[cri.Container]) -> str:
    """Return the sandbox that a request is about, as the client names it, or the one of its container; empty
    for neither.

    Args:
        request: of any RPC.
        containers: all of the runtime.
    """
    pod, container = (str(getattr(request, name, "")) for name in NAMES)
    return pod or next((each.pod_sandbox_id for each in containers if each.id == container), "")


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
