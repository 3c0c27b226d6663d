"""GEN: promises about every call of a pod's lifecycle."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from critests.api import api_pb2 as cri
from critests.fixtures.event_fixtures import SIGN_SECONDS
from critests.testing import (
    CREATED,
    Capability,
    ConditionNotMet,
    Containers,
    Events,
    Registry,
    Runtime,
    Sandbox,
    Sandboxes,
    requirement,
    requires,
)
from critests.validation.runtime.ordinary_calls import calls_after_start

PATIENCE_SECONDS = 5.0
"""Before scaling. Most of these calls take milliseconds, and a kubelet lists its pods every second; after
minutes without a list it reports its node as not ready.
"""


@requirement("GEN-18")
def test_successful_calls_can_be_repeated(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, registry: Registry
) -> None:
    """A call that has succeeded SHOULD succeed again with the same request, unless it creates or starts
    something.

    Source: StopContainer, RemoveContainer, StopPodSandbox and RemovePodSandbox, which are idempotent by the
    API; not stated of the others by the CRI: a client that lost the response calls again.
    """
    container = containers.running(in_sandbox=own_sandbox)

    for method, request in calls_after_start(runtime, container, registry.mint()):
        first = method(request)
        again = method(request)

        assert type(again) is type(first)


@requirement("GEN-19")
def test_calls_that_wait_for_nothing_return_in_time(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, registry: Registry
) -> None:
    """A call that has nothing to wait for SHOULD return within seconds.

    Source: not stated by the CRI; a kubelet lists its pods every second. The faster one of two calls counts,
    as the machine may be busy.
    """
    seconds: dict[str, list[float]] = defaultdict(list)

    def timed(method: Any, request: Any) -> Any:  # noqa: ANN401 - of any RPC
        call = runtime.timed(method, request)
        seconds[type(request).__name__.removesuffix("Request")].append(call.seconds)
        return call.response

    for again in (False, True):
        if again and not _late(seconds, runtime):
            break
        config, inner = sandboxes.config(), containers.config()
        response = timed(runtime.stub.RunPodSandbox, sandboxes.creation(config))
        pod = sandboxes.adopt(response.pod_sandbox_id, config)
        created = timed(runtime.stub.CreateContainer, containers.creation(inner, pod))
        container = containers.adopt(created.container_id, inner, pod)
        timed(runtime.stub.StartContainer, cri.StartContainerRequest(container_id=container.id))
        for method, request in calls_after_start(runtime, container, registry.mint()):
            timed(method, request)

    assert _late(seconds, runtime) == {}


def _late(seconds: Mapping[str, list[float]], runtime: Runtime) -> dict[str, list[float]]:
    """Return the RPCs of which no call was fast enough, with the seconds."""
    return {rpc: each for rpc, each in seconds.items() if min(each) > PATIENCE_SECONDS * runtime.scale}


@requirement("GEN-19")
@requires(Capability.EVENTS)
def test_new_event_client_receives_events_in_time(
    runtime: Runtime, events: Events, containers: Containers
) -> None:
    """GetContainerEvents SHOULD report, within seconds after the call, containers that are created from then
    on.

    Source: not stated by the CRI; the first events may come too early for a stream that has just begun. The
    faster one of two clients counts, as the machine may be busy.
    """
    assert _receives_events(runtime, events, containers) or _receives_events(runtime, events, containers)


def _receives_events(runtime: Runtime, events: Events, containers: Containers) -> bool:
    """Return whether a new client receives an event of one of the containers that are created in its first
    seconds.
    """
    begun = time.perf_counter()
    listener = events.connect()
    while time.perf_counter() - begun < (PATIENCE_SECONDS - SIGN_SECONDS) * runtime.scale:
        container = containers.created()
        with contextlib.suppress(ConditionNotMet):
            return bool(listener.first(container.id, CREATED, SIGN_SECONDS))
    return False
