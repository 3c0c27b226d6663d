"""Old series of critest, read as a benchmark run (the shape: `critests.report.formats.critest`)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import critests
from critests.record.errors import RecordUnreadable
from critests.record.identity import RuntimeIdentity
from critests.record.run import RunRecord
from critests.record.samples import Series
from critests.record.summaries import summarised
from critests.report.formats.critest import BENCHMARKS, NANOSECOND, PARALLEL, RPCS, Benchmark
from critests.report.wording.texts import one_line, plural
from critests.statistics import warm_up

LARGEST: Final = 1 << 63
"""Beyond what critest's numbers can be, which have 64 bits."""
READ_LIMIT: Final = 256 * 1024 * 1024


@dataclass
class _Cycles:
    """What one file holds.

    Attributes:
        benchmark: Which benchmark wrote it.
        names: Its operations.
        parallel: How many cycles went on at once; 0 where the file does not say.
        starts: When each cycle began, nanoseconds since the epoch; empty where the file does not say.
        ends: When each ended.
        durations: Those of each cycle, in nanoseconds; None where there is none.
        notes: Sentences about what is odd.
    """

    benchmark: Benchmark
    names: list[str]
    parallel: int = 0
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    durations: list[list[int | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_critest(
    paths: Sequence[Path], *, runtime: str, version: str, machine: Mapping[str, Any] | None = None
) -> tuple[RunRecord, list[Series]]:
    """Read files of one run of critest as a benchmark run.

    The operations get the names of their RPCs; the order is that of `sampleIndex`; how many cycles went on at
    once is the dimension `parallel`. critest knows neither errors (it ends at the first) nor the machine, and
    writes neither down.

    Args:
        paths: The files; what each holds is told by its operations, not by its name.
        runtime: Name of the runtime that was measured, as Version reports it.
        version: Its version.
        machine: Facts of the machine, where they are known; without them, comparisons must be asked for.

    Raises:
        RecordUnreadable: a file is cut off, is no such file, or none holds a sample; the sentence says which
            and where.
    """
    texts = [_text(path) for path in paths]
    read = [_parse(text, path) for text, path in zip(texts, paths, strict=True)]
    if not any(any(value is not None for value in cycle) for found in read for cycle in found.durations):
        msg = f"{', '.join(map(str, paths)) or 'nothing'}: there is not one sample to import"
        raise RecordUnreadable(msg)
    starts = [start for found in read for start in found.starts]
    origin = min(starts) if starts else int(min(path.stat().st_mtime for path in paths) / NANOSECOND)
    series = [each for found in read for each in _series(found, origin)]
    notes = list(dict.fromkeys(note for found in read for note in found.notes))
    ends = [end for found in read for end in found.ends]
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:6]
    files = ", ".join(one_line(path.name) for path in paths)
    record = RunRecord(
        kind="benchmark",
        run_id=f"{int(origin * NANOSECOND)}-{digest}",
        suite_version=critests.__version__,
        started=origin * NANOSECOND,
        finished=max([origin, *ends]) * NANOSECOND,
        runtime=RuntimeIdentity(name=runtime, version=version),
        machine=dict(machine or {}),
        exit_reason=f"imported from {plural(len(paths), 'file')} of critest",
        notes=[
            f"imported from critest's {files}",
            (
                "critest times its own helpers with CreateContainer and PullImage, by a clock that can be"
                " set, and ends at the first error"
            ),
            *notes,
        ],
        operations=[
            replace(
                summarised(each),
                steadiness=warm_up(each.value).steadiness.value,
                stopped="as many as asked for",
            )
            for each in series
        ],
    )
    return record, series


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > READ_LIMIT:
            msg = f"{path} is larger than any benchmark file of critest ({READ_LIMIT} bytes)"
            raise RecordUnreadable(msg)
        return path.read_text(encoding="utf-8")
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or error}"
        raise RecordUnreadable(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} is no benchmark file of critest: it is not UTF-8 text (byte {error.start})"
        raise RecordUnreadable(msg) from error


def _parse(text: str, path: Path) -> _Cycles:
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        whole = text.strip()
        if not whole:
            msg = f"{path} is empty: the critest that wrote it did not come to its end"
        elif whole.startswith("{") and not whole.endswith("}"):
            msg = (
                f"{path} is cut off after {len(text)} characters: the critest that wrote it did not come to"
                " its end"
            )
        else:
            where = (
                f":{error.lineno}: not JSON: {error.msg}"
                if isinstance(error, json.JSONDecodeError)
                else " is nested too deeply"
            )
            msg = f"{path}{where}"
        raise RecordUnreadable(msg) from error
    if not isinstance(data, dict):
        raise _odd(path, "it holds no JSON object")
    if "datapoints" in data or "operationsNames" in data:
        return _with_datapoints(data, path)
    if data and all(isinstance(value, list) for value in data.values()):
        return _of_arrays(data, path)
    raise _odd(path, "it has no operationsNames and no datapoints")


def _with_datapoints(data: dict[str, Any], path: Path) -> _Cycles:
    names, points = data.get("operationsNames"), data.get("datapoints")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise _odd(path, "operationsNames is no list of names")
    if not isinstance(points, list):
        raise _odd(path, "datapoints is no list")
    parallel = max(_whole(data.get("numParallel"), path, "numParallel"), 1)
    found = _Cycles(_benchmark_of(names, path), names, parallel)
    rows = []
    for number, point in enumerate(points):
        where = f"datapoints[{number}]"
        if not isinstance(point, dict) or not isinstance(point.get("operationsDurationsNs"), list):
            raise _odd(path, f"{where} has no operationsDurationsNs")
        values = [
            _whole(value, path, f"{where}.operationsDurationsNs") for value in point["operationsDurationsNs"]
        ]
        times = [
            _whole(point.get(name), path, f"{where}.{name}")
            for name in ("sampleIndex", "startTime", "endTime")
        ]
        rows.append((times[0], times[1], times[2], values))
    rows.sort(key=lambda row: row[0])
    for _, start, end, values in rows:
        found.starts.append(start)
        found.ends.append(end)
        found.durations.append(
            [_positive(value) for value in values[: len(names)]] + [None] * (len(names) - len(values))
        )
    _tell(
        found,
        path,
        sum(len(row[3]) != len(names) for row in rows),
        sum(value < 0 for row in rows for value in row[3]),
    )
    return found


def _of_arrays(data: dict[str, list[Any]], path: Path) -> _Cycles:
    """The shape of early 2022: nanoseconds under each name, in an order that does not tell which belong to
    one cycle.
    """
    order = [name for name in RPCS if name in data] + [name for name in data if name not in RPCS]
    columns = {name: [_whole(value, path, name) for value in data[name]] for name in order}
    found = _Cycles(_benchmark_of(order, path), order)
    for index in range(max(map(len, columns.values()))):
        found.durations.append(
            [_positive(columns[name][index]) if index < len(columns[name]) else None for name in order]
        )
    found.notes.append(
        f"{one_line(path.name)}: without times and parallelism, as critest wrote it in early 2022"
    )
    _tell(found, path, 0, sum(value < 0 for column in columns.values() for value in column))
    return found


def _tell(found: _Cycles, path: Path, uneven: int, negative: int) -> None:
    name = one_line(path.name)
    if not found.durations:
        found.notes.append(f"{name}: no sample")
    if uneven:
        found.notes.append(
            f"{name}: {plural(uneven, 'datapoint')} with another number of durations than there are"
            " operations"
        )
    if negative:
        found.notes.append(
            f"{name}: {plural(negative, 'duration')} below zero left out, as the clock was set back"
        )


def _series(found: _Cycles, origin: int) -> list[Series]:
    dimensions = {PARALLEL: str(found.parallel)} if found.parallel else {}
    made = [
        Series(scenario=found.benchmark.scenario, operation=RPCS.get(name, name), dimensions=dict(dimensions))
        for name in found.names
    ]
    clock = 0
    for index, durations in enumerate(found.durations):
        clock = found.starts[index] - origin if found.starts else clock
        for series, duration in zip(made, durations, strict=True):
            if duration is not None:
                series.add(duration * NANOSECOND, clock * NANOSECOND)
                clock += duration
    for series in made:
        series.warm_up = warm_up(series.value).samples if series.value else 0
    return [series for series in made if series.value]


def _benchmark_of(names: Sequence[str], path: Path) -> Benchmark:
    benchmark = max(BENCHMARKS, key=lambda benchmark: len(set(benchmark.names) & set(names)))
    if not set(benchmark.names) & set(names):
        known = ", ".join(RPCS)
        raise _odd(
            path, f"of its operations ({one_line(', '.join(names))}) none is one of critest's ({known})"
        )
    return benchmark


def _whole(value: object, path: Path, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _odd(path, f"{where} holds {one_line(json.dumps(value), 60)}, which is no whole number")
    if abs(value) >= LARGEST:
        raise _odd(path, f"{where} holds a number that no clock shows")
    return value


def _positive(value: int) -> int | None:
    return value if value >= 0 else None


def _odd(path: Path, why: str) -> RecordUnreadable:
    return RecordUnreadable(f"{path} is no benchmark file of critest: {why}")
