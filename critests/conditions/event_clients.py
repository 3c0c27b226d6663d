"""The condition `events`: clients of GetContainerEvents come and go, and one never reads."""

import time
from typing import Final

import grpc

from critests.api import api_pb2 as cri
from critests.conditions.background_client import OK, BackgroundClient

LONGEST_VISIT_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 0.1
PAUSE_WITHOUT_EVENTS_SECONDS: Final = 5.0
RPC: Final = "GetContainerEvents"


def visits(client: BackgroundClient) -> None:
    """Subscribe, read for a drawn time, and leave: by the deadline, or by a cancellation after an event."""
    seconds = client.random.uniform(0, LONGEST_VISIT_SECONDS) + 0.01
    leaves_after_an_event = client.random.random() < 0.5
    request, started = cri.GetEventsRequest(), time.time()
    events = client.plain.runtime.GetContainerEvents(request, timeout=seconds)
    code = OK
    try:
        for event in events:
            client.received(RPC, request, event, started)
            if leaves_after_an_event:
                events.cancel()
    except grpc.RpcError as error:
        code = error.code().name
    client.count(RPC, code)
    client.pause(PAUSE_WITHOUT_EVENTS_SECONDS if client.lacks(RPC) else LONGEST_PAUSE_SECONDS)


def never_reads(client: BackgroundClient) -> None:
    """Subscribe and read nothing until the end of the run."""
    events = client.plain.runtime.GetContainerEvents(cri.GetEventsRequest())
    client.over.wait()
    events.cancel()
    client.count(RPC, "not read")
