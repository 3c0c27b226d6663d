"""Many things at the same instant: when each was done, which was the slowest, that none is lost; and what one
of them takes alone.

A thread for each; all of them wait at a barrier, so that the instant is the same for all. What each thread
takes is that of its calls: when the client itself came late is kept beside it.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from critests.benchmark.measuring.meter import CallFailed, Meter, NotDone
from critests.benchmark.measuring.sampling import Tally
from critests.record.samples import NEITHER

STORM_SECONDS: Final = 300.0
"""For all of a storm; what is not done by then is unfinished."""
NAMED: Final = 5
"""Lost or left ones that are called by name."""
ALONE: Final = "alone"
"""Ends the name of what one takes with nothing beside it: what each of a storm takes longer is waiting."""
DELAY: Final = "client's delay"
"""Ends the name of how late the last thread began: a stall of the client's own."""


@dataclass(frozen=True)
class Hit:
    """One of a storm.

    Attributes:
        name: which.
        begin: when its thread began, on the clock of `time.perf_counter`.
        end: when it was done, or had failed.
        why: why it failed; empty where it did not.
        meter: what it measured.
        untrue: whether the runtime had said that it was done.
    """

    name: str
    begin: float
    end: float
    why: str
    meter: Meter
    untrue: bool = False


@dataclass(frozen=True)
class Storm:
    """What became of all that began at one instant.

    Attributes:
        instant: when, on the clock of `time.perf_counter`.
        hits: those that were done or have failed, in that order.
        unfinished: names of the others.
    """

    instant: float
    hits: list[Hit]
    unfinished: list[str]

    @property
    def seconds(self) -> float:
        """From the instant until the last was done."""
        return max((hit.end for hit in self.hits), default=self.instant) - self.instant

    @property
    def failures(self) -> list[str]:
        """What failed or was not finished, by name."""
        failed = [f"{hit.name}: {hit.why}" for hit in self.hits if hit.why]
        return failed + [f"{name}: did not end" for name in self.unfinished]


def strike(
    names: Sequence[str], one: Callable[[int, Meter], None], meter: Meter, seconds: float = STORM_SECONDS
) -> Storm:
    """Do many things at the same instant, a thread for each.

    Args:
        names: of the things.
        one: does the thing with an index, and measures it by a meter of its own.
        meter: those meters are like this one; nothing is kept in it.
        seconds: for all together.
    """
    instants: list[float] = []
    barrier = threading.Barrier(len(names) + 1, action=lambda: instants.append(time.perf_counter()))
    hits: list[Hit] = []
    done = threading.Lock()

    def thing(index: int) -> None:
        own, tally = meter.like(), Tally()
        barrier.wait()
        begin = time.perf_counter()
        tally.attempt(lambda kept: one(index, kept), own)
        hit = Hit(names[index], begin, time.perf_counter(), tally.latest, own, bool(tally.untrue))
        with done:
            hits.append(hit)

    threads = [
        threading.Thread(target=thing, args=(index,), daemon=True, name=name)
        for index, name in enumerate(names)
    ]
    for thread in threads:
        thread.start()
    barrier.wait()
    (instant,) = instants  # taken before any of them was let go
    for thread in threads:
        thread.join(max(0.0, instant + seconds - time.perf_counter()))
    with done:
        ended = sorted(hits, key=lambda hit: hit.end)
    known = {hit.name for hit in ended}
    return Storm(instant, ended, [name for name in names if name not in known])


def keep_alone(meter: Meter, each: str, one: Callable[[Meter], None]) -> None:
    """Do one thing with nothing beside it, and keep what it took, to compare the storm with.

    Args:
        meter: where.
        each: the operation, as the meters of the storm have it.
        one: does it.
    """
    own, begin = meter.like(), time.perf_counter()
    try:
        one(own)
    finally:
        series = own.series.get(each)
        if series is not None:
            name, last = f"{each} {ALONE}", len(series.value) - 1
            meter.rpcs[name] = own.rpcs.get(each, Counter())
            meter.keep(name, series.value[last], begin, code=series.codes.get(str(last), "OK"))


def keep_storm(meter: Meter, storm: Storm, *, each: str, whole: str) -> None:
    """Keep what a storm took: every call of it, the whole, and which was the slowest.

    Args:
        meter: where.
        storm: which.
        each: the operation of every one of it, as its meters have it.
        whole: what the time until the last was done is called.

    Raises:
        NotDone: one of it was not done as the runtime had said; everything is kept all the same.
        CallFailed: one of it failed, or was not finished; likewise.
    """
    meter.take([hit.meter for hit in storm.hits])
    taken = [(_steady(hit, each), hit) for hit in storm.hits if not hit.why]
    known = [(seconds, hit) for seconds, hit in taken if seconds is not None]
    failures = storm.failures
    code = "UNKNOWN" if failures else "OK"
    meter.keep(whole, storm.seconds, storm.instant, code=code)
    if known:
        for seconds, hit in known:
            meter.name_slowest(each, seconds, hit.name)
        late = max(hit.begin - storm.instant for _, hit in known)
        meter.keep(f"{whole}, {DELAY}", max(late, 0.0), storm.instant, better=NEITHER)
    untrue = [f"{hit.name}: {hit.why}" for hit in storm.hits if hit.untrue]
    if untrue:
        raise NotDone(f"{len(untrue)} of {len(storm.hits)}, such as {untrue[0]}")
    if failures:
        number = len(storm.hits) + len(storm.unfinished)
        raise CallFailed(whole, code, f"{len(failures)} of {number} failed, such as {failures[0]}")


def _steady(hit: Hit, operation: str) -> float | None:
    series = hit.meter.series.get(operation)
    values = series.steady() if series is not None else []
    return values[-1] if values else None


def none_lost(where: str, wanted: dict[str, str], found: Collection[str]) -> None:
    """See that everything that a storm made is there.

    Args:
        where: what was looked at, such as `ListContainers`.
        wanted: id to name.
        found: the ids that are there.

    Raises:
        NotDone: some are missing, which are named.
    """
    lost = [name for known, name in wanted.items() if known not in found]
    if lost:
        raise NotDone(f"{where}: {len(lost)} of {len(wanted)} are lost: {_some(lost)}")


def none_left(where: str, gone: dict[str, str], found: Collection[str]) -> None:
    """See that nothing is left of what a storm has removed.

    Args:
        where: what was looked at.
        gone: id to name.
        found: the ids that are there.

    Raises:
        NotDone: some are still there, which are named.
    """
    left = [name for known, name in gone.items() if known in found]
    if left:
        raise NotDone(f"{where}: {len(left)} of {len(gone)} were removed, and are still there: {_some(left)}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
