"""Timed windows: each holds exactly one RPC, on the monotonic clock."""

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
from critests.record.samples import Series
from critests.record.units import BYTES_PER_SECOND, HIGHER, LOWER, SECONDS


class CallFailed(Exception):
    """A timed call failed. Its sample is stored with the status code; its cycle ends here, and sampling
    continues.

    Attributes:
        operation: name of the timed operation.
        code: name of the gRPC status code.
    """

    def __init__(self, operation: str, code: str, details: str) -> None:
        super().__init__(f"{operation} failed with {code}: {details}")
        self.operation = operation
        self.code = code


class NotDone(AssertionError):
    """The runtime reported success, and a check outside the timed window shows that it did nothing."""


NOT_DONE = "NOT_DONE"
"""Takes the place of the gRPC status code for the samples of a cycle that ended with `NotDone`."""


class Meter:
    """Collects the samples of one side of one scenario with one set of dimensions. For one thread; see
    `merged`.

    Attributes:
        series: by operation.
        block: number of the random block that samples belong to; -1 without blocks.
        rpcs: operation to the RPCs of its latest sample, from which the client's own share is computed.
        windows: operation to start (on the clock of `time.perf_counter`) and duration of the latest sample,
            in seconds.
        simultaneous: operations with many samples that started at the same instant: they are not ordered in
            time, so they have no warm-up.
        slowest: operation to the longest duration in seconds among the named items, and the name of that
            item.
        client_time: operation to the CPU time that the client itself used within the windows, and the total
            length of the windows, both in seconds.
    """

    def __init__(
        self, scenario: str, dimensions: dict[str, str], side: str, origin: float, deadlines: Deadlines
    ) -> None:
        """Create an empty meter.

        Args:
            scenario: id of the scenario.
            dimensions: fixed parameters of the measurement.
            side: `a`, `b`, or empty.
            origin: `time.perf_counter` at the start of the run.
            deadlines: of the timed calls.
        """
        self.series: dict[str, Series] = {}
        self.block = -1
        self.rpcs: dict[str, Counter[str]] = {}
        self.windows: dict[str, tuple[float, float]] = {}
        self.simultaneous: set[str] = set()
        self.slowest: dict[str, tuple[float, str]] = {}
        self.client_time: dict[str, tuple[float, float]] = {}
        self._scenario = scenario
        self._dimensions = dimensions
        self._side = side
        self._origin = origin
        self._deadlines = deadlines
        self._sums: list[list[Any]] = []
        self._cycle_start: dict[str, int] = {}
        self._by_dimensions: dict[tuple[tuple[str, str], ...], Meter] = {}

    def clone(self) -> "Meter":
        """Return an empty meter of the same scenario, side and dimensions, for another thread."""
        copy = Meter(self._scenario, self._dimensions, self._side, self._origin, self._deadlines)
        copy.block = self.block
        return copy

    def merge(self, others: "Iterable[Meter]") -> None:
        """Append the samples of simultaneous threads, ordered by their start."""
        others = list(others)
        _append_ordered(others, self.series)
        for other in others:
            self.simultaneous |= other.series.keys()
            self.rpcs |= other.rpcs

    def name_slowest(self, operation: str, seconds: float, name: str) -> None:
        """Remember the name of the item that took longest in an operation."""
        if seconds > self.slowest.get(operation, (-1.0, ""))[0]:
            self.slowest[operation] = seconds, name

    def with_dimensions(self, **dimensions: str) -> "Meter":
        """Return the meter for samples of the same cycle with additional dimensions; the same dimensions give
        the same meter.
        """
        key = tuple(sorted(dimensions.items()))
        if key not in self._by_dimensions:
            self._by_dimensions[key] = Meter(
                self._scenario, {**self._dimensions, **dimensions}, self._side, self._origin, self._deadlines
            )
        self._by_dimensions[key].block = self.block
        return self._by_dimensions[key]

    @property
    def all_meters(self) -> "list[Meter]":
        """This meter, and those with additional dimensions."""
        return [self, *self._by_dimensions.values()]

    def begin_cycle(self) -> None:
        """Note the index of the first sample of the next cycle."""
        for meter in self.all_meters:
            # another Meter
            meter._cycle_start = {operation: len(series.value) for operation, series in meter.series.items()}  # noqa: SLF001 - see above

    def mark_not_done(self) -> None:
        """Mark the samples of the current cycle as not done: they do not measure the operation that they are
        named after.
        """
        for meter in self.all_meters:
            for operation, series in meter.series.items():
                # another Meter
                for index in range(meter._cycle_start.get(operation, 0), len(series.value)):  # noqa: SLF001 - see above
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
        """Make one call in a timed window and store its duration.

        Args:
            operation: name of the sample.
            method: method of a plain stub.
            request: built beforehand.
            rpc: name of the RPC, if it differs from that of the operation.
            timeout: deadline in seconds; that of the RPC by default.

        Returns:
            The response.

        Raises:
            CallFailed: the call failed; its sample is stored with the status code.
        """
        rpc = rpc or operation
        seconds = timeout or self._deadlines.seconds(rpc, request)
        begin = time.perf_counter()
        try:
            response = method(request, timeout=seconds)
        except grpc.RpcError as error:
            took = time.perf_counter() - begin
            code = error.code().name
            self.add(operation, took, begin, code=code)
            for entry in self._sums:
                entry[0] += took
            raise CallFailed(operation, code, str(error.details())[:500]) from error
        took = time.perf_counter() - begin
        self.rpcs[operation] = Counter({rpc: 1})
        self.add(operation, took, begin)
        for entry in self._sums:
            entry[0] += took
            entry[1][rpc] += 1
        return response

    @contextlib.contextmanager
    def sum(self, operation: str) -> Iterator[None]:
        """Store the sum of the timed windows inside the `with`: the time of the runtime, without the client's
        time between the calls.

        A cycle that fails half-way is stored with its error code, so that it does not count as a short one. A
        cycle that the user interrupts is not stored, because that is not a failure of the runtime.
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
                self.add(operation, entry[0], begin, code=code)

    def add_window(self, operation: str, watch: Stopwatch, *, size: int | None = None) -> None:
        """Store a window that the caller timed, and the CPU time of the client in it.

        Args:
            operation: name of the sample.
            watch: the window.
            size: bytes transferred; if given, the sample is their rate instead of the duration.
        """
        own, whole = self.client_time.get(operation, (0.0, 0.0))
        self.client_time[operation] = own + watch.thread_cpu_seconds, whole + watch.seconds
        if size is None:
            self.add(operation, watch.seconds, watch.begin)
        else:
            rate = size / watch.seconds
            self.add(operation, rate, watch.begin, unit=BYTES_PER_SECOND, better=HIGHER)

    def client_share(self, operation: str) -> float | None:
        """Return the share of the windows in which the client itself used CPU time; None if not measured."""
        own, whole = self.client_time.get(operation, (0.0, 0.0))
        return own / whole if whole else None

    def add(
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
        """Store a sample that the caller measured.

        Args:
            operation: name of the sample.
            value: in `unit`.
            begin: its start on the clock of `time.perf_counter`.
            unit: of the value, see `critests.record.samples`.
            better: `lower`, `higher` or empty.
            code: name of the gRPC status code it ended with.
            late: seconds after the intended start, in an open loop.
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
    """Join the samples that several threads took of the same operations, ordered by their start."""
    joined: dict[str, Series] = {}
    _append_ordered(meters, joined)
    return joined


def _append_ordered(meters: Iterable[Meter], into: dict[str, Series]) -> None:
    """Append the samples of meters to the series of their operations, ordered by their start."""
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
