"""A stream of events that nobody serves is not one that the runtime refuses."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import grpc
import pytest

from critests.api import api_pb2_grpc as cri_grpc
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.event_latency import open_subscription
from critests.run.outcomes import Unsupported
from tests.criserver import CriServer, serve


@dataclass
class Subscribed:
    """As much of a target as a subscriber needs."""

    runtime: cri_grpc.RuntimeServiceStub
    name: str = "the runtime"


@pytest.mark.parametrize(
    ("way", "ends_with"), [("unimplemented", Unsupported), ("unavailable", grpc.RpcError)]
)
def test_only_a_refusal_says_that_there_are_no_events(way: str, ends_with: type[BaseException]) -> None:
    with (
        serve(CriServer(wrong=[f"{way}=GetContainerEvents"])) as endpoint,
        grpc.insecure_channel(endpoint) as channel,
        ExitStack() as held,
    ):
        stub = cast("Any", cri_grpc.RuntimeServiceStub)(channel)

        with pytest.raises(ends_with):
            open_subscription(cast("Target", Subscribed(stub)), held)
