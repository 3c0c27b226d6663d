"""Runs each step: as which call, and while something below it is disturbed."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

import grpc

from critests.api import api_pb2 as cri
from critests.client.failures import code_of
from critests.explore.raw_calls import Calls
from critests.explore.session_steps import attach_session, exec_session
from critests.model import Step
from critests.model.observations import CallResult
from critests.model.steps import DAEMON_RESTARTS, EVENTS, NO_EVENTS, PROCESS_ENDS

ABOUT_ONE: Final[dict[str, tuple[Callable[..., Any], str]]] = {
    "StopPodSandbox": (cri.StopPodSandboxRequest, "pod_sandbox_id"),
    "RemovePodSandbox": (cri.RemovePodSandboxRequest, "pod_sandbox_id"),
    "PodSandboxStatus": (cri.PodSandboxStatusRequest, "pod_sandbox_id"),
    "RemoveContainer": (cri.RemoveContainerRequest, "container_id"),
    "ContainerStatus": (cri.ContainerStatusRequest, "container_id"),
    "ReopenContainerLog": (cri.ReopenContainerLogRequest, "container_id"),
}
"""RPCs whose request is only the id of a sandbox or of a container."""


def result_of(calls: Calls, step: Step) -> CallResult:
    """Run a step, with the disturbance that it asks for, and return its result."""
    disturbed: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if calls.daemon and step.failing:
        disturbed = calls.daemon.failing(step.failing)
    elif calls.daemon and step.hanging:
        disturbed = calls.daemon.hanging(step.hanging)
    with disturbed:
        try:
            return _about_one(calls, step) if step.rpc in ABOUT_ONE else RUN_STEP[step.rpc](calls, step)
        except grpc.RpcError as error:
            code, details = code_of(error)
            return CallResult(code, details=details)


def _about_one(calls: Calls, step: Step) -> CallResult:
    message, name = ABOUT_ONE[step.rpc]
    response = calls.call(step, message(**{name: calls.id_of(step.on)}))
    return CallResult(id=response.status.id) if step.rpc.endswith("Status") else CallResult()


def _without_result(message: Callable[[], Any]) -> Callable[[Calls, Step], CallResult]:
    """Return the function for an RPC of which neither request nor response matter."""

    def call(calls: Calls, step: Step) -> CallResult:
        calls.call(step, message())
        return CallResult()

    return call


RUN_STEP: Final[dict[str, Callable[[Calls, Step], CallResult]]] = {
    "RunPodSandbox": Calls.run_sandbox,
    "ListPodSandbox": Calls.list_sandboxes,
    "CreateContainer": Calls.create_container,
    "StartContainer": Calls.start_container,
    "StopContainer": Calls.stop_container,
    "ListContainers": Calls.list_containers,
    "ListPodSandboxStats": _without_result(cri.ListPodSandboxStatsRequest),
    "ListContainerStats": _without_result(cri.ListContainerStatsRequest),
    "ExecSync": Calls.exec_sync,
    "PullImage": Calls.pull_image,
    "RemoveImage": Calls.remove_image,
    "ImageStatus": Calls.image_status,
    PROCESS_ENDS: Calls.end_process,
    DAEMON_RESTARTS: Calls.restart_daemon,
    "Exec": exec_session,
    "Attach": attach_session,
    EVENTS: Calls.listen,
    NO_EVENTS: Calls.cancel_events,
}
"""The function that runs each step that is not in `ABOUT_ONE`."""
