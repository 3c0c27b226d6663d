"""Samples in the shape of critest's benchmark files, for whoever reads those.

Facts about the shape (cri-tools, pkg/benchmark): one JSON object a file with `operationsNames`, `numParallel`
and `datapoints`; a datapoint has `sampleIndex`, `startTime` and `endTime` in nanoseconds since the epoch,
`operationsDurationsNs` in the order of the names, and `metaInfo`. Files of early 2022 hold an array of
nanoseconds under each operation's name and nothing else.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from critests.record.errors import RecordUnreadable
from critests.record.files import write_atomically
from critests.record.layout import RunFolder
from critests.record.run import RunRecord
from critests.record.samples import SECONDS, Series, read_samples
from critests.report.formats.source import NotExported, Source

NANOSECOND: Final = 1e-9
PARALLEL: Final = "parallel"
AT_ONCE: Final = (PARALLEL, "concurrency")
"""Dimensions that say how many cycles went on at once."""
RPCS: Final = {
    "CreateContainer": "CreateContainer",
    "StartContainer": "StartContainer",
    "StatusContainer": "ContainerStatus",
    "StopContainer": "StopContainer",
    "RemoveContainer": "RemoveContainer",
    "CreatePod": "RunPodSandbox",
    "StatusPod": "PodSandboxStatus",
    "StopPod": "StopPodSandbox",
    "RemovePod": "RemovePodSandbox",
    "PullImage": "PullImage",
    "StatusImage": "ImageStatus",
    "RemoveImage": "RemoveImage",
    "ListImages": "ListImages",
}
"""critest's name of an operation to the RPC that it times."""


@dataclass(frozen=True)
class Benchmark:
    """One of critest's benchmarks.

    Attributes:
        scenario: Its id here.
        file: The file that it writes.
        names: Its operations as critest calls them, in their order.
    """

    scenario: str
    file: str
    names: tuple[str, ...]


BENCHMARKS: Final = (
    Benchmark(
        "critest-container",
        "container_benchmark_data.json",
        ("CreateContainer", "StartContainer", "StatusContainer", "StopContainer", "RemoveContainer"),
    ),
    Benchmark("critest-pod", "pod_benchmark_data.json", ("CreatePod", "StatusPod", "StopPod", "RemovePod")),
    Benchmark(
        "critest-image-lifecycle",
        "image_lifecycle_benchmark_data.json",
        ("PullImage", "StatusImage", "RemoveImage"),
    ),
    Benchmark("critest-image-listing", "image_listing_benchmark_data.json", ("ListImages",)),
)


def write_tree(source: Source, root: Path) -> list[Path]:
    """Write the files that critest would have written.

    Raises:
        NotExported: there are no samples, or none of what critest measures.
        RecordNotWritten: a file could not be written.
    """
    written = write_files(source.record, _samples(source), root)
    if not written:
        msg = "the run measured no whole cycle of what critest measures: containers, pods or images"
        raise NotExported(msg)
    return written


def write_files(record: RunRecord, series: Iterable[Series], directory: Path) -> list[Path]:
    """Write what critest would have written: a file for containers, pods, the life of an image and the
    listing of images each.

    Of several scenarios that measured the same calls, the one with most of them and then with most samples is
    written. Only whole cycles
    are: those in which every call succeeded. The warm-up is part of them, as critest knows none.

    Args:
        record: The run.
        series: Its samples.
        directory: Where the files go; those of a live comparison's sides into the folders `a` and `b` of it.

    Returns:
        The files; none where the run measured nothing that critest measures.

    Raises:
        RecordNotWritten: a file could not be written.
    """
    timed = [each for each in series if each.unit == SECONDS and each.value]
    written = []
    for side in sorted({each.side for each in timed}):
        folder = directory / side if side else directory
        for benchmark in BENCHMARKS:
            data = _data(benchmark, [each for each in timed if each.side == side], record.started)
            if data is not None:
                target = folder / benchmark.file
                write_atomically(target, json.dumps(data, indent=1) + "\n")
                written.append(target)
    return written


def _data(benchmark: Benchmark, series: Sequence[Series], started: float) -> dict[str, Any] | None:
    wanted = {RPCS[name]: name for name in benchmark.names}
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, Series]] = {}
    for each in series:
        foreign = each.scenario.startswith("critest-") and each.scenario != benchmark.scenario
        if each.operation in wanted and "phase" not in each.dimensions and not foreign:
            groups.setdefault((each.scenario, tuple(sorted(each.dimensions.items()))), {})[each.operation] = (
                each
            )
    ranked = sorted(
        groups.items(),
        key=lambda item: (-len(item[1]), -min(len(each.value) for each in item[1].values()), item[0]),
    )
    for (_, dimensions), found in ranked:
        ordered = [found[rpc] for rpc in wanted if rpc in found]
        points = [_point(cycle, started) for cycle in _cycles(ordered)]
        if points:
            at_once = next(
                (int(value) for name, value in dimensions if name in AT_ONCE and value.isdecimal()), 1
            )
            numbered = [{"sampleIndex": index, **point} for index, point in enumerate(points)]
            return {
                "operationsNames": [wanted[each.operation] for each in ordered],
                "numParallel": at_once,
                "datapoints": numbered,
            }
    return None


def _cycles(ordered: Sequence[Series]) -> Iterator[list[tuple[float, float]]]:
    """Yield start and duration of every call of a cycle, for the cycles in which all succeeded."""
    first = ordered[0]
    if len({len(each.value) for each in ordered}) == 1 and not any(each.codes for each in ordered):
        for index in range(len(first.value)):
            yield [(each.at[index], each.value[index]) for each in ordered]
        return
    # calls are missing where one before them failed: what began before the next cycle belongs to this one
    places = [0] * len(ordered)
    for index, begin in enumerate(first.at):
        end = first.at[index + 1] if index + 1 < len(first.at) else float("inf")
        cycle = []
        for column, each in enumerate(ordered):
            while places[column] < len(each.at) and each.at[places[column]] < begin:
                places[column] += 1
            place = places[column]
            if place < len(each.at) and each.at[place] < end and str(place) not in each.codes:
                cycle.append((each.at[place], each.value[place]))
        if len(cycle) == len(ordered):
            yield cycle


def _point(cycle: Sequence[tuple[float, float]], started: float) -> dict[str, Any]:
    begin, last = cycle[0][0], max(at + value for at, value in cycle)
    return {
        "startTime": round((started + begin) / NANOSECOND),
        "endTime": round((started + last) / NANOSECOND),
        "operationsDurationsNs": [round(value / NANOSECOND) for _, value in cycle],
        "metaInfo": None,
    }


def _samples(source: Source) -> list[Series]:
    try:
        series = read_samples(RunFolder(source.folder).samples) if source.folder else []
    except RecordUnreadable as error:
        raise NotExported(str(error)) from error
    if not series:
        msg = "there are no samples beside the run record: it is no benchmark, or only its run.json was kept"
        raise NotExported(msg)
    return series
