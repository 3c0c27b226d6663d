"""Many simultaneous actions: the time of each, the slowest, a check that none is lost; and the time of one
action alone.

Each action has a thread, and all threads wait at a barrier, so that all start at the same instant. The time
of an action is that of its calls; the delay of the client's own threads is stored separately.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from critests.benchmark.measuring.meter import CallFailed, Meter, NotDone
from critests.benchmark.measuring.sampling import Tally
from critests.record.units import NEITHER

STORM_SECONDS: Final = 300.0
"""Time limit of a storm; an action that has not ended by then is unfinished."""
NAMED: Final = 5
"""Number of lost or leftover items that a message names."""
ALONE: Final = "alone"
"""Suffix of the operation of a single action: the additional time of an action in a storm is waiting."""
DELAY: Final = "client's delay"
"""Suffix of the operation for the delay of the last thread: a stall of the client itself."""


@dataclass(frozen=True)
class StormItem:
    """One action of a storm.

    Attributes:
        name: its name.
        begin: start of its thread, on the clock of `time.perf_counter`.
        end: when it ended.
        why: why it failed; empty if it did not.
        meter: its samples.
        not_done: whether the runtime had reported success for the failure.
    """

    name: str
    begin: float
    end: float
    why: str
    meter: Meter
    not_done: bool = False


@dataclass(frozen=True)
class Storm:
    """The outcome of simultaneous actions.

    Attributes:
        instant: their start, on the clock of `time.perf_counter`.
        items: the ended actions, in the order in which they ended.
        unfinished: names of the others.
    """

    instant: float
    items: list[StormItem]
    unfinished: list[str]

    @property
    def seconds(self) -> float:
        """Time from the start until the last action ended."""
        return max((item.end for item in self.items), default=self.instant) - self.instant

    @property
    def failures(self) -> list[str]:
        """The failed and unfinished actions, by name."""
        failed = [f"{item.name}: {item.why}" for item in self.items if item.why]
        return failed + [f"{name}: did not end" for name in self.unfinished]


def run_storm(
    names: Sequence[str], action: Callable[[int, Meter], None], meter: Meter, seconds: float = STORM_SECONDS
) -> Storm:
    """Run many actions simultaneously, each in its own thread.

    Args:
        names: names of the actions.
        action: runs the action with an index, and measures it with a meter.
        meter: cloned for each action; itself unchanged.
        seconds: time limit of all actions together.
    """
    instants: list[float] = []
    barrier = threading.Barrier(len(names) + 1, action=lambda: instants.append(time.perf_counter()))
    items: list[StormItem] = []
    lock = threading.Lock()

    def run(index: int) -> None:
        own, tally = meter.clone(), Tally()
        barrier.wait()
        begin = time.perf_counter()
        tally.run(lambda each: action(index, each), own)
        end, not_done = time.perf_counter(), bool(tally.not_done)
        item = StormItem(names[index], begin, end, tally.latest_failure, own, not_done)
        with lock:
            items.append(item)

    threads = [
        threading.Thread(target=run, args=(index,), daemon=True, name=name)
        for index, name in enumerate(names)
    ]
    for thread in threads:
        thread.start()
    barrier.wait()
    (instant,) = instants  # the barrier's action runs before any thread is released
    for thread in threads:
        thread.join(max(0.0, instant + seconds - time.perf_counter()))
    with lock:
        ended = sorted(items, key=lambda item: item.end)
    ended_names = {item.name for item in ended}
    return Storm(instant, ended, [name for name in names if name not in ended_names])


def measure_alone(meter: Meter, each: str, action: Callable[[Meter], None]) -> None:
    """Run one action alone and store its time, as a baseline for the storm.

    Args:
        meter: stores the sample.
        each: the operation of the action.
        action: runs it.
    """
    own, begin = meter.clone(), time.perf_counter()
    try:
        action(own)
    finally:
        series = own.series.get(each)
        if series is not None:
            name, last = f"{each} {ALONE}", len(series.value) - 1
            meter.rpcs[name] = own.rpcs.get(each, Counter())
            meter.add(name, series.value[last], begin, code=series.codes.get(str(last), "OK"))


def add_storm(meter: Meter, storm: Storm, *, each: str, whole: str) -> None:
    """Store the times of a storm: of every call, of the whole storm, and the name of the slowest action.

    Args:
        meter: stores the samples.
        storm: the storm.
        each: the operation of its actions.
        whole: the operation for the time until the last action ended.

    Raises:
        NotDone: the runtime had reported success for an action that it had not done; all samples are stored.
        CallFailed: an action failed or did not end; all samples are stored.
    """
    meter.merge([item.meter for item in storm.items])
    latest = [(_latest_success(item, each), item) for item in storm.items if not item.why]
    measured = [(seconds, item) for seconds, item in latest if seconds is not None]
    failures = storm.failures
    code = "UNKNOWN" if failures else "OK"
    meter.add(whole, storm.seconds, storm.instant, code=code)
    if measured:
        for seconds, item in measured:
            meter.name_slowest(each, seconds, item.name)
        late = max(item.begin - storm.instant for _, item in measured)
        meter.add(f"{whole}, {DELAY}", max(late, 0.0), storm.instant, better=NEITHER)
    not_done = [f"{item.name}: {item.why}" for item in storm.items if item.not_done]
    if not_done:
        raise NotDone(f"{len(not_done)} of {len(storm.items)}, such as {not_done[0]}")
    if failures:
        number = len(storm.items) + len(storm.unfinished)
        raise CallFailed(whole, code, f"{len(failures)} of {number} failed, such as {failures[0]}")


def _latest_success(item: StormItem, operation: str) -> float | None:
    series = item.meter.series.get(operation)
    values = series.steady() if series is not None else []
    return values[-1] if values else None


def check_none_lost(where: str, created: dict[str, str], listed: Collection[str]) -> None:
    """Check that a list holds all objects that a storm created.

    Args:
        where: the list, such as `ListContainers`.
        created: id to name.
        listed: the ids in the list.

    Raises:
        NotDone: some are missing; the message names them.
    """
    lost = [name for identity, name in created.items() if identity not in listed]
    if lost:
        raise NotDone(f"{where}: {len(lost)} of {len(created)} are lost: {_some(lost)}")


def check_none_left(where: str, removed: dict[str, str], listed: Collection[str]) -> None:
    """Check that a list holds none of the objects that a storm removed.

    Args:
        where: the list.
        removed: id to name.
        listed: the ids in the list.

    Raises:
        NotDone: some are still listed; the message names them.
    """
    left = [name for identity, name in removed.items() if identity in listed]
    if left:
        raise NotDone(
            f"{where}: {len(left)} of {len(removed)} were removed, and are still listed: {_some(left)}"
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
