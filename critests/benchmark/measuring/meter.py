"""Timed windows: one RPC in each, on the monotonic clock, and nothing else in it."""

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import grpc
from google.protobuf.message import Message

from critests.benchmark.measuring.stopwatch import Stopwatch
from critests.client.deadlines import Deadlines
from critests.record.samples import BYTES_PER_SECOND, HIGHER, LOWER, SECONDS, Series


class CallFailed(Exception):
    """A timed call failed. Its sample is kept with its code; the cycle that made it ends here, and sampling
    goes on.

    Attributes:
        operation: what was timed.
        code: name of the gRPC status code.
    """

    def __init__(self, operation: str, code: str, details: str) -> None:
        super().__init__(f"{operation} failed with {code}: {details}")
        self.operation = operation
        self.code = code


class NotDone(AssertionError):
    """The runtime said that it did something, and a look outside the timed window shows that it did not."""


NOT_DONE = "NOT_DONE"
"""Stands instead of a gRPC status code with the samples of a cycle of which a look showed that it was not
done as it was said to be.
"""


class Meter:
    """Keeps what one side of one scenario took, under one set of dimensions. For one thread; see `merged`.

    Attributes:
        series: by operation.
        block: number of the random block that samples belong to; -1 where there are none.
        rpcs: operation to the RPCs that it was made of when it was last measured, for the client's own share
            of it.
        windows: operation to begin (on the clock of `time.perf_counter`) and duration of the latest sample,
            in seconds.
        at_once: operations of which many samples began at the same instant: their order is no course of time,
            so they have no warm-up.
        slowest: operation to the longest duration in seconds among those that have a name, and that name.
        worked: operation to the processor time that the client itself used within its windows, and to the
            sum of those, in seconds.
    """

    def __init__(
        self, scenario: str, dimensions: dict[str, str], side: str, origin: float, deadlines: Deadlines
    ) -> None:
        """Make a meter.

        Args:
            scenario: id of the scenario.
            dimensions: what is held fixed.
            side: `a`, `b`, or empty.
            origin: of the run's clock: what `time.perf_counter` said when it began.
            deadlines: of the timed calls.
        """
        self.series: dict[str, Series] = {}
        self.block = -1
        self.rpcs: dict[str, Counter[str]] = {}
        self.windows: dict[str, tuple[float, float]] = {}
        self.at_once: set[str] = set()
        self.slowest: dict[str, tuple[float, str]] = {}
        self.worked: dict[str, tuple[float, float]] = {}
        self._scenario = scenario
        self._dimensions = dimensions
        self._side = side
        self._origin = origin
        self._deadlines = deadlines
        self._sums: list[list[Any]] = []
        self._begun: dict[str, int] = {}
        self._others: dict[tuple[tuple[str, str], ...], Meter] = {}

    def like(self) -> "Meter":
        """Return an empty meter of the same scenario, side and dimensions, for another thread."""
        made = Meter(self._scenario, self._dimensions, self._side, self._origin, self._deadlines)
        made.block = self.block
        return made

    def take(self, others: "Iterable[Meter]") -> None:
        """Take over what other threads measured at once, in the order in which their samples began."""
        others = list(others)
        _pour(others, self.series)
        for other in others:
            self.at_once |= other.series.keys()
            self.rpcs |= other.rpcs

    def name_slowest(self, operation: str, seconds: float, name: str) -> None:
        """Remember by name what took longest of an operation."""
        if seconds > self.slowest.get(operation, (-1.0, ""))[0]:
            self.slowest[operation] = seconds, name

    def under(self, **dimensions: str) -> "Meter":
        """Return the meter for samples of the same cycle under further dimensions, always the same for the
        same ones.
        """
        key = tuple(sorted(dimensions.items()))
        if key not in self._others:
            self._others[key] = Meter(
                self._scenario, {**self._dimensions, **dimensions}, self._side, self._origin, self._deadlines
            )
        self._others[key].block = self.block
        return self._others[key]

    @property
    def every(self) -> "list[Meter]":
        """This meter, and those under further dimensions."""
        return [self, *self._others.values()]

    def begin_cycle(self) -> None:
        """Note where the samples of the next cycle begin."""
        for meter in self.every:
            # its own kind
            meter._begun = {operation: len(series.value) for operation, series in meter.series.items()}  # noqa: SLF001 - see above

    def disown(self) -> None:
        """Mark the samples of the cycle as not done: they were measured of something else than what they are
        called.
        """
        for meter in self.every:
            for operation, series in meter.series.items():
                # its own kind
                for index in range(meter._begun.get(operation, 0), len(series.value)):  # noqa: SLF001 - see above
                    series.codes.setdefault(str(index), NOT_DONE)

    def call(
        self,
        operation: str,
        method: Callable[..., Any],
        request: Message,
        *,
        rpc: str = "",
        timeout: float | None = None,
    ) -> Any:  # noqa: ANN401 - the response of whatever RPC it is
        """Make one call in a timed window and keep what it took.

        Args:
            operation: what the sample is called.
            method: of a plain stub.
            request: built beforehand.
            rpc: name of the RPC, where the operation has another name.
            timeout: deadline in seconds; that of the RPC by default.

        Returns:
            The response.

        Raises:
            CallFailed: the call failed; its sample is kept with its code.
        """
        rpc = rpc or operation
        seconds = timeout or self._deadlines.seconds(rpc, request)
        begin = time.perf_counter()
        try:
            response = method(request, timeout=seconds)
        except grpc.RpcError as error:
            took = time.perf_counter() - begin
            code = error.code().name
            self.keep(operation, took, begin, code=code)
            for entry in self._sums:
                entry[0] += took
            raise CallFailed(operation, code, str(error.details())[:500]) from error
        took = time.perf_counter() - begin
        self.rpcs[operation] = Counter({rpc: 1})
        self.keep(operation, took, begin)
        for entry in self._sums:
            entry[0] += took
            entry[1][rpc] += 1
        return response

    @contextlib.contextmanager
    def sum(self, operation: str) -> Iterator[None]:
        """Keep the sum of the timed windows within: what the runtime took, without the client's time between
        the calls.

        A cycle that fails half-way is kept with the code that ended it, so that nobody takes it for a short
        one. One that the user breaks off is not kept: that is no failure of the runtime.
        """
        entry: list[Any] = [0.0, Counter()]
        self._sums.append(entry)
        begin, code = time.perf_counter(), "OK"
        try:
            yield
        except CallFailed as error:
            code = error.code
            raise
        except (KeyboardInterrupt, SystemExit):
            code = ""
            raise
        except BaseException:
            code = NOT_DONE
            raise
        finally:
            self._sums.pop()  # sums are nested, the innermost ends first
            if code and (entry[0] or code != "OK"):
                self.rpcs[operation] = entry[1]
                self.keep(operation, entry[0], begin, code=code)

    def keep_window(self, operation: str, watch: Stopwatch, *, size: int | None = None) -> None:
        """Keep what a window of the client's own took, and how much of it the client worked.

        Args:
            operation: what the sample is called.
            watch: the window.
            size: bytes that came through; then it is their rate that is kept, instead of the time.
        """
        own, whole = self.worked.get(operation, (0.0, 0.0))
        self.worked[operation] = own + watch.own_seconds, whole + watch.seconds
        if size is None:
            self.keep(operation, watch.seconds, watch.begin)
        else:
            rate = size / watch.seconds
            self.keep(operation, rate, watch.begin, unit=BYTES_PER_SECOND, better=HIGHER)

    def client_share(self, operation: str) -> float | None:
        """Return which part of its windows the client worked; None where that was not looked at."""
        own, whole = self.worked.get(operation, (0.0, 0.0))
        return own / whole if whole else None

    def keep(
        self,
        operation: str,
        value: float,
        begin: float,
        *,
        unit: str = SECONDS,
        better: str = LOWER,
        code: str = "OK",
        late: float | None = None,
    ) -> None:
        """Keep a sample that was measured in another way.

        Args:
            operation: what the sample is called.
            value: in `unit`.
            begin: when it began, on the clock of `time.perf_counter`.
            unit: of the value, see `critests.record.samples`.
            better: `lower`, `higher` or empty.
            code: name of the gRPC status code it ended with.
            late: seconds from the intended start, in an open loop.
        """
        series = self.series.get(operation)
        if series is None:
            series = self.series[operation] = Series(
                scenario=self._scenario,
                operation=operation,
                dimensions=dict(self._dimensions),
                unit=unit,
                better=better,
                side=self._side,
            )
        self.windows[operation] = (begin, value)
        series.add(value, begin - self._origin, code=code, block=self.block, late=late)


def merged(meters: Iterable[Meter]) -> dict[str, Series]:
    """Join what several threads measured of the same operations, in the order in which the samples began."""
    joined: dict[str, Series] = {}
    _pour(meters, joined)
    return joined


def _pour(meters: Iterable[Meter], into: dict[str, Series]) -> None:
    """Append the samples of meters to the series of their operations, in the order in which they began."""
    rows = [
        (series.at[index], series, index)
        for meter in meters
        for series in meter.series.values()
        for index in range(len(series.value))
    ]
    for at, series, index in sorted(rows, key=lambda row: row[0]):
        if series.operation not in into:
            into[series.operation] = dataclasses.replace(
                series, value=[], at=[], block=[], codes={}, late=[], warm_up=0
            )
        into[series.operation].add(
            series.value[index],
            at,
            code=series.codes.get(str(index), "OK"),
            block=series.block[index] if series.block else -1,
            late=series.late[index] if series.late else None,
        )
