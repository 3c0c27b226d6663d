"""The samples of a benchmark run: every measured value with its dimensions, stored with the run record.

`samples/<scenario>.jsonl.gz` holds one series per line, as columns: ten thousand samples take a few tens of
kilobytes.
"""

import dataclasses
import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from critests.record.codec import FieldMismatch, from_plain, to_plain
from critests.record.files import write_atomically
from critests.record.operations import KeyedByOperation
from critests.record.record_errors import RecordUnreadable
from critests.record.units import LOWER, SECONDS

SUFFIX: Final = ".jsonl.gz"
LATE_SECONDS: Final = 0.010
"""A start later than this after the intended one counts as late."""


@dataclass(kw_only=True)
class Series(KeyedByOperation):
    """The samples of one operation under one set of dimensions, in the order of measurement.

    Attributes:
        scenario: Id of the scenario, such as `B-06`.
        operation: What was timed: the name of an RPC, or a name of ours such as `pod cycle`.
        dimensions: What was held fixed, such as `{"containers": "100"}`; values as texts.
        unit: Of the values: `s`, `1/s`, `B`, `B/s` or `1`.
        better: `lower`, `higher`, or empty if neither is.
        side: `a` or `b` in a live comparison, else empty.
        value: The measured values; for failed calls, the time until they failed.
        at: When each began, in seconds on the run's monotonic clock; in an open loop the intended start.
        block: The random block of each sample, numbered from 0; empty without blocks.
        codes: Index to gRPC status code of failed samples.
        late: Open loop only: seconds from the intended start to the real one, each.
        warm_up: How many samples at the start belong to the warm-up.
    """

    scenario: str
    operation: str
    dimensions: dict[str, str] = field(default_factory=dict)
    unit: str = SECONDS
    better: str = LOWER
    side: str = ""
    value: list[float] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    codes: dict[str, str] = field(default_factory=dict)
    late: list[float] = field(default_factory=list)
    warm_up: int = 0

    def add(
        self, value: float, at: float, *, code: str = "OK", block: int = -1, late: float | None = None
    ) -> None:
        """Append a sample; either all samples of a series have a block (or lateness), or none."""
        if code != "OK":
            self.codes[str(len(self.value))] = code
        self.value.append(value)
        self.at.append(at)
        if block >= 0:
            self.block.append(block)
        if late is not None:
            self.late.append(late)

    def steady(self) -> list[float]:
        """Return the values after the warm-up whose calls succeeded."""
        return [
            value
            for index, value in enumerate(self.value)
            if index >= self.warm_up and str(index) not in self.codes
        ]

    def blocks(self) -> dict[int, list[float]]:
        """Return the steady values by block; empty where there are no blocks."""
        found: dict[int, list[float]] = {}
        for index, block in enumerate(self.block):
            if index >= self.warm_up and str(index) not in self.codes:
                found.setdefault(block, []).append(self.value[index])
        return found

    def errors(self) -> dict[str, int]:
        """Return the number of samples by error code, warm-up included."""
        counted: dict[str, int] = {}
        for code in self.codes.values():
            counted[code] = counted.get(code, 0) + 1
        return counted


def write_samples(folder: Path, scenario: str, series: Iterable[Series]) -> Path:
    """Write the series of one scenario into a run's `samples` folder, whole or not at all.

    Args:
        folder: `RunFolder.samples`.
        scenario: their scenario, which names the file.
        series: what was measured.

    Raises:
        RecordNotWritten: the file could not be written.
    """
    target = folder / f"{scenario}{SUFFIX}"
    lines = "".join(
        json.dumps(_rounded(each), allow_nan=False, separators=(",", ":")) + "\n" for each in series
    )
    write_atomically(target, gzip.compress(lines.encode(), mtime=0))
    return target


def read_samples(folder: Path) -> list[Series]:
    """Read all series of a run's `samples` folder, in the order of their scenarios; none where there is no
    folder.

    Raises:
        RecordUnreadable: a file is cut off or holds something else.
    """
    found: list[Series] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []:
        try:
            text = gzip.decompress(path.read_bytes()).decode()
            found += [from_plain(Series, json.loads(line)) for line in text.splitlines()]
        except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError, FieldMismatch) as error:
            msg = f"{path} holds no samples, or was cut off: {error}"
            raise RecordUnreadable(msg) from error
    for series in found:
        _check(series)
    return found


def _check(series: Series) -> None:
    lengths = {
        len(series.value),
        len(series.at),
        *(len(column) for column in (series.block, series.late) if column),
    }
    if len(lengths) != 1:
        msg = (
            f"the samples of {series.scenario} {series.operation} are damaged: their columns differ in length"
        )
        raise RecordUnreadable(msg)


def _rounded(series: Series) -> Any:  # noqa: ANN401 - plain JSON
    """Round to nanoseconds, which is finer than the clock."""
    return to_plain(
        dataclasses.replace(
            series,
            value=[round(value, 9) for value in series.value],
            at=[round(value, 6) for value in series.at],
            late=[round(value, 6) for value in series.late],
        )
    )
