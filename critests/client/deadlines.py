"""The deadlines of calls."""

from dataclasses import dataclass

from google.protobuf.message import Message

from critests.api import api_pb2 as cri

READ_SECONDS = 10.0
"""For RPCs that are not in `SECONDS_BY_RPC`."""
STATISTICS_SECONDS = 30.0
"""Statistics may wait for a stop that is in progress, also one of another test."""
SECONDS_BY_RPC = {
    "ContainerStats": STATISTICS_SECONDS,
    "ListContainerStats": STATISTICS_SECONDS,
    "PodSandboxStats": STATISTICS_SECONDS,
    "ListPodSandboxStats": STATISTICS_SECONDS,
    "ListPodSandboxMetrics": STATISTICS_SECONDS,
    "RunPodSandbox": 60.0,
    "CreateContainer": 60.0,
    "StartContainer": 60.0,
    "StopPodSandbox": 20.0,  # some runtimes wait nearly that long for a process that ignores SIGTERM
    "RemovePodSandbox": 60.0,
    "RemoveContainer": 30.0,
    "PullImage": 120.0,
    "RemoveImage": 30.0,
    "CheckpointContainer": 120.0,
    "CheckpointPod": 120.0,
    "RestorePod": 120.0,
    "UpdateContainerResources": 30.0,
    "UpdatePodSandboxResources": 30.0,
}
STOP_MARGIN_SECONDS = 120.0
EXEC_SYNC_SECONDS = 60.0
STREAM_SECONDS = 60.0
PROBE_SECONDS = 5.0
"""For one call to an RPC that hung before."""
WITH_TIMEOUT = (cri.StopContainerRequest, cri.ExecSyncRequest)
"""Requests whose `timeout` is part of the call's duration."""


@dataclass(frozen=True)
class Deadlines:
    """The deadline of every call, scaled for slow machines.

    StopContainer gets its grace period and two more minutes, like in the kubelet's client. Some runtimes take
    the deadline of the call as their own timeout, so a deadline also changes their behaviour.

    Attributes:
        scale: factor on every deadline; 1.0 for a machine of ordinary speed.
        most: upper limit of every deadline, in seconds; None without a limit.
    """

    scale: float = 1.0
    most: float | None = None

    def seconds(self, rpc: str, request: Message | None = None) -> float:
        """Return the deadline of a call in seconds; the RPC is named as in the service definition."""
        usual = self._usual(rpc, request)
        return usual if self.most is None else min(usual, self.most)

    def _usual(self, rpc: str, request: Message | None) -> float:
        if rpc == "StopContainer":
            grace = max(0, int(getattr(request, "timeout", 0)))
            # at most an hour: a test sends a grace period of 2**31 s
            return min(grace, 3600) + STOP_MARGIN_SECONDS * self.scale
        if rpc == "ExecSync":
            return (EXEC_SYNC_SECONDS + max(0, int(getattr(request, "timeout", 0)))) * self.scale
        if rpc.startswith("Stream") or rpc == "GetContainerEvents":
            return STREAM_SECONDS * self.scale
        return SECONDS_BY_RPC.get(rpc, READ_SECONDS) * self.scale

    def probe_seconds(self, request: Message) -> float:
        """Return the deadline in seconds of a call to an RPC that hung before: the request's own timeout, and
        a little more.
        """
        requested = max(0, int(request.timeout)) if isinstance(request, WITH_TIMEOUT) else 0
        return requested + PROBE_SECONDS * self.scale
