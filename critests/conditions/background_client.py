"""A client that works next to the tests, on plain stubs: its calls are counted, and the responses judged."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import grpc

from critests.client.deadlines import Deadlines
from critests.client.plain_connection import PlainConnection
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.responses.response_judge import ResponseJudge
from critests.responses.rules import Response

CONDITION_LABEL: Final = "critests.condition"
"""Label of the objects of background clients, with the name of the condition."""
OK: Final = "OK"


@dataclass
class BackgroundClient:
    """One client of a condition.

    Attributes:
        plain: its connection.
        requests: builds requests with the run's label, so that the run's clean-up finds what is left.
        image: of its containers; None if it cannot be pulled, then its pods have no containers.
        handler: runtime handler of its pods; empty for the default.
        deadlines: of its calls.
        random: draws what it does.
        over: set at the end of the run.
        endpoint: of the runtime, for the judge.
        judge: of the responses to all clients.
        calls: number of calls, by RPC and status code.
    """

    plain: PlainConnection
    requests: RequestBuilder
    image: ImageName | None
    handler: str
    deadlines: Deadlines
    random: random.Random
    over: threading.Event
    endpoint: str
    judge: ResponseJudge
    calls: Counter[str] = field(default_factory=Counter)

    # grpcio's stubs are typed per method, this takes any
    def call(self, rpc: str, request: Any) -> Any:  # noqa: ANN401 - see above
        """Make a call and count it; return the response, or None if it failed."""
        service = self.plain.runtime if hasattr(self.plain.runtime, rpc) else self.plain.images
        started = time.time()
        try:
            response = getattr(service, rpc)(request, timeout=self.deadlines.seconds(rpc, request))
        except grpc.RpcError as error:
            code = error.code().name
            self.count(rpc, code)
            self.judge.failed(rpc, self.endpoint, request, code, started, time.time())
            return None
        self.count(rpc, OK)
        self.received(rpc, request, response, started)
        return response

    # responses have no common type with the requests of the stubs
    def received(self, rpc: str, request: Any, response: Any, started: float) -> None:  # noqa: ANN401 - see above
        """Judge a response that has just arrived, or a message of a stream.

        Args:
            rpc: name of the call.
            request: of the call.
            response: the message.
            started: when the call was made, seconds since the epoch.
        """
        self.judge.succeeded(Response(rpc, self.endpoint, request, response, started, time.time()))

    def count(self, rpc: str, code: str) -> None:
        """Count a call that has ended."""
        self.calls[f"{rpc} {code}"] += 1

    def lacks(self, rpc: str) -> bool:
        """Whether the runtime does not implement an RPC, after a call to it."""
        return bool(self.calls[f"{rpc} {grpc.StatusCode.UNIMPLEMENTED.name}"])

    def pause(self, longest: float) -> None:
        """Wait for a drawn time of at most so many seconds, or until the end of the run."""
        self.over.wait(self.random.uniform(0, longest))


Work = Callable[[BackgroundClient], None]
"""What a client does once; it is repeated until the end of the run."""
