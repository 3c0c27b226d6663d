"""GEN: what holds for every call of a pod's ordinary life."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.events import CREATED, SIGN_SECONDS, Events
from critests.fixtures.images import Registry
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.sandboxes import Sandbox
from critests.lifecycle.waiting import ConditionNotMet
from critests.run.marks import requirement, requires
from critests.validation.runtime.ordinary_calls import after_the_start

PATIENCE_SECONDS = 5.0
"""Before scaling. Most of these calls take milliseconds, and a kubelet that asks every second for its pods is
said to be broken after minutes.
"""


@requirement("GEN-18")
def test_every_ordinary_call_can_be_made_once_more(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, registry: Registry
) -> None:
    """A call that has succeeded SHOULD succeed once more with the same request, unless it makes or starts
    something.

    Source: StopContainer, RemoveContainer, StopPodSandbox and RemovePodSandbox, which the API calls
    idempotent; not stated of the others by the CRI: a client that lost the answer asks again.
    """
    container = containers.running(in_sandbox=own_sandbox)

    for method, request in after_the_start(runtime, container, registry.mint()):
        first = method(request)
        again = method(request)

        assert type(again) is type(first)


@requirement("GEN-19")
def test_no_ordinary_call_takes_long(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, registry: Registry
) -> None:
    """A call that has nothing to wait for SHOULD be answered within seconds.

    Not stated by the CRI; a kubelet asks for its pods every second. The quicker one of two calls counts, on a
    machine that may be busy.
    """
    took: dict[str, list[float]] = defaultdict(list)

    def timed(method: Any, request: Any) -> Any:  # noqa: ANN401 - of any RPC
        call = runtime.timed(method, request)
        took[type(request).__name__.removesuffix("Request")].append(call.seconds)
        return call.response

    for again in (False, True):
        if again and not _late(took, runtime):
            break
        config, inner = sandboxes.config(), containers.config()
        answer = timed(runtime.stub.RunPodSandbox, sandboxes.creation(config))
        pod = sandboxes.adopt(answer.pod_sandbox_id, config)
        made = timed(runtime.stub.CreateContainer, containers.creation(inner, pod))
        container = containers.adopt(made.container_id, inner, pod)
        timed(runtime.stub.StartContainer, cri.StartContainerRequest(container_id=container.id))
        for method, request in after_the_start(runtime, container, registry.mint()):
            timed(method, request)

    assert _late(took, runtime) == {}


def _late(took: Mapping[str, list[float]], runtime: Runtime) -> dict[str, list[float]]:
    """Return the RPCs of which no call was quick, with the seconds."""
    return {rpc: each for rpc, each in took.items() if min(each) > PATIENCE_SECONDS * runtime.scale}


@requirement("GEN-19")
@requires(Capability.EVENTS)
def test_a_client_of_events_hears_soon_of_what_happens(
    runtime: Runtime, events: Events, containers: Containers
) -> None:
    """A client of GetContainerEvents SHOULD be told within seconds after its call of a container that is made
    from then on.

    Not stated by the CRI; what comes first may be too early for a stream that has just begun. The quicker one
    of two clients counts, on a machine that may be busy.
    """
    assert _hears(runtime, events, containers) or _hears(runtime, events, containers)


def _hears(runtime: Runtime, events: Events, containers: Containers) -> bool:
    """Say whether a new client hears of one of the containers that are made in its first seconds."""
    begun = time.perf_counter()
    listener = events.connect()
    while time.perf_counter() - begun < (PATIENCE_SECONDS - SIGN_SECONDS) * runtime.scale:
        sign = containers.created()
        with contextlib.suppress(ConditionNotMet):
            return bool(listener.first(sign.id, CREATED, SIGN_SECONDS))
    return False
