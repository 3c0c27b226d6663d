"""Who hears of the end of containers, and how long after it."""

import contextlib
import queue
import threading
import time
from collections.abc import Iterator

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import CallFailed, Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.run.outcomes import Unsupported

HEARD_SECONDS = 10.0
STREAM_SECONDS = 4 * 3600
REFUSED_WITHIN_SECONDS = 0.5
NO_ANSWER = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
"""Codes of a stream that nobody serves: a daemon that hangs or is gone does not lack it."""


class Subscriber:
    """One stream of events, read by a thread of its own; when each came is noted as it comes."""

    def __init__(self, target: Target) -> None:
        self.heard: queue.Queue[tuple[str, int, float]] = queue.Queue()
        self.ended: grpc.RpcError | None = None
        self._name = target.name
        self._stream = target.runtime.GetContainerEvents(cri.GetEventsRequest(), timeout=STREAM_SECONDS)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for event in self._stream:
                self.heard.put((event.container_id, event.container_event_type, time.time()))
        except grpc.RpcError as error:
            self.ended = error

    def until_ended(self, container_id: str) -> float:
        """Return when it heard of the end of a container, in seconds since the epoch.

        Raises:
            CallFailed: it did not hear of it in ten seconds.
        """
        deadline = time.monotonic() + HEARD_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            over = self.ended is not None  # before looking: what came until then is in the queue
            try:
                heard, kind, when = (
                    self.heard.get_nowait() if over else self.heard.get(timeout=min(left, 0.5))
                )
            except queue.Empty:
                if over:
                    break
                continue
            if heard == container_id and kind == cri.CONTAINER_STOPPED_EVENT:
                return when
        raise CallFailed(
            "end to event",
            self.ended.code().name if self.ended is not None else "DEADLINE_EXCEEDED",
            "no event said that the container had ended",
        )

    def close(self) -> None:
        """End the stream."""
        self._stream.cancel()
        self._thread.join(5)


def hearing(number: int) -> Workload:
    """Return the workload that lets a container end, and waits until so many subscribers have heard of it."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with contextlib.ExitStack() as held:
            subscribers = [subscribed(target, held) for _ in range(number)]
            sandbox = held.enter_context(target.sandbox())

            def cycle(meter: Meter) -> None:
                container = target.running(sandbox, command=("/bin/true",))
                begin = time.perf_counter()
                try:
                    heard = [subscriber.until_ended(container.id) for subscriber in subscribers]
                    finished = container.exited().finished_at / 1e9
                    meter.keep("end to event", max(max(heard) - finished, 1e-6), begin)
                except CallFailed as error:
                    meter.keep("end to event", HEARD_SECONDS, begin, code=error.code)
                    raise
                finally:
                    target.discard_container(container.id)

            yield cycle

    return prepared


def subscribed(target: Target, held: contextlib.ExitStack) -> Subscriber:
    """Subscribe, and see that the runtime does not refuse at once.

    Raises:
        Unsupported: it refuses.
        grpc.RpcError: nobody answers, which is no refusal.
    """
    subscriber = Subscriber(target)
    held.callback(subscriber.close)
    deadline = time.monotonic() + REFUSED_WITHIN_SECONDS
    while time.monotonic() < deadline and subscriber.ended is None:
        time.sleep(0.01)
    if subscriber.ended is not None:
        if subscriber.ended.code() in NO_ANSWER:
            raise subscriber.ended
        msg = f"{target.name}: GetContainerEvents is refused with {subscriber.ended.code().name}"
        raise Unsupported(msg)
    return subscriber
