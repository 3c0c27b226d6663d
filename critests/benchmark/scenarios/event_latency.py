"""Latency of container events: from the exit of a container to the event that each subscriber receives."""

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

EVENT_SECONDS = 10.0
STREAM_SECONDS = 4 * 3600
"""Longer than any benchmark, because a stream ends at its deadline."""
REJECTION_SECONDS = 0.5
"""How long a runtime may take to reject the stream: a stream without events looks the same as an open one."""
NO_ANSWER = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
"""Codes that do not mean that events are unsupported: the daemon hangs or has exited."""


class Subscriber:
    """One event stream, read by its own thread, which notes the time of receipt of each event."""

    def __init__(self, target: Target) -> None:
        self.events: queue.Queue[tuple[str, int, float]] = queue.Queue()
        self.ended: grpc.RpcError | None = None
        self._name = target.name
        self._stream = target.runtime.GetContainerEvents(cri.GetEventsRequest(), timeout=STREAM_SECONDS)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for event in self._stream:
                self.events.put((event.container_id, event.container_event_type, time.time()))
        except grpc.RpcError as error:
            self.ended = error

    def wait_for_stopped(self, container_id: str) -> float:
        """Return when it received the stopped event of a container, in seconds since the epoch.

        Raises:
            CallFailed: it received none within ten seconds.
        """
        deadline = time.monotonic() + EVENT_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            over = self.ended is not None  # read before the queue, which then holds all events
            try:
                container, kind, when = (
                    self.events.get_nowait() if over else self.events.get(timeout=min(left, 0.5))
                )
            except queue.Empty:
                if over:
                    break
                continue
            if container == container_id and kind == cri.CONTAINER_STOPPED_EVENT:
                return when
        raise CallFailed(
            "end to event",
            self.ended.code().name if self.ended is not None else "DEADLINE_EXCEEDED",
            "no CONTAINER_STOPPED_EVENT of the container",
        )

    def close(self) -> None:
        """End the stream."""
        self._stream.cancel()
        self._thread.join(5)


def event_delivery(number: int) -> Workload:
    """Return the workload in which a container exits and a number of subscribers wait for the event."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with contextlib.ExitStack() as stack:
            subscribers = [open_subscription(target, stack) for _ in range(number)]
            sandbox = stack.enter_context(target.sandbox())

            def cycle(meter: Meter) -> None:
                container = target.running(sandbox, command=("/bin/true",))
                begin = time.perf_counter()
                try:
                    received = [subscriber.wait_for_stopped(container.id) for subscriber in subscribers]
                    finished = container.exited().finished_at / 1e9
                    # comparisons need samples above 0, also if the wall clock was set back
                    meter.add("end to event", max(max(received) - finished, 1e-6), begin)
                except CallFailed as error:
                    meter.add("end to event", EVENT_SECONDS, begin, code=error.code)
                    raise
                finally:
                    target.discard_container(container.id)

            yield cycle

    return prepared


def open_subscription(target: Target, stack: contextlib.ExitStack) -> Subscriber:
    """Subscribe, and check that the runtime does not reject the stream.

    Raises:
        Unsupported: the runtime rejects it.
        grpc.RpcError: the runtime does not respond.
    """
    subscriber = Subscriber(target)
    stack.callback(subscriber.close)
    deadline = time.monotonic() + REJECTION_SECONDS
    while time.monotonic() < deadline and subscriber.ended is None:
        time.sleep(0.01)
    if subscriber.ended is not None:
        if subscriber.ended.code() in NO_ANSWER:
            raise subscriber.ended
        msg = f"{target.name}: GetContainerEvents is rejected with {subscriber.ended.code().name}"
        raise Unsupported(msg)
    return subscriber
