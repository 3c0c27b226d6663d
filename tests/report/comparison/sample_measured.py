"""Benchmark runs that tests of reports compare: series with known differences, and the record that belongs to
them.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from critests.record.files import write
from critests.record.identity import RuntimeIdentity
from critests.record.operations import BenchmarkFacts, OperationResult
from critests.record.run_layout import RunFolder
from critests.record.run_record import RunRecord
from critests.record.samples import Series, write_samples

STARTED = 1_795_100_000.5
MACHINE: dict[str, Any] = {
    "architecture": "x86_64",
    "kernel": "6.18.0",
    "cpu": {"model": "AMD EPYC", "count": 2, "usable": 2},
    "memory_bytes": 8_323_444_736,
    "cgroup": {"version": 1},
    "virtualisation": "unknown hypervisor",
    "root_filesystem": "ext4",
    "boot_id": "f5033cff",
}
OPERATIONS: dict[tuple[str, str], float] = {
    ("B-06", "RunPodSandbox"): 0.085,
    ("B-06", "StopPodSandbox"): 0.060,
    ("B-06", "RemovePodSandbox"): 0.012,
    ("B-08", "CreateContainer"): 0.021,
    ("B-08", "StartContainer"): 0.032,
    ("B-11", "ListContainers"): 0.0011,
}
"""Scenario and operation to the typical duration in seconds."""


def series(
    scenario: str,
    operation: str,
    typical: float,
    *,
    count: int = 240,
    seed: int = 1,
    spread: float = 0.06,
    side: str = "",
    blocks: int = 0,
    fails: Callable[[int], bool] = lambda _: False,
    dimensions: Mapping[str, str] | None = None,
    unit: str = "s",
    better: str = "lower",
) -> Series:
    """Return a series of log-normal samples around a typical value."""
    chance = random.Random(f"{scenario} {operation} {side} {seed}")  # noqa: S311 - samples, no secrets
    found = Series(
        scenario=scenario,
        operation=operation,
        side=side,
        dimensions=dict(dimensions or {}),
        unit=unit,
        better=better,
    )
    for index in range(count):
        block = index * blocks // count if blocks else -1
        code = "UNAVAILABLE" if fails(index) else "OK"
        found.add(typical * chance.lognormvariate(0, spread), index * typical, code=code, block=block)
    return found


# handed on to series
def samples(factors: Mapping[str, float] | None = None, **options: Any) -> list[Series]:  # noqa: ANN401 - see above
    """Return a series for each operation; `factors` make some of them slower (above 1) or faster."""
    factors = factors or {}
    return [
        series(scenario, operation, typical * factors.get(operation, 1.0), **options)
        for (scenario, operation), typical in OPERATIONS.items()
    ]


def record(measured: Sequence[Series], **changes: Any) -> RunRecord:  # noqa: ANN401 - fields of the record
    """Return the record of a benchmark run."""
    operations = [
        OperationResult(
            scenario=each.scenario,
            operation=each.operation,
            dimensions=each.dimensions,
            side=each.side,
            unit=each.unit,
            better=each.better,
            headline=each.operation == "RunPodSandbox",
            count=len(each.steady()),
            errors=each.errors(),
            client_bound=each.operation == "ListContainers",
        )
        for each in measured
    ]
    fields: dict[str, Any] = {
        "kind": "benchmark",
        "run_id": "1795100000-aaaaaa",
        "suite_version": "0.1.0",
        "started": STARTED,
        "finished": STARTED + 100,
        "runtime": RuntimeIdentity(name="containerd", version="2.1.9", endpoint="unix:///run/a.sock"),
        "machine": MACHINE,
        "operations": operations,
        "benchmark": BenchmarkFacts(profile="smoke", seed=1),
    }
    return RunRecord(**fields | changes)


# fields of the record
def store(folder: Path, measured: Sequence[Series], **changes: Any) -> Path:  # noqa: ANN401 - see above
    """Write a run as it lies on disk and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write(record(measured, **changes), folder)
    for scenario in dict.fromkeys(each.scenario for each in measured):
        write_samples(
            RunFolder(folder).samples, scenario, [each for each in measured if each.scenario == scenario]
        )
    return folder
